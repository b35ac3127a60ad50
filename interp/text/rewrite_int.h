/* rewrite_int.h: what the stages of the rewriter share. rewrite_scope.c analyses functions (which
   jumps leave what, which names must be promoted where); rewrite_exp.c and rewrite_stat.c write the
   new text; rewrite.c finds functions and puts the wrapper around. */
#ifndef CT_REWRITE_INT_H
#define CT_REWRITE_INT_H

#include "lua_parse.h"
#include "rewrite.h"

/* What the analysis knows of a statement. A *construct* is an if or a loop. */
typedef struct RwStat {
  LpVar **set; /* of a construct: the locals it promotes, in order of declaration */
  uint32_t n_set;
  uint32_t number; /* of a loop or label: names what is generated for it; from 1 */
  bool leaves;     /* a jump in it leads out of it: after it the region may be dead */
  bool has_break;  /* of a loop */
  bool has_region; /* of a label: forward gotos to it, from statement `start` of its block on */
  uint32_t start;
  size_t target; /* scratch: 1 + its number as a target of jumps */
  bool plain;    /* of a goto: it can only be a jump of Lua: backward, or into such code */
} RwStat;

typedef struct RwBlock {
  LpStat **regions; /* labels of the block with a region, in order */
  uint32_t n_regions;
  uint32_t number; /* of its end label and its here() */
  bool has_end;    /* something jumps to its end when dead */
  bool has_here;   /* something jumps back to one of its labels */
} RwBlock;

typedef struct RwFunc {
  bool returns_inside; /* some return stands inside a construct or a goto region */
} RwFunc;

struct RwChunk {
  LpChunk lp;
  CtAlloc alloc;
  LpFunc **funcs; /* by number */
  RwFunction *infos;
  uint32_t n_numbers; /* numbers given to labels, blocks and renamed locals */
  char prefix[16];    /* no name of the text contains it */
  bool notes_reads;
};

/* The writer of a wrapper: a cursor in the source, text written so far. */
typedef struct Rw {
  RwChunk *c;
  const LpFunc *root; /* the function being rewritten; names of functions outside are the host's */
  const LpFunc *func; /* the innermost function that is being written */
  RwKind kind;
  CtText *out;
  size_t cursor; /* the source up to here is written or dropped */
  bool used[RW_FN_COUNT];
  bool in_table;
  const char **globals; /* names of globals that were read, of the chunk's symbols; each once */
  size_t n_globals, cap_globals;
  CtStatus status; /* the first failure */
  CtErr *err;
} Rw;

/* rewrite_scope.c: analyses `root` and all functions in it, once. */
CtStatus rw_analyse(RwChunk *c, const LpFunc *root, CtErr *err) CT_NODISCARD;

/* The label of the innermost goto region of its block that s stands in, or NULL. */
const LpStat *rw_region_of(const LpStat *s);

/* Whether v belongs to the host: to a function around the one being rewritten. */
static inline bool rw_is_host(const Rw *w, const LpVar *v) {
  return v->func->number < w->root->number;
}

/* rewrite_exp.c: the cursor. Tokens are written in order, each copied, replaced or dropped; line
   ends are always kept. */
void rw_before(Rw *w, LpTok t);     /* copies the source up to token t */
void rw_after(Rw *w, LpTok t);      /* copies the source through token t */
void rw_drop(Rw *w, LpTok t);       /* copies up to t, drops t */
void rw_skip(Rw *w, LpTok t);       /* drops the source up to token t */
void rw_puts(Rw *w, const char *s); /* a blank before it where two words would meet */
void rw_glue(Rw *w, const char *s); /* as it is */

/* Writes a template: its text, with blanks as rw_puts sets them, and in place of
     @    the chunk's prefix, which the text or number that follows is glued to
     %f   RwFn: the name of a runtime function and '('
     %n   unsigned: glued
     %s   const char *: a text      %q  the same in quotes
     %v   const LpVar *: its name, as it is called now
     %e   LpExp *: the expression   %1  cut to one value   %l  a list of them, or NULL
     %d   const LpExp *: how Lua's messages call it: a string literal, or nil
     %k   const LpExp *: the `[k]` or `.x` of it as `, k` or `, "x"`
     %x   LpTok: copies the source up to the token, and drops it
     %<   LpTok: copies the source up to the token, without it      %>  through it */
void rw_write(Rw *w, const char *template, ...);

void rw_declare(Rw *w, const LpVar *v); /* copies up to its declaration and writes its name */
void rw_exp(Rw *w, LpExp *e);
void rw_explist(Rw *w, LpExp *e);

/* rewrite_stat.c: the parameters, body and end of a function; the cursor is before its '('. */
void rw_function_body(Rw *w, const LpFunc *f);

#endif
