/* nvrtc_cubin.c: reads a cubin: an ELF file of 64 bits whose section .nv.info is a list of attributes, each
   {u8 format, u8 attribute, u16 size}; format 4 has `size` bytes after it: for REGCOUNT and
   FRAME_SIZE the number of a symbol and a value. NVIDIA does not document it; the attributes' names
   and numbers (EIATTR_REGCOUNT 0x2f, EIATTR_FRAME_SIZE 0x11) are those of public disassemblers, and what is
   read agrees with what `ptxas -v` prints. */
#include "nvrtc_cubin.h"

#include <string.h>

#include "elf.h"

enum { FORMAT_BYTES = 4, ATTR_FRAME_SIZE = 0x11, ATTR_REGCOUNT = 0x2f, SYMBOL_BYTES = 24 };

static bool is_text(CtBytes b, uint64_t at, const char *text) {
  const char *here = ct_bytes_text(b, at);
  return here != NULL && strcmp(here, text) == 0;
}

bool ct_cubin_info(const void *image, size_t len, const char *kernel, CtCubinInfo *out) {
  CtElf elf;
  *out = (CtCubinInfo){0, 0};
  if (!ct_elf_open(image, len, &elf)) {
    return false;
  }
  CtBytes info = ct_elf_find(&elf, ".nv.info"), symbols = ct_elf_find(&elf, ".symtab");
  CtBytes texts = ct_elf_find(&elf, ".strtab");
  for (size_t at = 0; at + 4 <= info.len;) {
    uint64_t format = ct_bytes_number(info, at, 1), attr = ct_bytes_number(info, at + 1, 1);
    uint64_t size = ct_bytes_number(info, at + 2, 2);
    uint64_t symbol = ct_bytes_number(info, at + 4, 4), value = ct_bytes_number(info, at + 8, 4);
    at += 4 + (format == FORMAT_BYTES ? size : 0);
    if (format != FORMAT_BYTES || size < 8 ||
        !is_text(texts, ct_bytes_number(symbols, symbol * SYMBOL_BYTES, 4), kernel)) {
      continue;
    }
    out->registers = attr == ATTR_REGCOUNT ? (int)value : out->registers;
    out->stack_bytes = attr == ATTR_FRAME_SIZE ? (int)value : out->stack_bytes;
  }
  return out->registers > 0;
}
