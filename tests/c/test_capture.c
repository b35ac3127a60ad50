/* test_capture.c: files of launches that programs without the library write (capture_slots.h). */
#include "emit_kernels.h"
#include "runtime/capture/capture.h"
#include "runtime/ir/ir_file.h"
#include "tap.h"

enum { N = 100 };

static void put_u64(CtText *out, uint64_t v) {
  for (int i = 0; i < 8; i++) {
    ct_text_putc(out, (char)(v >> (8 * i)));
  }
}

/* As exported C writes a launch of saxpy: every slot of the IR by its kind. */
static void write_slots(const CtIr *ir, uint64_t version, uint64_t n_data, CtText *out) {
  CtText bytes;
  CtErr err;
  ct_text_init(&bytes, ct_alloc_std);
  if (ct_ir_write(ir, &bytes, &err) != CT_OK) {
    printf("Bail out! %s\n", err.msg);
    exit(1);
  }
  const uint64_t head[] = {version, bytes.len, ir->n_slots, 4, 1, 1, 2, 64, 4, n_data > 0};
  ct_text_puts(out, "CUTTLESL");
  for (size_t i = 0; i < CT_ARRAY_LEN(head); i++) {
    put_u64(out, head[i]);
  }
  for (size_t i = 0; i < ir->n_slots; i++) {
    CtSlotKind kind = ir->slots[i].kind;
    put_u64(out, kind == CT_SLOT_POINTER  ? 0x7f0000000010u
                 : kind == CT_SLOT_EXTENT ? N
                 : kind == CT_SLOT_STRIDE ? 2
                                          : 7);
  }
  for (size_t i = 0; i < ir->n_slots; i++) {
    put_u64(out, ir->slots[i].kind == CT_SLOT_POINTER ? N * 4 : 0);
  }
  ct_text_puts(out, "H200");
  ct_text_add(out, bytes.s, bytes.len);
  for (uint64_t i = 0; i < n_data; i++) {
    ct_text_putc(out, (char)i);
  }
  ct_text_clear(&bytes);
  OK(ct_capture_seal(out, &err) == CT_OK, "a checksum");
}

static uint64_t count_pointers(const CtIr *ir) {
  uint64_t n = 0;
  for (size_t i = 0; i < ir->n_slots; i++) {
    n += ir->slots[i].kind == CT_SLOT_POINTER;
  }
  return n;
}

static void test_reading(const CtIr *ir) {
  CtArena arena;
  CtText file;
  CtCapture c;
  CtErr err = {.msg = ""};
  ct_arena_init(&arena, ct_alloc_std);
  ct_text_init(&file, ct_alloc_std);
  write_slots(ir, 2, count_pointers(ir) * N * 4, &file);
  bool is_read = ct_capture_read(&arena, file.s, file.len, &c, &err) == CT_OK;
  OK(is_read, "a file of slots is read: %s", err.msg);
  if (is_read) {
    IS_STR(c.kernel, ir->name, "the kernel");
    IS_STR(c.device, "H200", "the device");
    OK(c.grid[0] == 4 && c.block[0] == (uint32_t)ir->block[0] && c.cooperative && !c.pdl,
       "how it was launched");
    OK(c.n_args == ir->n_params && c.shared_bytes == 64, "its arguments");
    for (uint32_t i = 0; i < c.n_args; i++) {
      const CtCaptureArg *a = &c.args[i];
      OK(a->kind == CT_CAPTURE_NUMBER
             ? a->number == 7
             : a->n == 1 && a->tensors[0].at == 16 && ct_all_static(a->tensors[0].shape),
         "argument %s", a->name);
    }
  }
  size_t n_read = 0;
  for (size_t n = 0; n < file.len; n++) {
    n_read += ct_capture_read(&arena, file.s, n, &c, &err) == CT_OK;
  }
  OK(n_read == 0, "none of %zu beginnings is", file.len);
  for (size_t i = 0; i < file.len; i++) {
    file.s[i] = (char)(file.s[i] ^ 4);
    n_read += ct_capture_read(&arena, file.s, file.len, &c, &err) == CT_OK;
    file.s[i] = (char)(file.s[i] ^ 4);
  }
  OK(n_read == 0, "nor with a bit changed");
  ct_text_clear(&file);
  ct_arena_clear(&arena);
}

static void test_refusals(const CtIr *ir) {
  CtArena arena;
  CtText file;
  CtCapture c;
  CtErr err = {.msg = ""};
  ct_arena_init(&arena, ct_alloc_std);
  ct_text_init(&file, ct_alloc_std);
  write_slots(ir, 3, 0, &file);
  OK(ct_capture_read(&arena, file.s, file.len, &c, &err) == CT_EUNSUPPORTED, "another version");
  HAS_STR(err.msg, "version 3; this library reads 2", "is named");
  file.len = 0;
  write_slots(ir, 2, 3, &file);
  OK(ct_capture_read(&arena, file.s, file.len, &c, &err) == CT_EINVAL, "too few data");
  HAS_STR(err.msg, "its data do not fit", "are refused");
  ct_text_clear(&file);
  ct_arena_clear(&arena);
}

int main(void) {
  Kit k;
  build_saxpy(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  test_reading(&k.ir);
  test_refusals(&k.ir);
  ct_ir_clear(&k.ir);
  return done_testing();
}
