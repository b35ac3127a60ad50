/* emit.h: what the files of the CUDA C emitter share (emit_*.c); not for others.

   An emission has two steps. The plan (emit_plan.c) numbers the operations in the order of the text
   and decides for each value whether it is written where it is used or declared under a name, which
   pointers the tile operations need, where variables are declared, and how a BREAK is said in C
   (emit_plan_flow.c). Then the text is written.

   Files rest on one another in this order, and none on a later one: lines and names (emit_wrap.c,
   emit_line.c, emit_name.c); values (emit_value.c), conversions (emit_convert.c) and what plan and text both ask of
   an operation (emit_facts.c); expressions (emit_expr.c) and declarations (emit_decl.c); what variants change (emit_variant.c); elements of
   tensors (emit_access.c, emit_swizzle.c, emit_guard.c) and loops over them (emit_each.c,
   emit_products.c); tile operations (emit_copy.c, emit_gemm.c, emit_mma.c, ...), which emit_tile.c
   chooses among; statements (emit_stmt.c); control flow (emit_flow.c); the kernel (emit_cuda.c). A value
   within a value is written by CtEmit.put_operation, so that values need not know expressions. Which
   function writes an operation is a column of ops.def. */
#ifndef CT_EMIT_H
#define CT_EMIT_H

#include "emit_cuda.h"

/* --- names (emit_name.c) ----------------------------------------------------------------------- */

typedef struct CtName CtName;
enum { CT_NAME_BUCKETS = 512 };

/* Identifiers in scope: no two alike, none that C++ or CUDA has taken. */
typedef struct CtNames {
  CtArena *arena;
  CtName *buckets[CT_NAME_BUCKETS];
  CtName **scope; /* in order of declaration */
  size_t n, cap;
  bool failed;
} CtNames;

void ct_names_init(CtNames *names, CtArena *arena);
void ct_names_clear(CtNames *names);
/* A new name, as close to the wanted one as it can be: an identifier, numbered if it is taken. */
const char *ct_names_add(CtNames *names, const char *wanted);
/* The same for what may be an operand of CUDA texts of the script: what they declare must not hide it. */
const char *ct_names_add_operand(CtNames *names, const char *wanted);
void ct_names_hide(CtNames *names, const char *text); /* the words of such a text */
bool ct_names_is_taken(CtNames *names, const char *text);
size_t ct_names_mark(const CtNames *names);
void ct_names_release(CtNames *names, size_t mark); /* the names since the mark can be used again */
/* The name of a function of device_fn, wherever it is written. */
enum { CT_EMIT_FUNCTION_MAX = 2 * CT_EMIT_NAME_MAX };
void ct_emit_function_name(const CtIrFunction *f, const char *suffix,
                           char out[CT_EMIT_FUNCTION_MAX]);

/* --- the plan (emit_plan.c) -------------------------------------------------------------------- */

typedef enum CtPrint {
  CT_PRINT_NOT,    /* its text is not needed */
  CT_PRINT_INLINE, /* where it is used */
  CT_PRINT_NAMED   /* declared where it stands */
} CtPrint;

/* How C says a BREAK. NONE: it needs no text, because control gets to the target anyway. */
typedef enum CtJump {
  CT_JUMP_NONE,
  CT_JUMP_BREAK,
  CT_JUMP_CONTINUE,
  CT_JUMP_RETURN,
  CT_JUMP_GOTO
} CtJump;

/* buf + offset under a name, for tile operations; declared right after the offset's operation. */
typedef struct CtEmitPtr {
  struct CtEmitPtr *next; /* with the same offset */
  struct CtEmitPtr *base; /* a pointer such that this offset is base's + addend */
  CtVal addend;
  uint32_t buf;
  bool is_written;
  const char *wanted; /* the script's name for it, or NULL */
  const char *name;
} CtEmitPtr;

/* What the plan says about one operation. */
typedef struct CtEmitVal {
  uint32_t pos;    /* number in the order of the text, from 1; 0 for a leaf */
  uint32_t end;    /* first number after its regions */
  uint32_t looped; /* the end of the first loop after it in its region; UINT32_MAX: there is none */
  uint32_t n_uses; /* SETs of a VAR; BREAKs of a BLOCK or loop */
  uint32_t at;     /* number of the statement that prints its (last) use */
  uint32_t until;  /* its value is needed up to here */
  uint16_t cost;   /* operations printed within its expression */
  uint8_t print;   /* CtPrint */
  uint8_t use;     /* how often one use may be evaluated, see emit_plan.c */
  uint8_t jump;    /* BREAK: CtJump */
  bool crosses_loop;
  bool is_arm;                 /* one of its uses is evaluated only if some condition holds */
  bool is_initial;             /* a variable of the same name gets this value */
  bool is_whole;               /* the value that a SET assigns: a whole statement */
  bool declares;               /* SET: declares its variable */
  bool has_label;              /* some goto jumps to its end */
  bool absorbs;                /* IF: the rest of its region becomes its else part */
  bool in_extreme;             /* an operand of an i32 MIN or MAX */
  bool is_continued;           /* its name stands for another value later */
  CtVal continues;             /* the value whose name this one takes, or 0 */
  const char *wanted, *suffix; /* a name for it if the script has none, or NULL */
  const char *name, *label;
  CtEmitPtr *ptrs;
  CtVal decls;       /* VARs declared before it, chained by next_decl */
  CtVal next_decl;   /* for a VAR */
  CtRegion home;     /* for a VAR: the innermost region that holds all its uses */
  CtVal first, last; /* for a VAR: its first use and the last one */
} CtEmitVal;

typedef struct CtEmitRegion {
  CtRegion parent;
  CtVal loop; /* innermost FOR or LOOP around its operations, or 0 */
  int depth;
} CtEmitRegion;

/* Binding strengths of C, weakest first. */
typedef enum CtPrec {
  CT_PREC_ANY,
  CT_PREC_COND,
  CT_PREC_LOR,
  CT_PREC_LAND,
  CT_PREC_OR,
  CT_PREC_XOR,
  CT_PREC_AND,
  CT_PREC_EQ,
  CT_PREC_REL,
  CT_PREC_SHIFT,
  CT_PREC_ADD,
  CT_PREC_MUL,
  CT_PREC_UNARY,
  CT_PREC_PRIMARY
} CtPrec;

/* --- the emission ------------------------------------------------------------------------------- */

/* Functions that the text may need, in emit_prelude.def; printed where used. */
typedef enum CtHelper {
#define X(NAME, head, fn, rest) CT_HELP_##NAME,
#include "emit_prelude.def"
#undef X
  CT_HELP_COUNT
} CtHelper;

/* A function made for this text: it wraps the instruction of an atom. */
typedef struct CtEmitFunction {
  const struct CtEmitFunction *next; /* made before it */
  const char *name;
  size_t at; /* where its text begins in CtEmit.functions */
} CtEmitFunction;

typedef struct CtEmit CtEmit;
struct CtEmit {
  const CtIr *ir;
  CtEmitOpts opts;
  /* Writes an operation where it is used: ct_emit_operation. emit_value.c calls it through this
     pointer, so that it does not depend on the files that write expressions. */
  void (*put_operation)(CtEmit *e, CtVal v, CtPrec min);
  CtArena arena;
  CtStatus status; /* of the first failure, which *err describes */
  CtErr *err;
  CtEmitVal *vals;       /* by value number */
  CtEmitRegion *regions; /* by region */
  CtVal *order;          /* operation by position */
  uint32_t n_order;
  const char **buf_names, **slot_names, **map_names;
  bool *buf_used;
  const char *fault; /* the parameter that records failed assertions; NULL if the kernel has none */
  const char *grid_word; /* the parameter for GRID_BARRIER: a word that the launch sets to 0 */
  /* the parameters for printf records; NULL if the kernel prints nothing */
  const char *print_log, *first_print;
  /* the array that marks are recorded in, and the thread's place in it; NULL: there are none */
  const char *marks, *marks_of_thread;
  const char *warp_mask; /* text: the mask of the lanes that the warp has */
  CtNames names;
  CtText body;
  /* It maps other blocks' shared memory and arrives at their mbarriers, which then order accesses of the cluster; a wait
     of the cluster's scope empties the L1 cache. */
  bool reaches;
  bool has_async; /* cp.async or CUDA text of the script: fences and waits have an effect */
  bool helps[CT_HELP_COUNT];
  CtText functions; /* printed after the helpers */
  const CtEmitFunction *made;
  /* from emit_wgmma_wait.c; made when the first wgmma operation asks */
  const struct CtEmitHolds *holds;
  struct CtEmitEach *each; /* emit_each.c: of the operation that is being written, and a copy */
  int marked_line;         /* the last one that got a mark */
  int depth;
  size_t line;     /* where the one that is being written begins in the body */
  bool is_foreign; /* it is the script's own CUDA text, which stays as it is */
  int n_labels;
  CtLoc loc; /* of the line being written */
  /* with directives: the place that the compiler assumes for the next line; with comments: the last
     one written */
  CtLoc said;
  CtLoc near, home; /* with is_every_line: of the last line that has a place; of the function */
};

void ct_emit_fail(CtEmit *e, CtLoc loc, CtStatus status, const char *fmt, ...) CT_PRINTF(4, 5);
void ct_emit_put_own(CtText *out, const char *text); /* a function of runtime/math */
/* a cast whose text has words after $ */
void ct_emit_put_cast(CtText *out, const char *fn, const char *text);
const char *ct_emit_help(CtEmit *e, CtHelper helper); /* requests the helper; returns its name */
/* prints the includes, and the helpers that were requested */
void ct_emit_put_prelude(CtEmit *e, const char *includes, CtText *out);

/* Arrays in constant memory, before the kernel of that name (emit_constant.c). */
void ct_emit_constants(CtEmit *e, const char *kernel);
/* Is the memory declared outside of the kernel's body? */
static inline bool ct_emit_is_outside(const CtBuf *buf) {
  return (buf->space == CT_GLOBAL || buf->space == CT_CONSTANT) && buf->alias_of == 0;
}

/* Drops the text from `from` on if `known` has it, else adds it there; known NULL: nothing happens. */
void ct_emit_keep_new(CtText *known, CtText *out, size_t from);

/* True the first time that a function is requested: the caller then appends its text to
   e->functions. */
bool ct_emit_is_new_function(CtEmit *e, const char *name);

/* Removes the text written since the body was `mark` long, and returns it. */
const char *ct_emit_cut(CtEmit *e, size_t mark);

/* emit_wrap.c: cuts the long lines that the text has from `from` on. */
void ct_emit_cut_lines(CtEmit *e, CtText *out, size_t from);

/* Lines. Between begin and end the text of the line is appended to e->body. */
void ct_emit_locate(CtEmit *e,
                    CtLoc loc); /* what comes next is of there: a directive, if need be */
void ct_emit_begin(CtEmit *e, CtLoc loc);
void ct_emit_end(CtEmit *e);
void ct_emit_line(CtEmit *e, CtLoc loc, const char *fmt, ...) CT_PRINTF(3, 4);
void ct_emit_open(CtEmit *e); /* one level deeper, in a new scope; ct_emit_close goes back */
void ct_emit_close(CtEmit *e, size_t mark);

void ct_emit_plan(CtEmit *e);
/* The text uses the buffer. */
static inline void ct_emit_use_buf(CtEmit *e, uint32_t buf) {
  e->buf_used[buf] = true;
  e->buf_used[ct_ir_memory(e->ir, buf)] = true;
  if (e->ir->bufs[buf].space == CT_TENSOR) {
    e->buf_used[e->ir->bufs[buf].address] = true;
  }
}
static inline bool ct_emit_is_value(CtOp op) {
  return ct_ops[op].cls == CT_CLS_PURE || ct_ops[op].cls == CT_CLS_READ;
}
/* emit_plan_pointer.c, once the operations are numbered. */
void ct_emit_plan_pointers(CtEmit *e);
/* emit_plan_continued.c, once it is known what is written where. */
void ct_emit_plan_continued(CtEmit *e);
/* emit_plan_flow.c. Jumps come first: the scopes of variables depend on them. */
void ct_emit_plan_jumps(CtEmit *e);
void ct_emit_plan_vars(CtEmit *e);
/* The innermost loop around an operation, or 0. */
static inline CtVal ct_emit_loop_of(const CtEmit *e, CtVal v) {
  return e->regions[ct_inst(e->ir, v)->region].loop;
}

/* --- what plan and text both ask of an operation (emit_facts.c) -------------------------------- */

/* True if the value's range shows that an integer result did not wrap around. */
bool ct_emit_is_exact(const CtIr *ir, CtVal v);
/* For integers: C's division is the language's if neither operand is negative. Neither language
   defines the quotient by 0. */
bool ct_emit_is_plain_division(const CtIr *ir, const CtInst *inst);
/* A division by a constant power of two whose dividend may be negative: floor division is then the
   arithmetic shift, and the modulo is a mask. */
bool ct_emit_is_bit_division(const CtIr *ir, const CtInst *inst);
static inline bool ct_emit_is_leaf(const CtIr *ir, CtVal v) {
  return ct_ops[ct_inst(ir, v)->op].cls == CT_CLS_LEAF;
}
/* A name that tells what a value is for, if neither the script nor its operation names it. The first use in
   the text decides, and it comes last here. */
static inline void ct_emit_want(CtEmit *e, CtVal v, const char *name, const char *suffix) {
  if (name != NULL && !ct_emit_is_leaf(e->ir, v)) {
    e->vals[v].wanted = name;
    e->vals[v].suffix = suffix;
  }
}
/* A value of other lanes: an operation with an effect on the warp that reads as an expression. */
bool ct_emit_is_exchange(const CtInst *inst);
/* The pointer for buf + v, or NULL. */
CtEmitPtr *ct_emit_find_ptr(const CtEmit *e, uint32_t buf, CtVal v);
/* A view's offset without its constant part, which goes to *plus; 0 if nothing is left. */
CtVal ct_emit_split_offset(const CtIr *ir, CtInt offset, int64_t *plus);
/* How an offset is written in units of 16 bytes, `per` elements each, which is how descriptors of
   wgmma count: sums and products by a constant, without a division. */
enum { CT_EMIT_UNIT_BITS = 128 };
typedef enum CtEmitUnits { CT_UNITS_WHOLE, CT_UNITS_SUM, CT_UNITS_PRODUCT } CtEmitUnits;
CtEmitUnits ct_emit_units(const CtIr *ir, CtVal v, int64_t per, int *left);
/* The offset of a swizzled view as a sum of parts. `after` and `plus` stay outside the swizzle:
   constants, and values that are multiples of its period, such as the offsets of tiles of a
   pipeline. `turns`, or 0, is what a loop adds that the compiler unrolls; it shares no bit with the
   rest, `own`. */
enum { CT_EMIT_MAX_PULLED = 4 };
typedef struct CtEmitPulled {
  CtVal turns;
  uint64_t own_bits, turns_bits; /* the bits that may be set in them */
  int64_t plus;
  int n_own, n_after;
  CtVal own[CT_EMIT_MAX_PULLED], after[CT_EMIT_MAX_PULLED];
} CtEmitPulled;
void ct_emit_pull(const CtIr *ir, CtSwizzle sw, CtVal offset, CtEmitPulled *out);
/* What a FOR's counter is: the index itself; the index in 64 bits, if the last step may pass the
   end of int; or a count of iterations, if the direction is unknown or no type is wide enough. */
typedef enum CtForForm { CT_FOR_PLAIN, CT_FOR_WIDE, CT_FOR_COUNTED } CtForForm;
CtForForm ct_emit_for_form(const CtIr *ir, const CtInst *loop);

/* --- values (emit_value.c) ---------------------------------------------------------------------- */

/* emit_expr.c: an operation's text, by its row of ops.def. */
void ct_emit_operation(CtEmit *e, CtVal v, CtPrec min);
/* Appends the expression, in parentheses if it binds weaker than `min`. */
void ct_emit_expr(CtEmit *e, CtVal v, CtPrec min);
/* Text with values: %v a CtVal as a whole, %c as an argument, %l, %h, %m, %u as an operand of ||, <<, * and -;
   %s a string, %d an int, %D an int64_t, %x an unsigned in hexadecimal, %% a percent sign. */
void ct_emit_put(CtEmit *e, const char *format, ...);
void ct_emit_say(CtEmit *e, CtLoc loc, const char *format, ...); /* as a line */
/* buf[index] */
void ct_emit_place(CtEmit *e, uint32_t buf, CtVal index);
void ct_emit_not(CtEmit *e, CtVal v); /* its negation, as a whole condition */
void ct_emit_int(CtEmit *e, CtDtype type, int64_t v);
void ct_emit_float(CtText *out, CtDtype type, double v);

/* --- conversions (emit_convert.c) ----------------------------------------------------------------- */

/* What a cast writes around its operand. */
typedef struct CtEmitWrap {
  char open[48];
  const char *close;
  CtPrec inner; /* how weakly the operand may bind, if open is not "" */
} CtEmitWrap;

CtEmitWrap ct_emit_wrap(CtEmit *e, CtDtype to, CtDtype from); /* `to` is not bool */
void ct_emit_cast(CtEmit *e, CtVal v, CtPrec min);
void ct_emit_bitcast(CtEmit *e, CtVal v, CtPrec min);

void ct_emit_tile(CtEmit *e, CtVal v);
/* Statements of their own, each in its file. */
void ct_emit_escape(CtEmit *e, CtVal v); /* emit_escape.c: cuda[[...]] */
/* emit_ptx.c: ptx(...); its results have names. */
void ct_emit_ptx(CtEmit *e, const CtInst *inst);
void ct_emit_printf(CtEmit *e, CtVal v); /* emit_message.c */
void ct_emit_assert(CtEmit *e, CtVal v);
void ct_emit_tma(CtEmit *e, CtVal v); /* emit_tma.c */
void ct_emit_tma_send(CtEmit *e, CtVal v);
void ct_emit_try_cancel(CtEmit *e, CtVal v);
void ct_emit_wgmma_holds(CtEmit *e, CtVal v); /* emit_wgmma_wait.c: for a fence or a wait */
/* emit_mark.c: what a kernel with marks records; nothing without. */
void ct_emit_declare_marks(CtEmit *e, const char *kernel); /* before the kernel */
void ct_emit_begin_marks(CtEmit *e);                       /* at its top, */
void ct_emit_end_marks(CtEmit *e);                         /* and at its end */
void ct_emit_mark(CtEmit *e, CtVal v);
void ct_emit_mark_around(CtEmit *e, CtVal v, CtMarkKind kind);
void ct_emit_mark_line(CtEmit *e, CtVal v);
/* emit_warp.c: shuffles, votes and atomic operations as expressions. */
void ct_emit_declare_warp(CtEmit *e); /* what they need at the top of the kernel */
void ct_emit_shuffle(CtEmit *e, const CtInst *inst);
void ct_emit_vote(CtEmit *e, const CtInst *inst);
void ct_emit_masked(CtEmit *e, const CtInst *inst);
/* CUDA's function, and the types (1 << CtDtype) that it takes as words that hold their bits. */
typedef struct CtEmitAtomic {
  const char *name;
  unsigned by_word;
} CtEmitAtomic;
void ct_emit_atomic(CtEmit *e, const CtInst *inst, const CtEmitAtomic *a);
/* emit_tma.c */
void ct_emit_name_maps(CtEmit *e);
void ct_emit_prefetch_maps(CtEmit *e);
/* Returns the separator to write before the parameters that follow. */
const char *ct_emit_put_maps(CtEmit *e, const char *sep);

/* --- accesses (emit_cache.c) --------------------------------------------------------------------- */

/* The function that loads or stores through the buffer with its hint for caches; NULL: a plain
   access. */
const char *ct_emit_loader(CtEmit *e, const CtBuf *buf);
const char *ct_emit_storer(CtEmit *e, const CtBuf *buf);
/* The function that makes the policy for boxes of TMA, or NULL. */
const char *ct_emit_policy(CtEmit *e, CtCacheHint cache);
/* The element at a place of a buffer, with that hint. */
void ct_emit_load(CtEmit *e, uint32_t buf, CtVal place);
void ct_emit_store(CtEmit *e, CtLoc loc, uint32_t buf, CtVal place, CtVal value);

/* --- variants (emit_variant.c) ------------------------------------------------------------------- */

bool ct_emit_has_setmaxnreg(const CtIr *ir);
void ct_emit_check_emission(CtEmit *e); /* are the limits of registers possible? */
/* How often a FOR is unrolled, as its imm says it. */
int64_t ct_emit_unroll(const CtEmit *e, const CtInst *loop);
void ct_emit_order_arrays(CtEmit *e, uint32_t *ids, size_t n); /* buffers that are declared */
bool ct_emit_is_pinned(const CtEmit *e, CtVal v);
void ct_emit_pin(CtEmit *e, CtVal v, const char *name); /* after its declaration */

/* --- declarations (emit_decl.c) ------------------------------------------------------------------- */

static inline const char *ct_emit_type_of(const CtIr *ir, CtVal v) {
  return ct_dtypes[ct_inst(ir, v)->type].cuda;
}
const char *ct_emit_new_name(CtEmit *e, CtVal v); /* for a value, in use from now on */
const char *ct_emit_new_var_name(CtEmit *e, CtVal var);
/* name = value; or name += x; if the value is name + x. */
void ct_emit_assign(CtEmit *e, CtLoc loc, const char *name, CtVal value, bool is_update);
void ct_emit_declare_value(CtEmit *e, CtVal v);
void ct_emit_declare_vars(CtEmit *e, CtVal v); /* the variables that the plan declares before v */
/* the planned pointers whose offset is v */
void ct_emit_declare_pointers(CtEmit *e, CtVal v, CtLoc loc);

/* --- statements (emit_stmt.c, emit_flow.c) -------------------------------------------------------- */

void ct_emit_effect(CtEmit *e, CtVal v);                      /* one operation with an effect */
bool ct_emit_is_dropped(const CtEmit *e, const CtInst *inst); /* leaves no text here */
/* the statements of the whole kernel */
void ct_emit_statements(CtEmit *e);

/* emit_tcgen05.c: tensor memory. */
/* A helper of tensor memory, or in a kernel whose products are of two blocks its twin. */
CtHelper ct_emit_of_pair(const CtEmit *e, CtHelper own);
void ct_emit_tmem_alloc(CtEmit *e, CtVal v);
void ct_emit_tmem_dealloc(CtEmit *e, CtVal v);
/* Elements in what tiles of products move by: 16 bytes of shared memory, a column of tensor memory. */
int64_t ct_emit_unit(const CtBuf *buf);

#endif
