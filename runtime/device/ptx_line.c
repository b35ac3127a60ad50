/* ptx_line.c: see ptx_line.h. */
#include "ptx_line.h"

#include <stdio.h>
#include <string.h>

enum { MAX_LINE = 256, MAX_PLACES = 1 << 16 };

typedef struct Place {
  int file, line, column;
} Place;

/* Where the code of a place was called from, as the last `.loc` of it said. */
typedef struct Known {
  Place at, outer;
} Known;

typedef struct Places {
  CtAlloc alloc;
  Known *list;
  size_t n, cap;
} Places;

static bool is_same(Place a, Place b) {
  return a.file == b.file && a.line == b.line && a.column == b.column;
}

static Known *find(const Places *p, Place at) {
  for (size_t i = 0; i < p->n; i++) {
    if (is_same(p->list[i].at, at)) {
      return &p->list[i];
    }
  }
  return NULL;
}

static CtStatus keep(Places *p, Place at, Place outer, CtErr *err) {
  Known *known = find(p, at);
  if (known == NULL && p->n < MAX_PLACES) {
    CtStatus status = ct_grow(p->alloc, &p->list, &p->cap, p->n + 1, sizeof *p->list, err);
    if (status != CT_OK) {
      return status;
    }
    known = &p->list[p->n++];
  }
  if (known != NULL) {
    *known = (Known){at, outer};
  }
  return CT_OK;
}

/* A line that begins a place, without its newline. */
static CtStatus put_place(Places *p, const char *line, CtText *out, CtErr *err) {
  Place at, call;
  const char *inlined = strstr(line, "inlined_at ");
  if (sscanf(line, " .loc %9d %9d %9d", &at.file, &at.line, &at.column) != 3) {
    ct_text_puts(out, line);
    return CT_OK;
  }
  Place outer = at;
  if (inlined != NULL &&
      sscanf(inlined, "inlined_at %9d %9d %9d", &call.file, &call.line, &call.column) == 3) {
    const Known *known = find(p, call);
    outer = known == NULL ? call : known->outer;
  }
  ct_text_printf(out, "\t.loc\t%d %d %d", outer.file, outer.line, outer.column);
  return keep(p, at, outer, err);
}

CtStatus ct_ptx_outer_lines(const char *ptx, CtText *out, CtErr *err) {
  Places p = {.alloc = out->alloc};
  CtStatus status = CT_OK;
  for (const char *s = ptx; *s != '\0' && status == CT_OK;) {
    char line[MAX_LINE];
    size_t n = strcspn(s, "\n"), blanks = strspn(s, " \t");
    if (n < sizeof line && strncmp(s + blanks, ".loc", 4) == 0) {
      memcpy(line, s, n);
      line[n] = '\0';
      status = put_place(&p, line, out, err);
    } else {
      ct_text_add(out, s, n);
    }
    s += n;
    if (*s == '\n') {
      ct_text_putc(out, '\n');
      s++;
    }
  }
  ct_free(p.alloc, p.list, p.cap * sizeof *p.list);
  return status == CT_OK ? ct_text_status(out, err) : status;
}
