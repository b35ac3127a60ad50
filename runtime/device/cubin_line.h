/* cubin_line.h: which line of which file an instruction of a cubin comes from: the table in .debug_line, which
   NVRTC's -lineinfo makes. It is a line number program of DWARF 2 to 4 with two extended opcodes of NVIDIA's:
   0x90 (context, name) says that the rows from there on are of a function that was inlined where row `context`
   of the table is, or of none if that is 0; 0x91 (name) changes its name. What is read agrees with what nvdisasm
   -gi shows (scripts/cubin_beside_nvdisasm.lua). Where an address is relative to, a relocation says. */
#ifndef CT_CUBIN_LINE_H
#define CT_CUBIN_LINE_H

#include "elf.h"
#include "runtime/base/arena.h"

typedef struct CtCubinRow {
  uint64_t at;      /* in its section */
  uint32_t section; /* number in the file; 0: no relocation says it */
  uint32_t index;   /* in the order of the table, from 0 on */
  uint32_t file;    /* number in `files` */
  uint32_t line;
  uint32_t context; /* 1 + the index of a row, or 0 */
  bool ends;        /* the instructions before it were the last of a sequence */
} CtCubinRow;

typedef struct CtCubinFile {
  const char *folder, *name; /* in the image; "": not known */
} CtCubinFile;

typedef struct CtCubinLines {
  CtAlloc alloc;
  CtCubinRow *rows;     /* as the table has them, */
  CtCubinRow *by_place; /* and by section and address */
  size_t n_rows, cap_rows;
  CtCubinFile *files;
  size_t n_files, cap_files;
} CtCubinLines;

/* The capability, times 10, that the code is for. */
uint64_t ct_cubin_sm(const CtElf *elf);

/* A table that is not understood has no rows. Close it in any case. */
CtStatus ct_cubin_lines(CtAlloc alloc, const CtElf *elf, CtCubinLines *out,
                        CtErr *err) CT_NODISCARD;
void ct_cubin_lines_close(CtCubinLines *l);

/* The row of an instruction, or, where that is of a text of our own (a file *.cu), of the innermost function that
   called it and is not: a line of a script. NULL: there is none. */
const CtCubinRow *ct_cubin_script_row(const CtCubinLines *l, uint32_t section, uint64_t at);

#endif
