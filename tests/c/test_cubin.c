/* test_cubin.c: reading registers from a cubin: a small one made here, cut short and with bytes changed. */
#include "runtime/device/nvrtc_cubin.h"
#include "tap.h"

enum { MAX = 1024, INFO = 64, SYMBOLS = 128, TEXTS = 256, NAMES = 320, ROWS = 384, N_SECTIONS = 5 };
enum { SYMBOL_BYTES = 24, ROW_BYTES = 64, END = ROWS + N_SECTIONS * ROW_BYTES };

static unsigned char image[MAX];

static void put(size_t at, int n, uint64_t v) {
  for (int i = 0; i < n; i++) {
    image[at + (size_t)i] = (unsigned char)(v >> (8 * i));
  }
}

static void put_section(int i, uint32_t name, uint64_t at, uint64_t len) {
  put(ROWS + (size_t)i * ROW_BYTES, 4, name);
  put(ROWS + (size_t)i * ROW_BYTES + 24, 8, at);
  put(ROWS + (size_t)i * ROW_BYTES + 32, 8, len);
}

/* {format 4, attribute, 8 bytes: symbol, value}. */
static size_t put_attribute(size_t at, unsigned attr, uint32_t symbol, uint32_t value) {
  put(at, 1, 4);
  put(at + 1, 1, attr);
  put(at + 2, 2, 8);
  put(at + 4, 4, symbol);
  put(at + 8, 4, value);
  return at + 12;
}

static void make_image(void) {
  static const char texts[] = "\0other\0kernel";
  static const char names[] = "\0.nv.info\0.symtab\0.strtab\0.shstrtab";
  memset(image, 0, sizeof image);
  static const unsigned char magic[] = {0x7F, 'E', 'L', 'F', 2, 1, 1};
  memcpy(image, magic, sizeof magic);
  put(40, 8, ROWS);
  put(60, 2, N_SECTIONS);
  put(62, 2, 4);
  put(INFO, 1, 3); /* an attribute without bytes behind it */
  put(INFO + 1, 1, 0x50);
  size_t at = put_attribute(INFO + 4, 0x2f, 1, 99);
  at = put_attribute(at, 0x2f, 2, 40);
  at = put_attribute(at, 0x11, 2, 16);
  put(SYMBOLS + SYMBOL_BYTES, 4, 1);
  put(SYMBOLS + 2 * SYMBOL_BYTES, 4, 7);
  memcpy(image + TEXTS, texts, sizeof texts);
  memcpy(image + NAMES, names, sizeof names);
  put_section(1, 1, INFO, at - INFO);
  put_section(2, 10, SYMBOLS, 3 * SYMBOL_BYTES);
  put_section(3, 18, TEXTS, sizeof texts);
  put_section(4, 26, NAMES, sizeof names);
}

int main(void) {
  CtCubinInfo info;
  make_image();
  OK(ct_cubin_info(image, END, "kernel", &info) && info.registers == 40 && info.stack_bytes == 16,
     "registers and stack of the kernel, not of another function");
  OK(ct_cubin_info(image, END, "other", &info) && info.registers == 99 && info.stack_bytes == 0,
     "those of the other");
  OK(!ct_cubin_info(image, END, "kern", &info) && info.registers == 0, "no function of this name");
  OK(!ct_cubin_info("PTX", 3, "kernel", &info), "no ELF file");

  int n_found = 0;
  for (size_t len = 0; len < END;
       len++) { /* in memory of that size, so that reads beyond are seen */
    unsigned char *copy = malloc(len + (len == 0));
    memcpy(copy, image, len);
    n_found += ct_cubin_info(copy, len, "kernel", &info);
    free(copy);
  }
  OK(n_found == 0, "cut short, it is not understood");
  unsigned seed = 1;
  for (int i = 0; i < 20000; i++) {
    make_image();
    for (int j = 0; j < 3; j++) {
      seed = seed * 1664525u + 1013904223u;
      image[(seed >> 8) % END] = (unsigned char)(seed >> 24);
    }
    (void)ct_cubin_info(image, END, "kernel", &info);
  }
  OK(true, "changed bytes do no harm");
  return done_testing();
}
