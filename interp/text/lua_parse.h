/* lua_parse.h: the syntax tree of a Lua 5.4 chunk with every name resolved to its declaration and
   every jump to its target. Nodes point into the token array (first and last token), so the source
   text of each is at hand. Accepts what Lua 5.4 accepts, with its limits on nesting, locals and
   upvalues. A tree lives in one arena and holds no text of its own. */
#ifndef CT_LUA_PARSE_H
#define CT_LUA_PARSE_H

#include "lua_lex.h"

typedef uint32_t LpTok; /* index of a token */
typedef struct LpVar LpVar;
typedef struct LpExp LpExp;
typedef struct LpStat LpStat;
typedef struct LpBlock LpBlock;
typedef struct LpFunc LpFunc;

typedef enum LpAttrib { LP_PLAIN, LP_CONST, LP_CLOSE } LpAttrib;
typedef enum LpRole { LP_LOCAL, LP_PARAM, LP_LOOP } LpRole; /* what declares it */

struct LpVar { /* a local variable */
  LxSym *sym;
  LpFunc *func;
  LpVar *next;   /* in its function, in order of declaration */
  LpVar *outer;  /* the local of the same name that it hides, or NULL */
  LpVar *hiders; /* locals of its function that hide it directly, through next_hider */
  LpVar *next_hider;
  LpTok tok;      /* its name where it is declared; LP_NO_TOK for self */
  LpTok from, to; /* tokens in which it is visible: from <= t < to */
  uint32_t index; /* in its function */
  LpAttrib attrib;
  LpRole role;
  LpExp *init;      /* of a <const> whose initialiser is a constant: it has no upvalue. Else NULL */
  bool inner_write; /* an inner function assigns it */
  bool is_mutable;  /* rewrite: may hold a variable or a box */
  uint32_t rename;  /* rewrite: 0, or the number of its new name */
};
#define LP_NO_TOK UINT32_MAX

typedef enum LpExpKind {
  LP_NIL,
  LP_TRUE,
  LP_FALSE,
  LP_NUMBER,
  LP_STRING,
  LP_VARARG,
  LP_FUNCTION, /* func */
  LP_NAME,     /* var, or NULL for a global */
  LP_INDEX,    /* a[b] */
  LP_FIELD,    /* a.name: op is the '.', last the name */
  LP_CALL,     /* a(list): op is the first token of the arguments */
  LP_METHOD,   /* a:name(list): op is the ':' */
  LP_TABLE,    /* list: all key and value expressions in order of the text */
  LP_UNARY,    /* op a */
  LP_BINARY,   /* a op b */
  LP_PAREN     /* (a) */
} LpExpKind;

struct LpExp {
  LpExpKind kind;
  LpTok tok, last, op; /* first and last token; that of the operator */
  LpExp *a, *b;
  LpExp *list; /* arguments, table items */
  LpExp *next; /* in a list */
  LpExp *up;   /* scratch: the expression whose left operand this is */
  LpVar *var;
  LpVar *env; /* of a global: the local _ENV whose field it is; NULL: the chunk's */
  LpFunc *func;
  bool is_const; /* made of literals, operators and constant <const> locals only */
  bool is_item;  /* in a table: a value without a key */
};

typedef enum LpStatKind {
  LP_EMPTY,
  LP_DECL,      /* local vars = exps */
  LP_LOCALFUNC, /* local function var exps */
  LP_ASSIGN,    /* targets = exps */
  LP_CALLSTAT,  /* exps */
  LP_DO,        /* body */
  LP_WHILE,     /* exps, body */
  LP_REPEAT,    /* body, exps */
  LP_IF,        /* arms; else_body or NULL */
  LP_FORNUM,    /* vars, exps, body */
  LP_FORIN,     /* vars, exps, body */
  LP_FUNCSTAT,  /* function targets exps: the name is an expression, o:m an LP_METHOD */
  LP_RETURN,    /* exps */
  LP_BREAK,     /* target: the loop */
  LP_GOTO,      /* target: the label */
  LP_LABEL      /* sym */
} LpStatKind;

typedef struct LpArm { /* of an if */
  struct LpArm *next;
  LpTok tok;  /* 'if' or 'elseif' */
  LpTok then; /* 'then' */
  LpExp *cond;
  LpBlock *body;
} LpArm;

struct LpStat {
  LpStatKind kind;
  LpTok tok, last;
  LpTok mid; /* 'do' of while and for, '=' or 'in' of for, 'until', '=' of an assignment */
  LpStat *next;
  LpBlock *block; /* that it stands in */
  uint32_t index; /* in its block */
  LpVar *vars;    /* the first that it declares; the others follow through next */
  uint32_t n_vars;
  LpExp *targets, *exps;
  LpBlock *body, *else_body;
  LpArm *arms;
  LpStat *target;
  LxSym *sym;
  struct RwStat *rw; /* rewrite: what the analysis found, or NULL */
};

struct LpBlock {
  LpStat *first, *last;
  uint32_t n;
  LpStat *owner; /* NULL for a function's body */
  LpFunc *func;
  LpTok from, to; /* first token after the opener; the token that closes it */
  struct RwBlock *rw;
};

typedef struct LpUpvalue {
  struct LpUpvalue *next;
  LpVar *var; /* NULL for the chunk's _ENV */
} LpUpvalue;

struct LpFunc {
  LpFunc *parent; /* NULL for the chunk itself */
  LpFunc *next;   /* of the chunk, in order of number */
  uint32_t number;
  LpTok tok;              /* 'function' */
  LpTok open, close, end; /* '(' and ')' of the parameters, 'end' */
  LpVar *vars;            /* all, parameters (with self) first */
  uint32_t n_vars, n_params;
  bool is_vararg, is_method;
  LpBlock *body;
  LpUpvalue *upvalues;
  const char *name; /* as written, or NULL */
  struct RwFunc *rw;
};

typedef struct LpChunk {
  LxTokens lx;
  CtArena arena;
  LpFunc *funcs; /* number 0 is the chunk */
  uint32_t n_funcs;
  LxSym *env; /* the name _ENV, if the text has it; the chunk's own is no local */
} LpChunk;

/* Parses into *c, which lp_clear frees (on failure it holds nothing). text and name must stay
   alive. */
CtStatus lp_parse(CtAlloc alloc, const char *text, size_t len, const char *name, LpChunk *c,
                  CtErr *err) CT_NODISCARD;
void lp_clear(LpChunk *c);

static inline const LxToken *lp_token(const LpChunk *c, LpTok t) { return &c->lx.toks[t]; }
static inline int lp_line(const LpChunk *c, LpTok t) { return c->lx.toks[t].line; }

/* A call or `...`: an expression that may give any number of values. */
static inline bool lp_is_multi(const LpExp *e) {
  return e->kind == LP_CALL || e->kind == LP_METHOD || e->kind == LP_VARARG;
}

static inline bool lp_is_loop(const LpStat *s) {
  return s->kind == LP_WHILE || s->kind == LP_REPEAT || s->kind == LP_FORNUM || s->kind == LP_FORIN;
}

#endif
