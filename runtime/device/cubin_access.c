/* cubin_access.c: memory instructions of a cubin; see cubin_access.h. */
#include "cubin_access.h"

#include <string.h>

#include "cubin_line.h"

enum { INSTRUCTION_BYTES = 16, OPERATION = 0x1ff, PREDICATE_AT = 12, ALWAYS = 7, NEVER = 15 };
enum { WIDTH_AT = 73 - 64 };
enum { NEW_COPIES = 100 };
enum { BRANCH = 0x147, OFFSET_AT = 34, LOW_OFFSET_AT = 16, NEW_BRANCHES = 90, WORD_BYTES = 4 };

typedef struct Kind {
  uint16_t operation;
  CtCubinOp op;
  CtCubinSpace space;
} Kind;

static const Kind kinds[] = {{0x180, CT_CUBIN_LOAD, CT_CUBIN_GENERIC},  /* LD */
                             {0x181, CT_CUBIN_LOAD, CT_CUBIN_GLOBAL},   /* LDG */
                             {0x184, CT_CUBIN_LOAD, CT_CUBIN_SHARED},   /* LDS */
                             {0x185, CT_CUBIN_STORE, CT_CUBIN_GENERIC}, /* ST */
                             {0x186, CT_CUBIN_STORE, CT_CUBIN_GLOBAL},  /* STG */
                             {0x188, CT_CUBIN_STORE, CT_CUBIN_SHARED},  /* STS */
                             {0x1ae, CT_CUBIN_COPY, CT_CUBIN_GLOBAL}};  /* LDGSTS */

static const int widths[] = {8, 8, 16, 16, 32, 64, 128, 128};
static const int copy_widths[] = {32, 32, 64, 64, 128, 128, 128, 128};

/* False: the instruction is none of these. */
static bool decode(uint64_t low, uint64_t high, const int *of_copies, CtCubinAccess *out) {
  for (size_t i = 0; i < CT_ARRAY_LEN(kinds); i++) {
    if (kinds[i].operation == (low & OPERATION) && (low >> PREDICATE_AT & 15) != NEVER) {
      const int *of = kinds[i].op == CT_CUBIN_COPY ? of_copies : widths;
      *out = (CtCubinAccess){.op = kinds[i].op,
                             .space = kinds[i].space,
                             .bits = of[high >> WIDTH_AT & 7],
                             .folder = "",
                             .file = ""};
      return true;
    }
  }
  return false;
}

static void set_line(const CtCubinLines *lines, uint32_t section, CtCubinAccess *a) {
  const CtCubinRow *row = ct_cubin_script_row(lines, section, a->at);
  if (row != NULL) {
    a->folder = lines->files[row->file].folder;
    a->file = lines->files[row->file].name;
    a->line = row->line;
  }
}

/* Where a branch goes; `at` is its own place. */
static uint64_t target_of(uint64_t low, uint64_t high, uint64_t at, bool is_new) {
  uint64_t words = low >> OFFSET_AT | high << (64 - OFFSET_AT);
  if (is_new) {
    words = words << 8 | (low >> LOW_OFFSET_AT & 0xff);
  }
  int rest = 64 - (is_new ? 56 : 48); /* the field has a sign */
  return at + INSTRUCTION_BYTES + (uint64_t)((int64_t)(words << rest) >> rest) * WORD_BYTES;
}

/* Marks those of `first` and later ones, in the order of their places, that lie from `from` up to `to`. */
static void mark_loop(CtCubinAccesses *a, size_t first, uint64_t from, uint64_t to) {
  for (size_t i = a->n; i > first && a->list[i - 1].at >= from; i--) {
    a->list[i - 1].is_in_loop = a->list[i - 1].is_in_loop || a->list[i - 1].at <= to;
  }
}

/* Likewise those between the branch and where it goes, of lines before its own. */
static void mark_sunk(CtCubinAccesses *a, size_t first, const CtCubinAccess *branch, uint64_t to) {
  for (size_t i = a->n; i > first && a->list[i - 1].at > branch->at; i--) {
    CtCubinAccess *x = &a->list[i - 1];
    bool is_earlier = x->line < branch->line && strcmp(x->file, branch->file) == 0 &&
                      strcmp(x->folder, branch->folder) == 0;
    bool is_sunk = x->at < to && !x->is_in_loop && is_earlier;
    x->sunk_by =
        is_sunk && (x->sunk_by == 0 || branch->line < x->sunk_by) ? branch->line : x->sunk_by;
  }
}

/* The code of a function, its accesses from `first` on. */
typedef struct Code {
  CtBytes bytes;
  bool is_new;
  const CtCubinLines *lines;
  uint32_t section;
  size_t first;
  CtCubinAccesses *out;
} Code;

static void mark_branches(const Code *c, bool backward) {
  for (uint64_t at = 0; at + INSTRUCTION_BYTES <= c->bytes.len; at += INSTRUCTION_BYTES) {
    uint64_t low = ct_bytes_number(c->bytes, at, 8);
    if ((low & OPERATION) != BRANCH) {
      continue;
    }
    uint64_t to = target_of(low, ct_bytes_number(c->bytes, at + 8, 8), at, c->is_new);
    CtCubinAccess branch = {.at = at, .folder = "", .file = ""};
    if (backward && to < at) {
      mark_loop(c->out, c->first, to, at);
    } else if (!backward && to > at && (low >> PREDICATE_AT & 15) != ALWAYS) {
      set_line(c->lines, c->section, &branch);
      mark_sunk(c->out, c->first, &branch, to);
    }
  }
}

static CtStatus add_code(const CtElf *elf, uint32_t section, const CtCubinLines *lines,
                         CtCubinAccesses *out, CtErr *err) {
  CtBytes code = ct_elf_section(elf, section).bytes;
  const int *of_copies = ct_cubin_sm(elf) >= NEW_COPIES ? copy_widths : widths;
  size_t first = out->n;
  CtStatus s = CT_OK;
  for (uint64_t at = 0; s == CT_OK && at + INSTRUCTION_BYTES <= code.len; at += INSTRUCTION_BYTES) {
    CtCubinAccess a;
    if (decode(ct_bytes_number(code, at, 8), ct_bytes_number(code, at + 8, 8), of_copies, &a)) {
      a.at = at;
      set_line(lines, section, &a);
      s = ct_grow(out->alloc, &out->list, &out->cap, out->n + 1, sizeof *out->list, err);
      if (s == CT_OK) {
        out->list[out->n++] = a;
      }
    }
  }
  const Code all = {code, ct_cubin_sm(elf) >= NEW_BRANCHES, lines, section, first, out};
  mark_branches(&all, true);
  mark_branches(&all, false);
  return s;
}

CtStatus ct_cubin_accesses(CtAlloc alloc, const void *image, size_t len, CtCubinAccesses *out,
                           CtErr *err) {
  CtElf elf;
  CtCubinLines lines;
  *out = (CtCubinAccesses){.alloc = alloc};
  if (!ct_elf_open(image, len, &elf)) {
    return CT_OK;
  }
  CtStatus s = ct_cubin_lines(alloc, &elf, &lines, err);
  for (uint32_t i = 1; s == CT_OK && i < elf.n; i++) {
    if (strncmp(ct_elf_section(&elf, i).name, ".text.", 6) == 0) {
      s = add_code(&elf, i, &lines, out, err);
    }
  }
  ct_cubin_lines_close(&lines);
  return s;
}

void ct_cubin_accesses_close(CtCubinAccesses *a) {
  ct_free(a->alloc, a->list, a->cap * sizeof *a->list);
  *a = (CtCubinAccesses){.alloc = a->alloc};
}
