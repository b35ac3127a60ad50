/* rewrite.h: plain Lua source in, traceable Lua source out. Given the text of a chunk and one of its
   functions, writes a *wrapper chunk* whose function does what the original does, with every piece
   of control flow, comparison, logic, call, index and assignment routed through *runtime
   functions*. Under a runtime in which every value is static the wrapper's function behaves as the
   original; under the tracing runtime (front.c) it records a kernel. This module is text to text: it
   knows no lua_State, runs nothing, and keeps every line where it was.

   The wrapper is
     local <prefix>if, <prefix>r, ... = ...        the runtime functions that it uses
     local <upvalue names>                          to be joined, by name, with the original's
     return function(<parameters>) ... end          on the original's lines
   so: load it, call it with the runtime functions of RwInfo.fns in that order (or, when
   RwInfo.in_table, with one table of all of them by name), and for each upvalue of the result whose
   name is an upvalue of the original, lua_upvaluejoin. Outer <const> locals with constant
   initialisers are copied, since Lua gives them no upvalue. The prefix occurs nowhere in the chunk.

   # The contract of the runtime functions
   "static" below: an ordinary Lua value; "run-time": a value that the kernel computes. A function
   must treat a missing argument as nil and ignore surplus ones. It raises errors at the position of
   its caller (level 1), since lua_compare, lua_gettable and lua_call add none. Where no trace is
   active (a converted function called later on the host) everything is static. `desc` is what Lua's own messages
   put in parentheses, e.g. "local 't'", "global 'f'", "field 'x'", "upvalue 'n'", or nil.

   ## Frames
   The state of a trace is a stack of frames *per coroutine*: func, arm, rloop (loop of the kernel),
   sloop (loop that runs while tracing), mark (region of a forward goto), logic (right side of
   and/or). All but logic are ended by a to-be-closed value: the fourth value of a generic for, or a
   `local x <close>`; a static one that needs nothing to be done may be nil. So they end on every way
   out: end, break, goto, return, error, coroutine.close. Closing a frame drops all frames above it (logic frames
   of an expression that raised). A frame is *pending* once a run-time exit to it was emitted. The region is *dead* after an emitted exit until the innermost frame that some
   live path can reach: nothing is recorded there; the code here sees to it that nothing is traced
   there, by asking dead().
   "Plain" for a jump means: no run-time arm or logic, no rloop and no pending frame lies between the
   jump and its target. The target itself counts too where it is an rloop (brk), and where results
   were recorded for it already (ret): they must be joined.

   ## Functions
     func(name, is_kernel) -> F    `local _f <close> = func("tree", false)` opens every function.
              name: as written ("o:m") or nil. Checks the depth of recursion. is_kernel only in the
              function that was asked for as RW_KERNEL.
     ret(F, ...) -> boolean        `if ret(F, e...) then return retv(F) end`, for all returns of a
              function that returns from inside a construct. Plain: keep the values, true. Else:
              record them as a result, emit an exit of F, false (dead). A kernel with values: error.
     retv(F) -> ...                the values that ret kept.
     leave(F) -> ...               `return leave(F)`, the fall off the end of such a function: joins the recorded results
              with "no values" if this point is live. Nothing recorded: returns nothing.
     A function without such returns has only func and plain returns: then nothing is pending in F.

   ## If
     if(n, has_else, c) -> iter, state, control, frame
              `for k, q in if(n, has_else, c1) do if q then <promotions> end if k == 1 then .. end end`
              n conditions. The iterator yields k: arm i is 2i - 1, condition i > 1 is 2i - 2, else
              is 2n. After yielding the number of a condition it is told its value by
     ei(c)    on the same frame. Static: yield just the numbers that Lua would visit. Run-time: yield
              the arm, then go on inside an else region with the next number, to the end; n conditions
              nest n regions. Where has_else is false 2n must not be yielded.
              q: nil while the construct is static; once it is run-time the frame (any true value that p
              knows), at least on the first turn of each region. Only there when names need promotion.
              Arms that all end dead leave the enclosing region dead.

   ## Loops
     while() -> iter, state, control, frame          `for q in while() do .. if wc(c) then B end end`
     wc(c) -> boolean              the condition, on the innermost loop frame. Each turn yields false
              (not nil) for a static turn; the IR position is noted first. wc of a static c returns its
              truth, and a false one ends the loop: next call of iter gives nil. wc of a run-time c drops what was recorded
              since, returns false; the next turn opens an rloop and yields a true q (so names are
              promoted), c is evaluated again, wc emits `if (!c) break`, returns true; then iter closes the loop.
     loop(kind) -> iter, state, control, frame       `for q in loop("while") do B end`
              kind "while": `while true`; "repeat". In a trace: one turn, an rloop, q true. Outside: until left.
     until(c)                      end of a repeat body, innermost loop frame: emits `if (c) break`;
              outside a trace a true c makes iter return nil.
     range(name, a, b, s) -> iter, state, control, frame   `for i, q in range("i", a, b, s) do`
              s nil is 1. Static: Lua's numeric for exactly (floats, overflow, messages). Run-time: one turn, i symbolic.
     iter(name, ...) -> iter, state, control, frame  `for k, v, q in iter("k", explist) do`
              Generic for. Static: the (converted) iterator, its state and control; the frame also
              closes the explist's own fourth value. The *iterator's own* values arrive in q when it
              returns more than the loop has names: p must know frames from other values.
              range(), axes() objects: one turn, as above.
     brk() -> boolean              `if brk() then goto _b else goto _e end`. Target: the innermost loop
              frame. Plain: true. Else emit an exit, false (dead).

   ## Goto
     mark(label) -> G              `do local _g <close> = mark("L") ... end ::L::` around the statements that jump
              forward to L. Becomes a block of the IR only if an exit is emitted to it.
     goto(G) -> boolean            `if goto(G) then goto L else goto _e end`; as brk, target G.
     here() -> H                   at the start of a block with labels that are jumped back to.
     back(H, label)                `back(H, "L") goto L`. Error unless no run-time frame and no pending one lies above the point H.
     dead() -> boolean             whether the region is dead.

   ## Variables
     p(q, x, name) -> x            promotion: `x = p(q, x, "x")`, run on entry of a construct that may assign x.
              If q is no frame: x. If x is a variable of the kernel already: x. Else make a variable
              that holds x (or, for tensors, tables, strings, functions: a frozen box), stored *before* the op
              of the construct, declared at the top of the kernel; return it. Stays promoted for good.
     cell(x, name) -> box          `x = cell(x, "x")` after the declaration of a local that an inner
              function assigns. A box that remembers the conditions active at its birth.
     r(x) -> value                 read of a name that may hold a variable or box: a snapshot (load).
     a(x, v) -> x                  `x = a(x, v)`: store v in the variable or box x and return x; if x is neither, return v.
              p may be applied to a box of cell: then the *same box* becomes a variable, so inner functions see it.
     an(spec, ...) -> ...          multiple assignment. spec has a letter for each target, in order, with
              its arguments following in the same order, then the values (fewer: nil; more: ignored):
                i  object, key, desc: object[key] = value, as set
                v  x: returns a(x, value)
                l  (none): returns value
                u  name: returns up(name, value)     g  name: returns gl(name, value)
              All but i return one result each, in order. Done from the last target to the first, as Lua does.
     up(name, v) -> v              a host upvalue is assigned: `x = up("x", v)`.
     gl(name, v) -> v              a global is assigned: `x = gl("x", v)`.
     close(v, name)                after `local v <close> = ...`: error under a run-time condition.

   ## Expressions
     andb(a) -> a', ande(v) -> v   `a and b` is `ande(andb(a) and b)`. orb, ore: the same with or.
              andb *always* pushes a logic frame and ande pops it. Static: a' is a, v is returned.
              Run-time: andb opens a region under the condition and returns true (orb: false), so that b is
              evaluated in it; ande closes it and returns the joined value (or a half-finished select that only orb takes).
     not(a)                        lt le gt ge eq ne (a, b[, line]): line, if given, is the one to blame, since
              the comparison ends on another line than the call begins. Static: Lua's own, with metamethods and its messages.
     ix(t, k, desc) -> t[k]        k is no literal; or t is a mutable name.
     set(desc, t, k, v)            t[k] = v.
     fn(f, desc) -> f'             `fn(f, "local 'f'")(args)`: the converted closure, or what replaces a C function, or f itself. nil:
              "attempt to call a nil value (desc)".
     m(o, name, desc) -> f'        `m(o, "name", desc)(self(), args)`: o[name], as fn; keeps o for
     self() -> o                   which is called at once, with nothing evaluated in between.
     t(table) -> table             a table constructor: records the conditions active at its birth.
     nm(v, name) -> v              names the IR value or tensor v after the script's local; exactly one value in and out. */
#ifndef CT_REWRITE_H
#define CT_REWRITE_H

#include "runtime/text.h"

/* Every runtime function: its name in the table given to the wrapper. */
#define RW_FNS(X)                                                                                  \
  X(FUNC, "func") X(RET, "ret") X(RETV, "retv") X(LEAVE, "leave")                                  \
  X(IF, "if") X(EI, "ei") X(WHILE, "while") X(WC, "wc") X(LOOP, "loop") X(UNTIL, "until")          \
  X(RANGE, "range") X(ITER, "iter") X(BRK, "brk")                                                  \
  X(MARK, "mark") X(GOTO, "goto") X(HERE, "here") X(BACK, "back") X(DEAD, "dead")                  \
  X(P, "p") X(CELL, "cell") X(R, "r") X(A, "a") X(AN, "an") X(UP, "up") X(GL, "gl")                \
  X(CLOSE, "close") X(ANDB, "andb") X(ANDE, "ande") X(ORB, "orb") X(ORE, "ore") X(NOT, "not")      \
  X(LT, "lt") X(LE, "le") X(GT, "gt") X(GE, "ge") X(EQ, "eq") X(NE, "ne")                          \
  X(IX, "ix") X(SET, "set") X(FN, "fn") X(M, "m") X(SELF, "self") X(T, "t") X(NM, "nm")

typedef enum RwFn {
#define RW_ENUM(id, name) RW_##id,
  RW_FNS(RW_ENUM)
#undef RW_ENUM
  RW_FN_COUNT
} RwFn;

extern const char *const rw_fn_names[RW_FN_COUNT];

typedef enum RwKind { RW_KERNEL, RW_HELPER } RwKind;

typedef struct RwChunk RwChunk; /* a parsed chunk; immutable but for rw_rewrite's scratch */

/* One function of a chunk, in order of its `function` keyword; number 0 is the chunk itself. */
typedef struct RwFunction {
  int first_line; /* as debug.getinfo: linedefined, lastlinedefined; both 0 for the chunk */
  int last_line;
  size_t body;    /* offset in the text just behind the parameter list: a place for a statement */
  const char *name; /* "f", "o.f", "o:f", or NULL when it has none; lives as long as the chunk */
} RwFunction;

typedef struct RwInfo { /* of one rewriting; clear with rw_info_clear */
  CtArena arena;          /* holds everything below */
  const char **upvalues;  /* names to join with the original's, without "_ENV" */
  size_t n_upvalues;
  bool uses_env;          /* joins "_ENV" too */
  const char **params;    /* names of the parameters, with "self" of a method */
  size_t n_params;
  bool is_vararg;
  RwFn fns[RW_FN_COUNT];  /* runtime functions that the wrapper takes, in order */
  size_t n_fns;
  bool in_table;          /* the wrapper takes one table of runtime functions instead */
} RwInfo;

/* Parses `text`, which must stay alive and unchanged until rw_free. `name` is what errors call the
   chunk (shown as is). Accepts what Lua 5.4 accepts. Errors: CT_EINVAL with line and chunk set. */
CtStatus rw_parse(CtAlloc alloc, const char *text, size_t len, const char *name, RwChunk **out,
                  CtErr *err) CT_NODISCARD;
void rw_free(RwChunk *c); /* c may be NULL */

size_t rw_function_count(const RwChunk *c);
const RwFunction *rw_function(const RwChunk *c, size_t fn);

/* The first function at or after number `from` with these lines; rw_function_count(c) if none. */
size_t rw_function_find(const RwChunk *c, size_t from, int first_line, int last_line);

/* Names of the upvalues that Lua gives function `fn` ("_ENV" included), through `each`. Tells apart
   functions of one line. */
void rw_function_upvalues(const RwChunk *c, size_t fn, void (*each)(void *ud, const char *name),
                          void *ud);

/* Appends the wrapper for function `fn` to *out and fills *info, which rw_info_clear frees (on
   failure it holds nothing). Errors: CT_EINVAL for what the rewriting cannot express, at its line. */
CtStatus rw_rewrite(RwChunk *c, size_t fn, RwKind kind, CtText *out, RwInfo *info,
                    CtErr *err) CT_NODISCARD;
void rw_info_clear(RwInfo *info);

#endif
