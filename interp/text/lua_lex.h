/* lua_lex.h: the lexer of Lua 5.4: text to an array of tokens. Every token knows where it stands,
   so that a rewriter can copy, replace or drop exactly it. Names are interned: two names are equal
   when their LxSym pointers are. Accepts exactly the tokens that Lua 5.4 accepts. */
#ifndef CT_LUA_LEX_H
#define CT_LUA_LEX_H

#include "runtime/base/arena.h"

typedef enum LxKind {
#define LX_WORD(id, text) LX_##id,
#define LX_MARK(id, text) LX_##id,
#include "lua_tokens.def"
  LX_NAME,
  LX_NUMBER,
  LX_STRING,
  LX_EOF,
  LX_KIND_COUNT
} LxKind;

struct LpVar;

typedef struct LxSym { /* an interned name, or a reserved word */
  const char *s;       /* NUL-terminated */
  LxKind kind;         /* LX_NAME, or the word's */
  uint32_t len;
  uint32_t hash;
  struct LxSym *next; /* in its hash chain */
  struct LpVar *var;  /* the parser's: innermost visible local of this name, or NULL */
} LxSym;

typedef struct LxToken {
  LxKind kind;
  int line;       /* on which it ends, as Lua counts */
  uint32_t start; /* offset in the text */
  uint32_t end;   /* offset just after it */
  LxSym *sym;     /* of a name; else NULL */
} LxToken;

typedef struct LxTokens {
  const char *text;
  size_t len;
  const char *chunk; /* its name, for errors */
  LxToken *toks;     /* the last one is LX_EOF */
  size_t n, cap;
  LxSym **buckets; /* hash table of names, a power of two long */
  size_t n_buckets;
  size_t n_syms;
} LxTokens;

/* The one LxSym of a word, made in `arena` (that of lx_run) if new; NULL when out of memory. */
LxSym *lx_intern(CtArena *arena, LxTokens *t, const char *s, size_t len);

/* Cuts `text` into tokens; names live in `arena`, the rest until lx_clear. text must live as long.
   A text of 1 GiB or more is refused. Errors: CT_EINVAL with the line; then *out holds nothing. */
CtStatus lx_run(CtArena *arena, const char *text, size_t len, const char *chunk, LxTokens *out,
                CtErr *err) CT_NODISCARD;
void lx_clear(LxTokens *t, CtAlloc alloc);

/* How a token kind reads, for messages: "'end'", "<name>". */
const char *lx_kind_text(LxKind kind);

/* Appends to buf (of at least len bytes) the value of the string literal s[0..len); returns its
   length. The literal must be one that lx_run accepted. */
size_t lx_string_value(const char *s, size_t len, char *buf);

#endif
