/* check_join.c: the parts of `check` for launches of ranks that run at once (check_ranks.h). */
#include "check_ranks.h"

#include <stdlib.h>
#include <string.h>

static void close_parts(CtCheck *c) {
  for (size_t i = 0; i < c->n_parts; i++) {
    ct_check_close(c->parts[i]);
  }
  ct_free(c->alloc, (void *)c->parts, c->cap_parts * sizeof *c->parts);
  c->parts = NULL;
  c->n_parts = c->cap_parts = 0;
  c->no_memory = ct_ranks_close(c->shared) || c->no_memory;
  c->shared = NULL;
}

CtStatus ct_check_join(CtCheck *c, size_t n, CtErr *err) {
  CtCheckOptions options = c->options;
  options.is_single = true; /* the host waits for all of them */
  options.blanks = NULL;
  if (c->options.blanks != NULL) {
    ct_blank_settle_all(c->options.blanks); /* they may write all of it */
  }
  c->shared = ct_ranks_open(c);
  if (c->shared == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = CT_GROW(c->alloc, c->parts, c->cap_parts, n, err);
  while (status == CT_OK && c->n_parts < n) {
    CtCheck **part = &c->parts[c->n_parts];
    status = ct_check_open(c->alloc, &options, part, err);
    if (status == CT_OK) {
      (*part)->root = c;
      (*part)->ranks = c->shared;
      c->n_parts++;
    }
  }
  if (status != CT_OK) {
    close_parts(c);
  }
  return status;
}

CtSimtWatch *ct_check_part(CtCheck *c, size_t i) { return &c->parts[i]->watch; }

static int by_line(const void *a, const void *b) {
  const CtFinding *x = a, *y = b;
  int chunks = strcmp(x->chunk, y->chunk);
  return chunks != 0          ? chunks
         : x->line != y->line ? x->line - y->line
         : x->kind != y->kind ? (int)x->kind - (int)y->kind
                              : x->other_line - y->other_line;
}

void ct_check_join_end(CtCheck *c) {
  size_t n_before = c->n_findings;
  for (size_t i = 0; i < c->n_parts; i++) {
    ct_finding_take(c, c->parts[i]);
    c->n_launches += c->parts[i]->n_launches;
  }
  if (c->n_findings > n_before) {
    qsort(&c->findings[n_before], c->n_findings - n_before, sizeof *c->findings, by_line);
  }
  close_parts(c);
}
