/* emit_line.c: lines of the text, failures, and the functions of emit_prelude.def that the text
   requests. Every file that writes text uses this one; it knows nothing about operations. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

typedef struct Helper {
  const char *head, *fn, *rest;
} Helper;

static const Helper helpers[CT_HELP_COUNT] = {
#define X(NAME, head, fn, rest) {head, fn, rest},
#include "emit_prelude.def"
#undef X
};

void ct_emit_fail(CtEmit *e, CtLoc loc, CtStatus status, const char *fmt, ...) {
  char msg[sizeof((CtErr *)0)->msg];
  va_list args;
  if (e->status != CT_OK) {
    return;
  }
  va_start(args, fmt);
  vsnprintf(msg, sizeof msg, fmt, args);
  va_end(args);
  e->status = status == CT_ENOMEM ? ct_fail_nomem(e->err) : ct_fail(e->err, status, "%s", msg);
  if (e->err != NULL && status != CT_ENOMEM) {
    ct_err_at(e->err, ct_ir_chunk(e->ir, loc), loc.line);
  }
}

static bool is_own(CtHelper helper) { return strncmp(helpers[helper].fn, "ct_", 3) == 0; }

/* A function of runtime/math needs those that its text calls. They come before it. */
static void help_callees(CtEmit *e, CtHelper helper) {
  for (int i = 0; i < (int)helper; i++) {
    const char *call = is_own((CtHelper)i) ? strstr(helpers[helper].rest, helpers[i].fn) : NULL;
    if (call != NULL && call[strlen(helpers[i].fn)] == '(') {
      (void)ct_emit_help(e, (CtHelper)i);
    }
  }
}

const char *ct_emit_help(CtEmit *e, CtHelper helper) {
  if (!e->helps[helper] && is_own(helper)) {
    help_callees(e, helper);
  }
  e->helps[helper] = true;
  return helpers[helper].fn;
}

/* Writes a function that begins at `from` of the text, unless the file has it already. */
void ct_emit_keep_new(CtText *known, CtText *out, size_t from) {
  if (known == NULL || out->len == from) {
    return;
  }
  if (strstr(ct_text_str(known), out->s + from) != NULL) {
    out->len = from;
    out->s[from] = '\0';
  } else {
    ct_text_puts(known, out->s + from);
    out->failed = out->failed || known->failed;
  }
}

/* The functions that were made for this text, in the order in which they were made. */
static void put_made(CtEmit *e, CtText *out, const CtEmitFunction *f, size_t end) {
  if (f == NULL) {
    return;
  }
  put_made(e, out, f->next, f->at);
  size_t from = out->len;
  ct_text_add(out, ct_text_str(&e->functions) + f->at, end - f->at);
  ct_emit_cut_lines(e, out, from);
  ct_emit_keep_new(e->opts.functions, out, from);
}

void ct_emit_put_prelude(CtEmit *e, const char *includes, CtText *out) {
  size_t before = out->len;
  ct_text_puts(out, includes);
  ct_emit_keep_new(e->opts.functions, out, before);
  for (int i = 0; i < CT_HELP_COUNT; i++) {
    if (e->helps[i]) {
      size_t from = out->len;
      ct_text_puts(out, helpers[i].head);
      ct_text_puts(out, helpers[i].fn);
      if (is_own((CtHelper)i)) {
        ct_emit_put_own(out, helpers[i].rest);
      } else if (strchr(helpers[i].rest, '$') != NULL) {
        ct_emit_put_cast(out, helpers[i].fn, helpers[i].rest);
      } else {
        ct_text_puts(out, helpers[i].rest);
      }
      ct_emit_cut_lines(e, out, from);
      ct_emit_keep_new(e->opts.functions, out, from);
    }
  }
  put_made(e, out, e->made, e->functions.len);
  ct_text_puts(out, out->len > before ? "\n" : "");
}

bool ct_emit_is_new_function(CtEmit *e, const char *name) {
  for (const CtEmitFunction *f = e->made; f != NULL; f = f->next) {
    if (strcmp(f->name, name) == 0) {
      return false;
    }
  }
  CtEmitFunction *f = ct_arena_alloc(&e->arena, sizeof *f);
  char *own = ct_arena_strdup(&e->arena, name, strlen(name));
  if (f == NULL || own == NULL) {
    e->functions.failed = true;
    return false;
  }
  *f = (CtEmitFunction){e->made, own, e->functions.len};
  e->made = f;
  return true;
}

/* A script's name inside a string literal or a comment. A literal gets no quotes and no
   backslashes: NVRTC copies it into its PTX unchanged, and the assembler then cannot read it. */
static void put_chunk(CtEmit *e, CtLoc loc) {
  for (const char *s = ct_ir_chunk(e->ir, loc); *s != '\0'; s++) {
    bool is_quote = *s == '"' || *s == '\\';
    ct_text_putc(&e->body, e->opts.line_directives && is_quote ? '\''
                           : (unsigned char)*s < ' '           ? '?'
                                                               : *s);
  }
}

static bool same_loc(CtLoc a, CtLoc b) { return a.chunk == b.chunk && a.line == b.line; }

/* The place of what belongs to the function as a whole: where it is, or, if it is one of the library, the first
   place of what it does: the script's call. */
static CtLoc place_of(const CtIr *ir) {
  CtLoc first = ir->loc;
  for (CtVal v = 1; v < ir->n_insts; v++) {
    CtLoc loc = ct_inst(ir, v)->loc;
    if (loc.line == 0 || same_loc(loc, ir->loc)) {
      continue;
    }
    if (loc.chunk == ir->loc.chunk) {
      return ir->loc;
    }
    first = same_loc(first, ir->loc) ? loc : first;
  }
  return first;
}

/* With is_every_line: the place that is meant where `loc` is given. */
static CtLoc every_place(CtEmit *e, CtLoc loc) {
  if (same_loc(loc, e->ir->loc)) {
    e->home = e->home.line > 0 ? e->home : place_of(e->ir);
    loc = e->home;
  }
  e->near = loc.line > 0 ? loc : e->near;
  return e->near;
}

void ct_emit_locate(CtEmit *e, CtLoc loc) {
  loc = e->opts.is_every_line ? every_place(e, loc) : loc;
  if (e->opts.line_directives && loc.line > 0 && !same_loc(loc, e->said)) {
    ct_text_printf(&e->body, "#line %d \"", loc.line);
    put_chunk(e, loc);
    ct_text_puts(&e->body, "\"\n");
    e->said = loc;
  }
}

void ct_emit_begin(CtEmit *e, CtLoc loc) {
  e->loc = loc;
  ct_emit_locate(e, loc);
  e->line = e->body.len;
  ct_text_printf(&e->body, "%*s", 2 * e->depth, "");
}

void ct_emit_end(CtEmit *e) {
  if (e->opts.line_directives) {
    e->said.line++;
  } else if (e->loc.line > 0 && !same_loc(e->loc, e->said)) {
    ct_text_puts(&e->body, "  // ");
    put_chunk(e, e->loc);
    ct_text_printf(&e->body, ":%d", e->loc.line);
    e->said = e->loc;
  }
  if (!e->opts.line_directives && !e->is_foreign) {
    ct_emit_cut_lines(e, &e->body, e->line);
  }
  ct_text_putc(&e->body, '\n');
}

void ct_emit_line(CtEmit *e, CtLoc loc, const char *fmt, ...) {
  char line[512];
  va_list args;
  ct_emit_begin(e, loc);
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  ct_text_puts(&e->body, line);
  ct_emit_end(e);
}

static const CtLoc nowhere = {0, 0};

void ct_emit_open(CtEmit *e) { e->depth++; }

void ct_emit_close(CtEmit *e, size_t mark) {
  e->depth--;
  ct_names_release(&e->names, mark);
  ct_emit_line(e, nowhere, "}");
}

const char *ct_emit_cut(CtEmit *e, size_t mark) {
  size_t len = e->body.len - mark;
  const char *text = ct_arena_strdup(&e->arena, ct_text_str(&e->body) + mark, len);
  if (text == NULL) {
    ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
    text = "";
  }
  if (len > 0) {
    e->body.len = mark;
    e->body.s[mark] = '\0';
  }
  return text;
}
