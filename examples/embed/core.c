/* core.c: the core without Lua: composes two layouts, builds y = a * x + y as IR by hand, writes it as CUDA
   C and runs it on the CPU engine.
     cc core.c $(pkg-config --cflags --libs cuttle)
   or with libcuttle.a, -lm, -ldl and -pthread. */
#include <stdio.h>
#include <string.h>

#include <cuttle/ct.h>

enum { N = 1024, BLOCK = 256 };

static CtErr err;

static bool compose(CtArena *arena) {
  static const char a[] = "(20,2):(16,4)", b[] = "(4,5):(1,4)";
  CtCx cx = {arena, NULL};
  CtLayout la, lb, r;
  CtText text;
  ct_text_init(&text, arena->alloc);
  bool ok = ct_layout_parse(arena, a, strlen(a), &la, &err) == CT_OK &&
            ct_layout_parse(arena, b, strlen(b), &lb, &err) == CT_OK &&
            ct_compose(&cx, la, lb, &r, &err) == CT_OK;
  if (ok) {
    ct_layout_print(&cx, r, &text);
    printf("%s o %s = %s\n", a, b, ct_text_str(&text));
    ok = strcmp(ct_text_str(&text), "(4,5):(16,64)") == 0;
  }
  ct_text_clear(&text);
  return ok;
}

static CtView tensor(CtIr *ir, const char *name) {
  static const CtFacts extent = {0, INT32_MAX - 1, 1};
  CtTuple shape = ct_leaf(&ir->arena, (CtInt){.kind = CT_DYNAMIC});
  CtTuple stride = ct_leaf(&ir->arena, ct_int(1));
  CtTensorSpec spec = {.name = name,
                       .dtype = CT_f32,
                       .index = CT_i32,
                       .align = 16,
                       .shape = shape,
                       .stride = stride,
                       .facts = &extent};
  return ct_ir_tensor(ir, &spec);
}

static void build(CtIr *ir) {
  ct_ir_at(ir, "core.c", __LINE__);
  ir->name = "saxpy";
  CtVal a = ct_ir_number(ir, "a", CT_f32, (CtFacts){0, 0, 1});
  CtView x = tensor(ir, "x");
  CtView y = tensor(ir, "y");
  CtVal block = ct_ir_const_int(ir, CT_i32, BLOCK);
  CtVal i = ct_ir_binary(ir, CT_OP_MUL, ct_ir_axis(ir, CT_OP_BID, 0), block);
  i = ct_ir_binary(ir, CT_OP_ADD, i, ct_ir_axis(ir, CT_OP_TID, 0));
  ct_ir_name(ir, i, "i");
  CtVal ax = ct_ir_binary(ir, CT_OP_MUL, a, ct_ir_load(ir, x.buf, i));
  ct_ir_store(ir, y.buf, i, ct_ir_binary(ir, CT_OP_ADD, ax, ct_ir_load(ir, y.buf, i)));
}

static bool show(const CtIr *ir) {
  static const CtEmitOpts opts = {.line_directives = false};
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  bool ok = ct_emit_cuda(ir, &opts, &text, &err) == CT_OK;
  if (ok) { /* ct_text_str of a text that failed is what there was room for */
    fputs(ct_text_str(&text), stdout);
  }
  ct_text_clear(&text);
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
  const CtSimtLaunch launch = {.grid = {N / BLOCK, 1, 1}, .slots = slots, .n_elems = n_elems};
  bool ok = ct_simt_open(ct_alloc_std, 0, NULL, &engine, &err) == CT_OK &&
            ct_simt_lower(ct_alloc_std, ir, &program, &err) == CT_OK &&
            ct_simt_run(engine, program, &launch, &err) == CT_OK;
  for (int i = 0; i < N; i++) {
    ok = ok && y[i] == 2.0f * (float)i + 1.0f;
  }
  ct_simt_free(program);
  ct_simt_close(engine);
  return ok;
}

int main(void) {
  static const int64_t block[3] = {BLOCK, 1, 1};
  CtArena arena;
  CtIr ir;
  ct_arena_init(&arena, ct_alloc_std);
  ct_ir_init(&ir, ct_alloc_std, (CtTarget){.shared_max = 48 * 1024, .name = "example"}, block);
  build(&ir);
  bool ok = compose(&arena) && ct_ir_finish(&ir, &err) == CT_OK && show(&ir) && run(&ir);
  printf("%s%s\n", ok ? "correct" : "failed: ", ok ? "" : err.msg);
  ct_ir_clear(&ir);
  ct_arena_clear(&arena);
  return ok ? 0 : 1;
}
