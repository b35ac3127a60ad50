/* ir_file.c: a kernel in a file, run by the core alone: no Lua, no toolkit. Without an argument it builds
   y = a * x + y as IR and writes it to ./saxpy.ir, as a program that ships kernels would have got it from
   elsewhere; then it reads that file. With an argument it reads the file of that name, which must hold the
   same kernel.
     cc ir_file.c $(pkg-config --cflags --libs cuttle-core) */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuttle/ct.h>

enum { N = 1000, BLOCK = 256, MOST = 1 << 20 };

static CtErr err;

static CtView tensor(CtIr *ir, const char *name) {
  static const CtFacts extent = {0, INT32_MAX - 1, 1};
  CtTensorSpec spec = {.name = name,
                       .dtype = CT_f32,
                       .index = CT_i32,
                       .align = 4,
                       .shape = ct_leaf(&ir->arena, (CtInt){.kind = CT_DYNAMIC}),
                       .stride = ct_leaf(&ir->arena, ct_int(1)),
                       .facts = &extent};
  return ct_ir_tensor(ir, &spec);
}

/* if i < n then y[i] = a * x[i] + y[i] */
static void build(CtIr *ir) {
  ct_ir_at(ir, "ir_file.c", __LINE__);
  ir->name = "saxpy";
  CtVal a = ct_ir_number(ir, "a", CT_f32, (CtFacts){0, 0, 1});
  CtView x = tensor(ir, "x"), y = tensor(ir, "y");
  CtVal i =
      ct_ir_binary(ir, CT_OP_MUL, ct_ir_axis(ir, CT_OP_BID, 0), ct_ir_const_int(ir, CT_i32, BLOCK));
  i = ct_ir_binary(ir, CT_OP_ADD, i, ct_ir_axis(ir, CT_OP_TID, 0));
  CtVal n = ct_ir_val(ir, y.layout.shape->i, CT_i32);
  CtVal if_ = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_LT, i, n));
  CtVal ax = ct_ir_binary(ir, CT_OP_MUL, a, ct_ir_load(ir, x.buf, i));
  ct_ir_store(ir, y.buf, i, ct_ir_binary(ir, CT_OP_ADD, ax, ct_ir_load(ir, y.buf, i)));
  ct_ir_end(ir, if_);
}

static bool write_file(const char *path) {
  static const int64_t block[3] = {BLOCK, 1, 1};
  CtIr ir;
  CtText bytes;
  ct_text_init(&bytes, ct_alloc_std);
  ct_ir_init(&ir, ct_alloc_std, (CtTarget){.shared_max = 48 * 1024, .name = "example"}, block);
  build(&ir);
  bool ok = ct_ir_finish(&ir, &err) == CT_OK && ct_ir_write(&ir, &bytes, &err) == CT_OK;
  FILE *f = ok ? fopen(path, "wb") : NULL;
  ok = f != NULL && fwrite(bytes.s, 1, bytes.len, f) == bytes.len;
  ok = f != NULL && fclose(f) == 0 && ok;
  if (!ok && err.msg[0] == '\0') { /* no call of the core failed */
    snprintf(err.msg, sizeof err.msg, "%s", strerror(errno));
  }
  ct_text_clear(&bytes);
  ct_ir_clear(&ir);
  return ok;
}

static bool read_file(const char *path, CtIr *ir) {
  unsigned char *bytes = malloc(MOST);
  FILE *f = fopen(path, "rb");
  size_t n = f == NULL || bytes == NULL ? 0 : fread(bytes, 1, MOST, f);
  bool ok = f != NULL && bytes != NULL && ct_ir_read(ct_alloc_std, bytes, n, ir, &err) == CT_OK;
  if (f == NULL || bytes == NULL) {
    snprintf(err.msg, sizeof err.msg, "%s", strerror(errno));
  }
  if (f != NULL) {
    fclose(f);
  }
  free(bytes);
  return ok;
}

static bool run(const CtIr *ir) {
  static float x[N], y[N];
  CtSimtEngine *engine = NULL;
  CtSimtProgram *program = NULL;
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }
  /* one value per slot of the IR: a; x and its extent; y and its extent */
  const CtSlotValue slots[] = {{.f32 = 2.0f}, {.ptr = x}, {.i = N}, {.ptr = y}, {.i = N}};
  const int64_t n_elems[] = {0, N, N};
  const CtSimtLaunch launch = {
      .grid = {(N + BLOCK - 1) / BLOCK, 1, 1}, .slots = slots, .n_elems = n_elems};
  bool ok = ir->n_slots == 5 && ct_simt_open(ct_alloc_std, 0, NULL, &engine, &err) == CT_OK &&
            ct_simt_lower(ct_alloc_std, ir, &program, &err) == CT_OK &&
            ct_simt_run(engine, program, &launch, &err) == CT_OK;
  for (int i = 0; i < N; i++) {
    ok = ok && y[i] == 2.0f * (float)i + 1.0f;
  }
  ct_simt_free(program);
  ct_simt_close(engine);
  return ok;
}

int main(int argc, char **argv) {
  const char *path = argc > 1 ? argv[1] : "saxpy.ir";
  CtIr ir;
  if ((argc == 1 && !write_file(path)) || !read_file(path, &ir)) {
    printf("%s: %s\n", path, err.msg);
    return 1;
  }
  bool ok = run(&ir);
  printf("%s%s\n", ok ? "correct" : "failed: ", ok ? "" : err.msg);
  ct_ir_read_clear(&ir);
  if (argc == 1) {
    remove(path);
  }
  return ok ? 0 : 1;
}
