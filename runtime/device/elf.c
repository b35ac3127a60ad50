/* elf.c: sections of an ELF file; see elf.h. */
#include "elf.h"

#include <string.h>

enum { HEADER_BYTES = 64, SECTION_BYTES = 64, AT_SECTIONS = 40, AT_N_SECTIONS = 60, AT_NAMES = 62 };
enum { IN_ROW_AT = 24, IN_ROW_LEN = 32, IN_ROW_TYPE = 4, NOBITS = 8 };

uint64_t ct_bytes_number(CtBytes b, uint64_t at, int n) {
  uint64_t v = 0;
  if (at > b.len || b.len - at < (size_t)n) {
    return 0;
  }
  for (int i = n; i-- > 0;) {
    v = v << 8 | b.at[(size_t)at + (size_t)i];
  }
  return v;
}

CtBytes ct_bytes_part(CtBytes b, uint64_t at, uint64_t len) {
  bool ok = at <= b.len && len <= b.len - at;
  return ok ? (CtBytes){b.at + at, (size_t)len} : (CtBytes){NULL, 0};
}

const char *ct_bytes_text(CtBytes b, uint64_t at) {
  bool ok = at < b.len && memchr(b.at + at, 0, b.len - (size_t)at) != NULL;
  return ok ? (const char *)(b.at + at) : NULL;
}

static CtBytes row_of(const CtElf *elf, uint64_t i) {
  return ct_bytes_part(elf->file, elf->rows + i * SECTION_BYTES, SECTION_BYTES);
}

static CtBytes bytes_of(const CtElf *elf, CtBytes row) {
  if (ct_bytes_number(row, IN_ROW_TYPE, 4) == NOBITS) {
    return (CtBytes){NULL, 0};
  }
  return ct_bytes_part(elf->file, ct_bytes_number(row, IN_ROW_AT, 8),
                       ct_bytes_number(row, IN_ROW_LEN, 8));
}

bool ct_elf_open(const void *image, size_t len, CtElf *out) {
  *out = (CtElf){.file = {image, len}};
  if (len < HEADER_BYTES || memcmp(image, "\177ELF\2\1", 6) != 0) {
    return false;
  }
  out->rows = ct_bytes_number(out->file, AT_SECTIONS, 8);
  out->n = (uint32_t)ct_bytes_number(out->file, AT_N_SECTIONS, 2);
  out->names = bytes_of(out, row_of(out, ct_bytes_number(out->file, AT_NAMES, 2)));
  return true;
}

CtElfSection ct_elf_section(const CtElf *elf, uint32_t i) {
  CtBytes row = row_of(elf, i);
  const char *name = ct_bytes_text(elf->names, ct_bytes_number(row, 0, 4));
  return (CtElfSection){name == NULL ? "" : name, bytes_of(elf, row)};
}

CtBytes ct_elf_find(const CtElf *elf, const char *name) {
  for (uint32_t i = 1; i < elf->n; i++) {
    CtElfSection s = ct_elf_section(elf, i);
    if (strcmp(s.name, name) == 0) {
      return s.bytes;
    }
  }
  return (CtBytes){NULL, 0};
}
