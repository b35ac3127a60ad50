/* cubin_line.c: the line table of a cubin; see cubin_line.h. */
#include "cubin_line.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/base/order.h"

enum { MAX_ROWS = 1 << 22, MAX_FILES = 1 << 12, MAX_FOLDERS = 1 << 12, MAX_UNITS = 256 };
enum { MAX_RELOCATIONS = 1 << 12, MAX_CALLERS = 64 };
enum { SYMBOL_BYTES = 24, IN_SYMBOL_SECTION = 6, IN_SYMBOL_VALUE = 8 };
enum { IN_HEAD_ABI = 8, IN_HEAD_FLAGS = 48, NEW_ABI = 8 };
enum { OLDEST = 2, NEWEST = 4 };
enum {
  N_KNOWN = 9
}; /* standard opcodes 1 to 9 are understood; the table says how long others are */

typedef enum Standard {
  EXTENDED,
  COPY,
  ADVANCE_PC,
  ADVANCE_LINE,
  SET_FILE,
  SET_COLUMN,
  NEGATE_STMT,
  BASIC_BLOCK,
  CONST_ADD_PC,
  FIXED_ADVANCE_PC
} Standard;

typedef enum Extended { END_SEQUENCE = 1, SET_ADDRESS = 2, INLINED_CALL = 0x90 } Extended;

/* A unit being read. `at` is a place in the whole section: relocations name such places. */
typedef struct Reader {
  CtBytes all; /* the section, up to the end of the unit */
  uint64_t at;
  bool is_bad;
  CtBytes relocations, symbols;
  uint64_t relocation_bytes; /* 16, or 24: with an addend */
  int32_t least, line_base, line_range, opcode_base;
  uint64_t lengths; /* of the operands of standard opcodes, in `all` */
  uint32_t first_file, first_row;
  CtCubinRow now;
} Reader;

/* --- the head of the file ----------------------------------------------------------------------------------- */

uint64_t ct_cubin_sm(const CtElf *elf) {
  uint64_t flags = ct_bytes_number(elf->file, IN_HEAD_FLAGS, 4);
  bool is_new = ct_bytes_number(elf->file, IN_HEAD_ABI, 1) >= NEW_ABI;
  return (is_new ? flags >> 8 : flags) & 0xff;
}

/* --- numbers ------------------------------------------------------------------------------------------------ */

static uint64_t take(Reader *r, int n) {
  r->is_bad = r->is_bad || r->at > r->all.len || r->all.len - r->at < (size_t)n;
  uint64_t v = ct_bytes_number(r->all, r->at, n);
  r->at += (uint64_t)n;
  return v;
}

/* A LEB128 number; bits beyond 64 are dropped. */
static uint64_t take_leb(Reader *r, bool is_signed) {
  uint64_t v = 0, byte = 0x80;
  int shift = 0;
  for (; (byte & 0x80) != 0 && !r->is_bad; shift += 7) {
    byte = take(r, 1);
    v |= shift < 64 ? (byte & 0x7f) << shift : 0;
  }
  bool is_negative = is_signed && shift < 64 && (byte & 0x40) != 0;
  return is_negative ? v | ~UINT64_C(0) << shift : v;
}

static uint64_t take_number(Reader *r) { return take_leb(r, false); }

static const char *take_text(Reader *r) {
  const char *text = ct_bytes_text(r->all, r->at);
  r->is_bad = r->is_bad || text == NULL;
  r->at += text == NULL ? 0 : strlen(text) + 1;
  return text == NULL ? "" : text;
}

/* --- the head of a unit ------------------------------------------------------------------------------------- */

/* The n-th folder, from 1 on, of those that begin at `folders`. */
static const char *folder_of(const Reader *r, uint64_t folders, uint64_t n) {
  Reader walk = *r;
  const char *text = "";
  walk.at = folders;
  n = n <= MAX_FOLDERS ? n : 0;
  for (uint64_t i = 0; i < n && !walk.is_bad; i++) {
    text = take_text(&walk);
    if (*text == '\0') {
      return ""; /* the list ends before */
    }
  }
  return text;
}

static CtStatus take_files(Reader *r, uint64_t folders, CtCubinLines *out, CtErr *err) {
  r->first_file = (uint32_t)out->n_files;
  for (const char *name = take_text(r); *name != '\0' && !r->is_bad; name = take_text(r)) {
    CtStatus s = ct_grow(out->alloc, &out->files, &out->cap_files, out->n_files + 1,
                         sizeof *out->files, err);
    if (s != CT_OK) {
      return s;
    }
    uint64_t folder = take_number(r);
    (void)take_number(r); /* time */
    (void)take_number(r); /* size */
    out->files[out->n_files++] = (CtCubinFile){folder_of(r, folders, folder), name};
    r->is_bad = r->is_bad || out->n_files > MAX_FILES;
  }
  return CT_OK;
}

static CtStatus take_head(Reader *r, CtCubinLines *out, CtErr *err) {
  uint64_t version = take(r, 2), head_bytes = take(r, 4), program = r->at + head_bytes;
  r->least = (int32_t)take(r, 1);
  r->at += version == NEWEST; /* operations of an instruction: one */
  (void)take(r, 1);           /* is_stmt */
  r->line_base = (int32_t)take(r, 1);
  r->line_base -= r->line_base < 128 ? 0 : 256; /* it is signed */
  r->line_range = (int32_t)take(r, 1);
  r->opcode_base = (int32_t)take(r, 1);
  r->lengths = r->at;
  r->at += r->opcode_base > 0 ? (uint64_t)r->opcode_base - 1 : 0;
  uint64_t folders = r->at;
  while (!r->is_bad && *take_text(r) != '\0') {}
  CtStatus s = take_files(r, folders, out, err);
  r->is_bad = r->is_bad || version < OLDEST || version > NEWEST || r->line_range == 0 ||
              program < r->at || program > r->all.len;
  r->at = program;
  return s;
}

/* --- the program -------------------------------------------------------------------------------------------- */

/* Takes an address, which a relocation moves. */
static void take_address(Reader *r) {
  uint64_t at = r->at, each = r->relocation_bytes;
  r->now.section = 0;
  r->now.at = take(r, 8);
  for (uint64_t n = 0; n < MAX_RELOCATIONS && (n + 1) * each <= r->relocations.len; n++) {
    CtBytes row = ct_bytes_part(r->relocations, n * each, each);
    if (ct_bytes_number(row, 0, 8) == at) {
      CtBytes symbol =
          ct_bytes_part(r->symbols, ct_bytes_number(row, 12, 4) * SYMBOL_BYTES, SYMBOL_BYTES);
      r->now.section = (uint32_t)ct_bytes_number(symbol, IN_SYMBOL_SECTION, 2);
      r->now.at += ct_bytes_number(symbol, IN_SYMBOL_VALUE, 8) + ct_bytes_number(row, 16, 8);
      return;
    }
  }
}

static void begin_sequence(Reader *r) { r->now = (CtCubinRow){.file = 1, .line = 1}; }

static CtStatus add_row(Reader *r, bool ends, CtCubinLines *out, CtErr *err) {
  CtStatus s =
      ct_grow(out->alloc, &out->rows, &out->cap_rows, out->n_rows + 1, sizeof *out->rows, err);
  if (s == CT_OK) {
    CtCubinRow *row = &out->rows[out->n_rows];
    *row = r->now;
    row->ends = ends;
    row->index = (uint32_t)out->n_rows++;
    row->file = r->now.file - 1 + r->first_file;
    row->context = r->now.context == 0 ? 0 : r->now.context + r->first_row;
    r->is_bad = r->is_bad || out->n_rows > MAX_ROWS;
  }
  return s;
}

static CtStatus step_extended(Reader *r, CtCubinLines *out, CtErr *err) {
  uint64_t bytes = take_number(r), end = r->at + bytes;
  r->is_bad = r->is_bad || bytes == 0 || bytes > r->all.len - r->at;
  uint64_t op = r->is_bad ? 0 : take(r, 1);
  CtStatus s = CT_OK;
  if (op == END_SEQUENCE) {
    s = add_row(r, true, out, err);
    begin_sequence(r);
  } else if (op == SET_ADDRESS) {
    take_address(r);
  } else if (op == INLINED_CALL) {
    r->now.context = (uint32_t)take_number(r);
  }
  r->at = end;
  return s;
}

static void advance(Reader *r, uint64_t n) { r->now.at += n * (uint64_t)r->least; }

static CtStatus step_standard(Reader *r, uint64_t op, CtCubinLines *out, CtErr *err) {
  switch ((Standard)op) {
    case EXTENDED: return step_extended(r, out, err);
    case COPY: return add_row(r, false, out, err);
    case ADVANCE_PC: advance(r, take_number(r)); break;
    case ADVANCE_LINE: r->now.line += (uint32_t)take_leb(r, true); break;
    case SET_FILE: r->now.file = (uint32_t)take_number(r); break;
    case SET_COLUMN: (void)take_number(r); break;
    case CONST_ADD_PC: advance(r, (uint64_t)((255 - r->opcode_base) / r->line_range)); break;
    case FIXED_ADVANCE_PC: r->now.at += take(r, 2); break;
    case NEGATE_STMT:
    case BASIC_BLOCK: break;
  }
  return CT_OK;
}

static CtStatus step(Reader *r, CtCubinLines *out, CtErr *err) {
  uint64_t op = take(r, 1);
  if (op >= (uint64_t)r->opcode_base) {
    int32_t n = (int32_t)op - r->opcode_base;
    advance(r, (uint64_t)(n / r->line_range));
    r->now.line += (uint32_t)(r->line_base + n % r->line_range);
    return add_row(r, false, out, err);
  }
  if (op > N_KNOWN) {
    for (uint64_t n = ct_bytes_number(r->all, r->lengths + op - 1, 1); n > 0; n--) {
      (void)take_number(r);
    }
    return CT_OK;
  }
  return step_standard(r, op, out, err);
}

static CtStatus read_unit(Reader *r, CtCubinLines *out, CtErr *err) {
  r->first_row = (uint32_t)out->n_rows;
  CtStatus s = take_head(r, out, err);
  begin_sequence(r);
  while (s == CT_OK && !r->is_bad && r->at < r->all.len) {
    s = step(r, out, err);
  }
  return s;
}

/* --- the table ---------------------------------------------------------------------------------------------- */

static int compare_places(const void *a_ptr, const void *b_ptr) {
  const CtCubinRow *a = a_ptr, *b = b_ptr;
  const int64_t pairs[][2] = {
      {a->section, b->section}, {(int64_t)a->at, (int64_t)b->at}, {a->index, b->index}};
  return CT_COMPARE_PAIRS(pairs);
}

static CtStatus sort_rows(CtCubinLines *l, CtErr *err) {
  if (l->n_rows == 0) {
    return CT_OK;
  }
  l->by_place = ct_alloc(l->alloc, l->n_rows * sizeof *l->by_place);
  if (l->by_place == NULL) {
    return ct_fail_nomem(err);
  }
  memcpy(l->by_place, l->rows, l->n_rows * sizeof *l->by_place);
  qsort(l->by_place, l->n_rows, sizeof *l->by_place, compare_places);
  return CT_OK;
}

CtStatus ct_cubin_lines(CtAlloc alloc, const CtElf *elf, CtCubinLines *out, CtErr *err) {
  CtBytes table = ct_elf_find(elf, ".debug_line");
  Reader r = {.relocations = ct_elf_find(elf, ".rela.debug_line"),
              .symbols = ct_elf_find(elf, ".symtab"),
              .relocation_bytes = 24};
  if (r.relocations.len == 0) {
    r.relocations = ct_elf_find(elf, ".rel.debug_line");
    r.relocation_bytes = 16;
  }
  CtStatus s = CT_OK;
  *out = (CtCubinLines){.alloc = alloc};
  uint64_t at = 0;
  for (int n = 0; n < MAX_UNITS && s == CT_OK && !r.is_bad && at + 4 < table.len; n++) {
    uint64_t bytes = ct_bytes_number(table, at, 4);
    if (bytes > table.len - at - 4) {
      break;
    }
    r.at = at + 4;
    at = r.at + bytes;
    r.all = (CtBytes){table.at, (size_t)at};
    s = read_unit(&r, out, err);
  }
  out->n_rows = r.is_bad ? 0 : out->n_rows;
  return s == CT_OK ? sort_rows(out, err) : s;
}

void ct_cubin_lines_close(CtCubinLines *l) {
  ct_free(l->alloc, l->by_place, l->n_rows * sizeof *l->by_place);
  ct_free(l->alloc, l->rows, l->cap_rows * sizeof *l->rows);
  ct_free(l->alloc, l->files, l->cap_files * sizeof *l->files);
  *l = (CtCubinLines){.alloc = l->alloc};
}

/* The row of an instruction; NULL: none says where it is from. */
static const CtCubinRow *row_of(const CtCubinLines *l, uint32_t section, uint64_t at) {
  size_t low = 0, high = l->n_rows; /* the first row after it is in low .. high */
  CtCubinRow wanted = {.section = section, .at = at, .index = UINT32_MAX};
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    bool is_behind = compare_places(&l->by_place[mid], &wanted) > 0;
    high = is_behind ? mid : high;
    low = is_behind ? low : mid + 1;
  }
  const CtCubinRow *row = low == 0 ? NULL : &l->by_place[low - 1];
  bool is_found = row != NULL && row->section == section && !row->ends && row->file < l->n_files;
  return is_found ? row : NULL;
}

/* The row where the function was inlined that this row is of; NULL: none. */
static const CtCubinRow *caller_of(const CtCubinLines *l, const CtCubinRow *row) {
  const CtCubinRow *caller =
      row->context > 0 && row->context <= l->n_rows ? &l->rows[row->context - 1] : NULL;
  return caller != NULL && caller->file < l->n_files ? caller : NULL;
}

static bool is_ours(const char *file) {
  size_t n = strlen(file);
  return n > 3 && strcmp(file + n - 3, ".cu") == 0;
}

const CtCubinRow *ct_cubin_script_row(const CtCubinLines *l, uint32_t section, uint64_t at) {
  const CtCubinRow *row = row_of(l, section, at);
  for (int n = 0; n < MAX_CALLERS && row != NULL && is_ours(l->files[row->file].name); n++) {
    row = caller_of(l, row);
  }
  return row != NULL && !is_ours(l->files[row->file].name) ? row : NULL;
}
