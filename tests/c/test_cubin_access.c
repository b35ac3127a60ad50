/* test_cubin_access.c: memory instructions and their lines, read from a cubin: a small one made here, cut short and
   with bytes changed. */
#include "runtime/device/cubin_access.h"
#include "tap.h"

enum { MAX = 2048, N_SECTIONS = 7, ROW_BYTES = 64 };
enum { CODE = 64, LINES = 256, RELA = 512, SYMBOLS = 576, NAMES = 704, ROWS = 832 };
enum { END = ROWS + N_SECTIONS * ROW_BYTES };

static unsigned char image[MAX];

static size_t put(size_t at, int n, uint64_t v) {
  for (int i = 0; i < n; i++) {
    image[at + (size_t)i] = (unsigned char)(v >> (8 * i));
  }
  return at + (size_t)n;
}

static size_t put_bytes(size_t at, const void *bytes, size_t n) {
  memcpy(image + at, bytes, n);
  return at + n;
}

static void put_section(int i, uint32_t name, size_t at, size_t len) {
  put(ROWS + (size_t)i * ROW_BYTES, 4, name);
  put(ROWS + (size_t)i * ROW_BYTES + 4, 4, 1);
  put(ROWS + (size_t)i * ROW_BYTES + 24, 8, at);
  put(ROWS + (size_t)i * ROW_BYTES + 32, 8, len);
}

static size_t put_instruction(size_t at, uint64_t low, uint64_t high) {
  return put(put(at, 8, low), 8, high);
}

/* LDS.128, a load that never happens, STG of 16 bits in an inlined function of ours, LDGSTS of 64, FFMA, LDG, and
   a branch back to the LDGSTS. */
static size_t put_code(bool is_new) {
  size_t at = put_instruction(CODE, 0x0000000010387984, 0x000f680000000c00);
  at = put_instruction(at, 0x00000000fffff984, 0x000fe20000000800);
  at = put_instruction(at, 0x0000000502007986, 0x000fe2000c101504);
  at = put_instruction(at, 0x00010010040b7fae, is_new ? 0x010fe8000b9a1406 : 0x010fe8000b921a46);
  at = put_instruction(at, 0x0000000c0d0e7223, 0x000fe200000000ff);
  at = put_instruction(at, 0x0000000402037981, 0x000ea8000c1e1900);
  return put_instruction(at, 0xfffffffc00f07947, 0x000fc0000383ffff);
}

/* Files a.cu and b.lua in /x. Lines by address: 0 b.lua:5, 32 a.cu:3 inlined at row 1, 48 b.lua:9; the
   sequence ends at 80. */
static size_t put_lines(size_t *relocated) {
  static const char names[] = "/x\0\0a.cu\0\1\0\0b.lua\0\1\0\0";
  static const unsigned char operands[] = {0, 1, 1, 1, 1, 0, 0, 0, 1};
  static const unsigned char head[] = {1, 1, 0xfb, 14, 10}; /* opcode 10 is the first special one */
  static const unsigned char program[] = {4, 2,    3, 4,  1, 0, 3,  0x90, 1, 0, 4, 1,
                                          3, 0x7e, 2, 32, 1, 0, 3,  0x90, 0, 0, 4, 2,
                                          3, 6,    2, 16, 1, 2, 32, 0,    1, 1};
  size_t at = LINES + 10;
  at = put_bytes(at, head, sizeof head);
  at = put_bytes(at, operands, sizeof operands);
  at = put_bytes(at, names, sizeof names);
  put(LINES + 6, 4, at - LINES - 10);
  at = put(at, 3, 2 << 16 | 9 << 8);
  *relocated = at - LINES;
  at = put(at, 8, 0);
  at = put_bytes(at, program, sizeof program);
  put(LINES, 4, at - LINES - 4);
  put(LINES + 4, 2, 2);
  return at - LINES;
}

static void make_image(bool is_new) {
  static const char names[] =
      "\0.text.k\0.debug_line\0.rela.debug_line\0.symtab\0.shstrtab"; /* at 1, 9, 21, 38, 46 */
  static const unsigned char magic[] = {0x7F, 'E', 'L', 'F', 2, 1, 1, 65, 8};
  size_t relocated;
  memset(image, 0, sizeof image);
  put_bytes(0, magic, sizeof magic);
  put(40, 8, ROWS);
  put(48, 4, (is_new ? 100U : 90U) << 8);
  put(60, 2, N_SECTIONS);
  put(62, 2, 5);
  size_t code = put_code(is_new) - CODE, lines = put_lines(&relocated);
  put(put(RELA, 8, relocated), 8, UINT64_C(1) << 32 | 2);
  put(SYMBOLS + 24 + 6, 2, 1);
  put_bytes(NAMES, names, sizeof names);
  put_section(1, 1, CODE, code);
  put_section(2, 9, LINES, lines);
  put_section(3, 21, RELA, 24);
  put_section(4, 38, SYMBOLS, 48);
  put_section(5, 46, NAMES, sizeof names);
}

static bool is(const CtCubinAccess *a, CtCubinOp op, CtCubinSpace space, int bits, const char *file,
               uint32_t line) {
  return a->op == op && a->space == space && a->bits == bits && strcmp(a->file, file) == 0 &&
         a->line == line;
}

/* Before sm_90 all bits of a branch's offset are in one place. */
static void test_old_branch(void) {
  CtCubinAccesses a;
  CtErr err;
  make_image(false);
  put(8, 1, 7);
  put(48, 4, 80);
  put_instruction(CODE + 96, 0xffffffc000007947, 0x000fc0000383ffff);
  bool ok = ct_cubin_accesses(ct_alloc_std, image, END, &a, &err) == CT_OK && a.n == 4;
  OK(ok && !a.list[1].is_in_loop && a.list[2].is_in_loop && a.list[3].is_in_loop,
     "a loop before sm_90");
  ct_cubin_accesses_close(&a);
}

static size_t count(const void *bytes, size_t len) {
  CtCubinAccesses a;
  CtErr err;
  size_t n = ct_cubin_accesses(ct_alloc_std, bytes, len, &a, &err) == CT_OK ? a.n : 0;
  for (size_t i = 0; i < n; i++) { /* texts end within the image */
    n += strlen(a.list[i].file) > len || strlen(a.list[i].folder) > len ? len : 0;
  }
  ct_cubin_accesses_close(&a);
  return n;
}

static void *no_memory(void *ud, void *p, size_t old_bytes, size_t bytes) {
  int *left = ud;
  if (bytes > 0 && (*left)-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, p, old_bytes, bytes);
}

static void test_memory(void) {
  for (int n = 0;; n++) {
    int left = n;
    CtCubinAccesses a;
    CtErr err;
    CtAlloc alloc = {no_memory, &left};
    CtStatus s = ct_cubin_accesses(alloc, image, END, &a, &err);
    ct_cubin_accesses_close(&a);
    if (s == CT_OK || n > 100) {
      OK(s == CT_OK && n > 3, "without memory for the n-th request it fails");
      return;
    }
  }
}

int main(void) {
  CtCubinAccesses a;
  CtErr err;
  test_old_branch();
  for (int is_new = 0; is_new < 2; is_new++) {
    make_image(is_new != 0);
    bool ok = ct_cubin_accesses(ct_alloc_std, image, END, &a, &err) == CT_OK && a.n == 4;
    OK(ok, "four accesses: one never happens");
    OK(ok && is(&a.list[0], CT_CUBIN_LOAD, CT_CUBIN_SHARED, 128, "b.lua", 5) &&
           strcmp(a.list[0].folder, "/x") == 0,
       "a load of shared memory");
    OK(ok && is(&a.list[1], CT_CUBIN_STORE, CT_CUBIN_GLOBAL, 16, "b.lua", 5),
       "a store in an inlined function of ours is of the line that called it");
    OK(ok && is(&a.list[2], CT_CUBIN_COPY, CT_CUBIN_GLOBAL, 64, "b.lua", 9),
       "a copy, as this capability writes its width");
    OK(ok && is(&a.list[3], CT_CUBIN_LOAD, CT_CUBIN_GLOBAL, 32, "", 0),
       "behind the end of a sequence no line is known");
    OK(ok && !a.list[0].is_in_loop && !a.list[1].is_in_loop && a.list[2].is_in_loop &&
           a.list[3].is_in_loop,
       "what a branch goes back over is in a loop");
    ct_cubin_accesses_close(&a);
  }
  OK(count("PTX", 3) == 0, "no ELF file");
  test_memory();

  size_t most = 0;
  for (size_t len = 0; len < END;
       len++) { /* in memory of that size, so that reads beyond are seen */
    unsigned char *copy = malloc(len + (len == 0));
    memcpy(copy, image, len);
    size_t n = count(copy, len);
    most = n > most ? n : most;
    free(copy);
  }
  OK(most <= 4, "cut short, it has no more");
  unsigned seed = 1;
  bool bounded = true;
  for (int i = 0; i < 20000; i++) {
    unsigned char *copy = malloc(END);
    memcpy(copy, image, END);
    for (int j = 0; j < 3; j++) {
      seed = seed * 1664525u + 1013904223u;
      copy[(seed >> 8) % END] = (unsigned char)(seed >> 24);
    }
    bounded = bounded && count(copy, END) < END;
    free(copy);
  }
  OK(bounded, "changed bytes do no harm");
  return done_testing();
}
