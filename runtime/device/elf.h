/* elf.h: the sections of an ELF file of 64 bits that lies in memory, as a cubin does. The file is not
   trusted: what it says is beyond its end is read as 0, or as nothing. */
#ifndef CT_ELF_H
#define CT_ELF_H

#include "runtime/base/base.h"

typedef struct CtBytes {
  const unsigned char *at;
  size_t len;
} CtBytes;

/* The n bytes from `at` on as a number, the lowest byte first. */
uint64_t ct_bytes_number(CtBytes b, uint64_t at, int n);
CtBytes ct_bytes_part(CtBytes b, uint64_t at, uint64_t len);
/* The text at `at`, which ends within b; NULL: none does. */
const char *ct_bytes_text(CtBytes b, uint64_t at);

typedef struct CtElf {
  CtBytes file, names;
  uint64_t rows;
  uint32_t n; /* sections; the first one is none */
} CtElf;

typedef struct CtElfSection {
  const char *name; /* "": it has none */
  CtBytes bytes;
} CtElfSection;

/* False: it is no such file. */
bool ct_elf_open(const void *image, size_t len, CtElf *out);
CtElfSection ct_elf_section(const CtElf *elf, uint32_t i);
CtBytes ct_elf_find(const CtElf *elf, const char *name); /* the first of that name; or no bytes */

#endif
