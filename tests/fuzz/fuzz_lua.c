/* fuzz_lua.c: any bytes as a Lua chunk: the parser must stay inside them; of what it accepts, every
   function must be rewritten or refused with a message, and a rewritten one must parse again, unless
   it grew over a limit, with its function on the same lines. */
#include <stdlib.h>
#include <string.h>

#include "interp/text/rewrite.h"

enum { MAX_FUNCTIONS = 20 }; /* looked at in one input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool ok) {
  if (!ok) {
    abort();
  }
}

static bool is_limit(const CtErr *err) {
  return strstr(err->msg, "more than") != NULL || strstr(err->msg, "too many") != NULL;
}

static void check_wrapper(const CtText *text, const RwFunction *f) {
  RwChunk *again;
  CtErr err;
  if (rw_parse(ct_alloc_std, ct_text_str(text), text->len, "wrapper", &again, &err) != CT_OK) {
    must(is_limit(&err));
    return;
  }
  if (f->first_line > 0) {
    must(rw_function_find(again, 0, f->first_line, f->last_line) < rw_function_count(again));
  }
  rw_free(again);
}

static void check_function(RwChunk *c, size_t fn, RwKind kind) {
  CtText text;
  RwInfo info;
  CtErr err = {0};
  ct_text_init(&text, ct_alloc_std);
  rw_note_reads(c, fn % 2 == 0);
  if (rw_rewrite(c, fn, kind, &text, &info, &err) == CT_OK) {
    must(info.n_fns > 0 && info.fns[0] == RW_FUNC);
    check_wrapper(&text, rw_function(c, fn));
    rw_info_clear(&info);
  } else {
    must(err.status == CT_EINVAL && err.line > 0 && err.msg[0] != '\0');
  }
  ct_text_clear(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  RwChunk *c;
  CtErr err = {0};
  if (rw_parse(ct_alloc_std, (const char *)data, n, "fuzz", &c, &err) != CT_OK) {
    must(err.status == CT_EINVAL && err.line > 0 && err.msg[0] != '\0');
    return 0;
  }
  for (size_t fn = 0; fn < rw_function_count(c) && fn < MAX_FUNCTIONS; fn++) {
    check_function(c, fn, fn % 2 == 0 ? RW_KERNEL : RW_HELPER);
  }
  rw_free(c);
  return 0;
}
