/* rewrite.h: plain Lua source in, traceable Lua source out. Given the text of a chunk and one of
   its functions, writes a *wrapper chunk* whose function does what the original does, with every
   piece of control flow, comparison, logic, call, index and assignment routed through *runtime
   functions*. Under a runtime in which every value is static the wrapper's function behaves as the
   original; under the tracing runtime (front.c) it records a kernel. This module is text to text:
   it knows no lua_State, runs nothing, and keeps every line where it was.

   The wrapper is
     local R_if, R_r, ... = ...                 the runtime functions that it uses
     local W <const> = 4                        copies of constants of the host
     local a, b                                 upvalues, to be joined with the original's by name
     return function(<parameters>) ... end      on the original's lines
   so: load it, call it with the runtime functions of RwInfo.fns in that order (or, when
   RwInfo.in_table, with one table of all of them by name), and for each upvalue of the result whose
   name is that of an upvalue of the original, lua_upvaluejoin. The prefix R_ is another where a
   name of the chunk contains it.

   # The contract of the runtime functions

   "static" is an ordinary Lua value, "run-time" a value that the kernel computes. A function must
   treat a missing argument as nil and ignore surplus ones. It raises errors at the position of its
   caller (level 1), since lua_compare, lua_gettable and lua_call add none. Where no trace is active
   (a converted function is called on the host) everything is static. `desc` is what Lua's own
   messages put in parentheses, "local 't'", "global 'f'", "field 'x'", "upvalue 'n'", or nil.

   ## Frames
   The state of a trace is a stack of frames *per coroutine*: func, arm (run-time if), rloop (a loop
   of the kernel), sloop (a loop that runs while tracing), mark (region of a forward goto), logic
   (right side of and, or), close (scope of a to-be-closed local). All but logic are ended by a to-be-closed value: the fourth value of a
   generic for, or a `local x <close>`; one that needs nothing to be done may be nil. So they end on
   every way out: end, break, goto, return, error, coroutine.close. Closing a frame drops all frames
   above it: those of an expression that raised.
   A frame is *pending* once a run-time exit to it was emitted. The region is *dead* after an
   emitted exit, or where each thread has ended, up to the innermost frame whose end some live path can reach: nothing is recorded
   there, and the rewritten code asks dead() so as not to run there at all.
   A jump is *plain*, a jump of Lua, where no run-time arm or logic, no rloop and no frame that a
   run-time exit was emitted to lies between it and its target (an exit beyond the target never comes
   back to what follows it). The target itself counts too where it is an rloop (brk), and
   where results were recorded for it already (ret), since they must be joined.

   ## Functions
   func(name, is_kernel) -> F
     `local f <close> = func("tree", false)` opens every function. name: as written ("o:m"), or nil.
     Checks the depth of recursion. is_kernel only in the function that was asked for as RW_KERNEL.
   ret(F, ...) -> boolean
     `if ret(F, e...) then return retv(F) end`: every return of a function that returns from inside
     a construct. Plain: keeps the values; true. Else records them as a result and emits an exit of
     F; false. For a kernel values are an error.
   retv(F) -> ...
     The values that ret kept.
   leave(F) -> ...
     `return leave(F)`, where such a function falls off its end: joins the recorded results, with
     "no values" if this point is live. Where nothing was recorded, returns nothing.

   ## If
   if(n, has_else, c) -> iter, state, control, frame
     `for k, q in if(n, has_else, c1) do if q then PROMOTIONS end if k == 1 then ... end end`, of n
     conditions. The iterator yields k: arm i is 2i - 1, condition i > 1 is 2i - 2, else is 2n (not
     where has_else is false). Static: it yields the numbers that Lua would visit. Run-time: the
     arm, then, inside an else region, the next number, to the end; n conditions nest n regions.
     Arms that all end dead leave the enclosing region dead. q: nil while the construct is static;
     the frame once it is run-time, at least on the first turn. It is only there if names need
     promotion.
   ei(c)
     The value of condition i > 1, to the innermost if, after its number was yielded.

   ## Loops
   while() -> iter, state, control, frame
   wc(c) -> boolean
     `for q in while() do ... if wc(c) then BODY end end`. Each turn yields false (not nil) while
     the loop is static; the IR position is noted first. wc of a static c returns its truth; after a
     false one iter yields nil. wc of a run-time c drops what was recorded since, returns false; the
     next turn opens an rloop and yields q = frame, so that names are promoted, c is evaluated
     again, wc emits `if (!c) break` and returns true; then iter closes the loop.
   loop(kind) -> iter, state, control, frame
     `for q in loop("while") do BODY end`. kind "while" is `while true`; or "repeat". In a trace:
     one turn, an rloop, q = frame. Outside: until left.
   until(c)
     The end of a repeat's body: emits `if (c) break`; outside a trace a true c ends the loop.
   range(name, a, b, s) -> iter, state, control, frame
     `for i, q in range("i", a, b, s) do`; s nil is 1. Static: Lua's numeric for exactly (floats,
     overflow, messages). Run-time: one turn, with i symbolic.
   iter(names, ...) -> iter, state, control, frame
     `for k, v, q in iter("k,v", list) do`. Static: the (converted) iterator, its state and control;
     the frame closes the list's own fourth value too. q may then be a value of the iterator, if
     it returns more than the loop has names: p tells frames from other values. The objects that
     range() and axes() give: one turn, as above. One may have a function, which makes the values of the
     names out of the index; what it assigns to its upvalues becomes variables of the kernel.
   brk() -> boolean
     `if brk() then goto b else goto e end`; the target is the innermost loop. Plain: true. Else
     emits an exit; false.

   ## Goto
   mark(label) -> G
     `do local g <close> = mark("L") ... end ::L::` around the statements that jump forward to L.
     Becomes a block of the IR only if an exit to it is emitted.
   goto(G) -> boolean
     `if goto(G) then goto L else goto e end`; as brk, with target G.
   here() -> H
   back(H, label)
     `back(H, "L") goto L`: a jump back. H was taken at the start of the block of the label. An
     error where a run-time or pending frame lies above the point H.
   dead() -> boolean
     Whether the region is dead. A call of error or assert may end the thread (front_fail.c), so
     `if dead() then goto e end` follows such a statement, and those around it.

   ## Variables
   p(q, x, name, line) -> x
     `x = p(q, x, "x", 7)` on entry of a construct that may assign x, which line 7 declares (0: self).
     Returns x where q is no frame, or
     x is a variable of the kernel already. Else makes a variable that holds x (for tensors, tables,
     strings, functions a frozen box), stored *before* the op of the construct and declared at the
     top of the kernel, and returns it: x stays promoted for good. A box of cell becomes a variable
     itself, so that inner functions see it. If an earlier trace has met an assignment of another
     table to the name, the box becomes a record.
   cell(x, name) -> box
     `x = cell(x, "x")` after the declaration of a local that an inner function assigns. The box
     remembers the conditions active at its birth. An assignment under a newer one makes it a
     variable, stored before the oldest such condition; an error in the right side of and, or. In
     a loop, and for a table, the kernel is traced again, so that the variable is there when that
     condition begins.
   r(x) -> value
     Reads a name that may hold a variable or box: a snapshot.
   a(x, v) -> x
     `x = a(x, v)`: stores v in the variable or box x and returns x; if x is neither, returns v.
   an(spec, ...) -> ...
     Multiple assignment. spec has a letter for each target; their arguments follow in this order,
     then the values (missing ones are nil, surplus ones ignored).
       i  object, key, desc   object[key] = value, as set
       v  x                   the result is a(x, value)
       l                      the result is value
       u  name                the result is up(name, value)
       g  name                the result is gl(name, value)
     Returns the results in order. Works from the last target to the first, as Lua does.
   up(name, v) -> v           `x = up("x", v)`: an upvalue of the host is assigned
   gl(name, v) -> v           `x = gl("x", v)`: a global is assigned
   close(v, name) -> frame
     `local c <close> = close(v, "v")` after `local v <close> = ...`: an error under a run-time
     condition; and while the frame is open each run-time exit through it is one.

   ## Expressions
   andb(a) -> a', ande(v) -> v
   orb(a) -> a', ore(v) -> v
     `a and b` is `ande(andb(a) and b)`. andb *always* pushes a logic frame and ande pops it.
     Static: a' is a. Run-time: andb opens a region under the condition and returns true (orb:
     false), so that b is evaluated in it; ande closes it and returns the joined value, or a
     half-finished select that only orb takes.
   not(a); lt, le, gt, ge, eq, ne(a, b[, line])
     line, if given, is the one to blame: the comparison ends on another line than the call begins.
     Static: Lua's own, with metamethods and its messages.
   ix(t, k, desc) -> t[k]     k is no literal, t is a name that may be promoted, or reads are noted
   len(v, desc) -> v
     `#len(v, desc)`, where reads are noted.
   set(desc, t, k, v)         t[k] = v
     In a table that the trace made, under a condition that is newer than the table: the field is
     a variable of the kernel, or, if it holds such a table itself, a record (front_record.c). The
     table holds a snapshot of it, taken again where paths meet. In a loop, and for a record: traced
     again.
   fn(f, desc) -> f'
     `fn(f, "local 'f'")(arguments)`: the converted closure, what replaces a C function, or f
     itself. nil: "attempt to call a nil value (desc)".
   m(o, name, desc) -> f'
   self() -> o
     `m(o, "name", desc)(self(), arguments)`: o[name], as fn. Keeps o for self, which is called at
     once, with nothing evaluated in between.
   t(table, computed) -> table
     A table constructor: records the conditions active at its birth. computed: it has keys that may be
     run-time values, an error.
   nm(v, name) -> v           names the IR value or tensor v after the script's local */
#ifndef CT_REWRITE_H
#define CT_REWRITE_H

#include "runtime/base/text.h"

/* The runtime functions. */
typedef enum RwFn {
#define RW_FN_ROW(id, name) RW_##id,
#include "rewrite_fns.def"
  RW_FN_COUNT
} RwFn;

/* Their names in the table of runtime functions. */
extern const char *const rw_fn_names[RW_FN_COUNT];

typedef enum RwKind { RW_KERNEL, RW_HELPER } RwKind;

typedef struct RwChunk RwChunk; /* a parsed chunk; immutable but for rw_rewrite's scratch */

/* One function of a chunk, in order of its `function` keyword; number 0 is the chunk itself. */
typedef struct RwFunction {
  int first_line; /* as debug.getinfo: linedefined, lastlinedefined; both 0 for the chunk */
  int last_line;
  size_t body;      /* offset in the text just after the parameter list: a place for a statement */
  const char *name; /* "f", "o.f", "o:f", or NULL when it has none; lives as long as the chunk */
} RwFunction;

typedef struct RwInfo {  /* of one rewriting; clear with rw_info_clear */
  CtArena arena;         /* holds everything below */
  const char **upvalues; /* names to join with the original's, without "_ENV" */
  size_t n_upvalues;
  bool uses_env;       /* joins "_ENV" too */
  const char **params; /* names of the parameters, with "self" of a method */
  size_t n_params;
  bool is_vararg;
  RwFn fns[RW_FN_COUNT]; /* runtime functions that the wrapper takes, in order */
  size_t n_fns;
  bool in_table;        /* the wrapper takes one table of runtime functions instead */
  const char **globals; /* names of globals that the function and those in it read, each once */
  size_t n_globals;
} RwInfo;

/* Parses `text`, which must stay alive and unchanged until rw_free. `name` is what errors call the
   chunk (shown as is). Accepts what Lua 5.4 accepts. Errors: CT_EINVAL with line and chunk set. */
CtStatus rw_parse(CtAlloc alloc, const char *text, size_t len, const char *name, RwChunk **out,
                  CtErr *err) CT_NODISCARD;
void rw_free(RwChunk *c); /* c may be NULL */

/* From now on fields and lengths are read by runtime functions always, so that these may note what of the host
   was read. Off at first. */
void rw_note_reads(RwChunk *c, bool on);

size_t rw_function_count(const RwChunk *c);
const RwFunction *rw_function(const RwChunk *c, size_t fn);

/* The first function at or after number `from` with these lines; rw_function_count(c) if none. */
size_t rw_function_find(const RwChunk *c, size_t from, int first_line, int last_line);

/* Names of the upvalues that Lua gives function `fn` ("_ENV" included), through `each`. Tells apart
   functions of one line. */
void rw_function_upvalues(const RwChunk *c, size_t fn, void (*each)(void *ud, const char *name),
                          void *ud);

/* Appends the wrapper for function `fn` to *out and fills *info, which rw_info_clear frees (on
   failure it holds nothing). Errors: CT_EINVAL for what the rewriting cannot express, at its line.
   */
CtStatus rw_rewrite(RwChunk *c, size_t fn, RwKind kind, CtText *out, RwInfo *info,
                    CtErr *err) CT_NODISCARD;
void rw_info_clear(RwInfo *info);

#endif
