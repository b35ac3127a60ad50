/* nvrtc_cubin.c: reads a cubin: an ELF file of 64 bits whose section .nv.info is a list of attributes, each
   {u8 format, u8 attribute, u16 size}; format 4 has `size` bytes after it: for REGCOUNT and
   FRAME_SIZE the number of a symbol and a value. NVIDIA does not document it; the attributes' names
   and numbers (EIATTR_REGCOUNT 0x2f, EIATTR_FRAME_SIZE 0x11) are those of public disassemblers, and what is
   read agrees with what `ptxas -v` prints. */
#include "nvrtc_cubin.h"

#include <string.h>

enum { FORMAT_BYTES = 4, ATTR_FRAME_SIZE = 0x11, ATTR_REGCOUNT = 0x2f, SYMBOL_BYTES = 24 };
enum { HEADER_BYTES = 64, SECTION_BYTES = 64, AT_SECTIONS = 40, AT_N_SECTIONS = 60, AT_NAMES = 62 };

typedef struct Bytes {
  const unsigned char *at;
  size_t len;
} Bytes;

static uint64_t number(Bytes b, uint64_t at, int n) {
  uint64_t v = 0;
  if (at > b.len || b.len - at < (size_t)n) {
    return 0;
  }
  for (int i = n; i-- > 0;) {
    v = v << 8 | b.at[(size_t)at + (size_t)i];
  }
  return v;
}

static Bytes part(Bytes b, uint64_t at, uint64_t len) {
  bool ok = at <= b.len && len <= b.len - at;
  return ok ? (Bytes){b.at + at, (size_t)len} : (Bytes){NULL, 0};
}

static bool is_text(Bytes b, uint64_t at, const char *text) {
  size_t n = strlen(text) + 1;
  return at <= b.len && b.len - at >= n && memcmp(b.at + at, text, n) == 0;
}

/* A section's contents; the names' section is number `names`. */
static Bytes find_section(Bytes file, const char *name) {
  uint64_t at = number(file, AT_SECTIONS, 8), n = number(file, AT_N_SECTIONS, 2);
  Bytes names_row = part(file, at + number(file, AT_NAMES, 2) * SECTION_BYTES, SECTION_BYTES);
  Bytes names = part(file, number(names_row, 24, 8), number(names_row, 32, 8));
  for (uint64_t i = 0; i < n; i++) {
    Bytes row = part(file, at + i * SECTION_BYTES, SECTION_BYTES);
    if (is_text(names, number(row, 0, 4), name)) {
      return part(file, number(row, 24, 8), number(row, 32, 8));
    }
  }
  return (Bytes){NULL, 0};
}

bool ct_cubin_info(const void *image, size_t len, const char *kernel, CtCubinInfo *out) {
  Bytes file = {image, len};
  *out = (CtCubinInfo){0, 0};
  if (len < HEADER_BYTES || memcmp(image, "\177ELF\2\1", 6) != 0) {
    return false;
  }
  Bytes info = find_section(file, ".nv.info"), symbols = find_section(file, ".symtab");
  Bytes texts = find_section(file, ".strtab");
  for (size_t at = 0; at + 4 <= info.len;) {
    uint64_t format = number(info, at, 1), attr = number(info, at + 1, 1);
    uint64_t size = number(info, at + 2, 2);
    uint64_t symbol = number(info, at + 4, 4), value = number(info, at + 8, 4);
    at += 4 + (format == FORMAT_BYTES ? size : 0);
    if (format != FORMAT_BYTES || size < 8 ||
        !is_text(texts, number(symbols, symbol * SYMBOL_BYTES, 4), kernel)) {
      continue;
    }
    out->registers = attr == ATTR_REGCOUNT ? (int)value : out->registers;
    out->stack_bytes = attr == ATTR_FRAME_SIZE ? (int)value : out->stack_bytes;
  }
  return out->registers > 0;
}
