/* ir_file.c: linked in front of both engines (--wrap=ct_simt_lower, --wrap=ct_emit_cuda): each gets the IR
   that was read from the bytes of the one that was traced. So what holds of a program that has it holds of
   files of IR: the same bits. It stops the process where the laws of the file do not hold: read(write(ir))
   prints the same and gives the same CUDA C, write(read(bytes)) is the same bytes.
   CUTTLE_IR_FILES names a folder that gets each file. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/emit/emit_cuda.h"
#include "runtime/ir/ir_file.h"
#include "runtime/simt/simt.h"

CtStatus __real_ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err);
CtStatus __wrap_ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err);
CtStatus __real_ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err);
CtStatus __wrap_ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err);

static void must(bool ok, const CtIr *ir, const char *what) {
  if (!ok) {
    fprintf(stderr, "ir_file: kernel '%s': %s\n", ir->name, what);
    abort();
  }
}

/* Of the arguments that are constants a file says nothing: they are for people. */
static void compare_texts(const CtIr *ir, CtIr *again) {
  CtText a, b;
  again->constants = ir->constants;
  ct_text_init(&a, ct_alloc_std);
  ct_text_init(&b, ct_alloc_std);
  ct_ir_print(ir, &a);
  ct_ir_print(again, &b);
  must(strcmp(ct_text_str(&a), ct_text_str(&b)) == 0, ir, "another text");
  ct_text_clear(&a);
  ct_text_clear(&b);
}

static void save(const CtText *bytes) {
  static int n;
  char path[1024];
  const char *folder = getenv("CUTTLE_IR_FILES");
  if (folder == NULL) {
    return;
  }
  snprintf(path, sizeof path, "%s/%d.%d.ctk", folder, (int)bytes->len, n++);
  FILE *f = fopen(path, "wb");
  if (f != NULL) {
    fwrite(bytes->s, 1, bytes->len, f);
    fclose(f);
  }
}

/* Kept for ever: what engines make of an IR points into it. */
typedef struct Kept {
  CtIr ir;
  CtText bytes; /* of the last one only */
  struct Kept *next;
} Kept;

static bool is_same(const CtText *a, const CtText *b) {
  return a->len == b->len && memcmp(a->s, b->s, b->len) == 0;
}

static Kept *read_again(const CtIr *ir, const CtText *bytes) {
  Kept *kept = malloc(sizeof *kept);
  CtErr err = {.msg = ""};
  CtText again;
  ct_text_init(&again, ct_alloc_std);
  save(bytes);
  must(kept != NULL && ct_ir_read(ct_alloc_std, bytes->s, bytes->len, &kept->ir, &err) == CT_OK, ir,
       err.msg);
  must(ct_ir_write(&kept->ir, &again, &err) == CT_OK, ir, err.msg);
  must(is_same(&again, bytes), ir, "other bytes");
  ct_text_clear(&again);
  return kept;
}

/* An IR that is emitted for several targets has the same bytes for most: these are read once. */
static CtIr *reread(const CtIr *ir) {
  static Kept *all;
  CtText bytes;
  CtErr err = {.msg = ""};
  ct_text_init(&bytes, ct_alloc_std);
  must(ct_ir_write(ir, &bytes, &err) == CT_OK, ir, err.msg);
  if (all != NULL && is_same(&all->bytes, &bytes)) {
    ct_text_clear(&bytes);
    all->ir.constants = ir->constants;
    return &all->ir;
  }
  Kept *kept = read_again(ir, &bytes);
  compare_texts(ir, &kept->ir);
  if (all != NULL) {
    ct_text_clear(&all->bytes);
  }
  kept->bytes = bytes;
  kept->next = all;
  all = kept;
  return &kept->ir;
}

CtStatus __wrap_ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  return __real_ct_simt_lower(alloc, reread(ir), out, err);
}

/* Appends to *out, like ct_emit_cuda; `functions` stands for those of *opts, which stay as they were. */
static CtStatus emit_beside(const CtIr *ir, const CtEmitOpts *opts, CtText *functions,
                            CtText *out) {
  CtErr err;
  CtEmitOpts own = *opts;
  ct_text_init(functions, ct_alloc_std);
  ct_text_init(out, ct_alloc_std);
  if (opts->functions != NULL) {
    ct_text_add(functions, ct_text_str(opts->functions), opts->functions->len);
    own.functions = functions;
  }
  return __real_ct_emit_cuda(ir, &own, out, &err);
}

CtStatus __wrap_ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) {
  CtText wanted, functions;
  size_t before = out->len;
  CtStatus wanted_status = emit_beside(ir, opts, &functions, &wanted);
  CtStatus status = __real_ct_emit_cuda(reread(ir), opts, out, err);
  must(status == wanted_status && out->len - before == wanted.len &&
           (wanted.len == 0 || memcmp(out->s + before, wanted.s, wanted.len) == 0),
       ir, "other CUDA C");
  must(opts->functions == NULL ||
           (opts->functions->len == functions.len &&
            (functions.len == 0 || memcmp(opts->functions->s, functions.s, functions.len) == 0)),
       ir, "other functions");
  ct_text_clear(&wanted);
  ct_text_clear(&functions);
  return status;
}
