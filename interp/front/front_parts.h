/* front_parts.h: what the runtime functions of rewrite.h share, file by file; not for other rooms but where a
   function says so. */
#ifndef CUTTLE_FRONT_PARTS_H
#define CUTTLE_FRONT_PARTS_H

#include "interp/state/diag.h"
#include "interp/state/standard.h"
#include "interp/trace/front_state.h"
#include "front_reads.h"
#include <lua.h>
#include <stdbool.h>

/* front_learn.c. What is conditional for something that was born at a clock. */
typedef struct Since {
  bool any;          /* a condition is active that began later */
  uint64_t at;       /* the clock of the oldest */
  CtVal op;          /* its operation, before which a variable can be stored; 0: there is none */
  uint64_t place;    /* where it began, for front_learn */
  const Frame *loop; /* the outermost loop of the kernel among them */
} Since;
Since front_since(Front *f, lua_State *L, uint64_t born);

/* Can a variable that is needed now still be stored before since->op? Yes, if `entered`, which has just begun, is that
   oldest condition. A number or boolean has not changed since the oldest condition began, for its first change would
   have made it a variable; so it can, unless a loop reads in its next turn what is stored now. The fields of a record
   may have changed by themselves, on paths that are left already. What cannot is learnt (front_learn). */
bool front_may_begin(const Since *since, const Frame *entered, bool is_record);

bool front_in_loop(Front *f, lua_State *L); /* does a loop of the kernel run? */

uint64_t front_birth(lua_State *L, int idx);     /* of a table or coroutine; 0: unknown */
void front_set_birth(lua_State *L, Front *f);    /* of the table or coroutine at the top: now */
void front_touch_state(Front *f, uint64_t born); /* a while that is being probed must hear of it */
/* State of Lua that was born at the clock `born` changes: an error with that message where a run-time
   condition is active that began later. A while that is being probed must hear of it. */
void front_touch(lua_State *L, uint64_t born, const char *message);
void front_open_births(lua_State *L);

uint64_t front_local(lua_State *L, const char *name, int line); /* the number of a local */
void front_number(lua_State *L);                                /* the object at the top gets one */
uint64_t front_number_of(lua_State *L, int idx);
int front_birth_line(lua_State *L, int idx);

/* TENSOR and what follows: front_tensor.c. */
typedef enum LearntKind { LEARNT_NOTHING, LEARNT_VALUE, LEARNT_RECORD, LEARNT_TENSOR } LearntKind;
LearntKind front_learnt_kind(lua_State *L, uint64_t number);
/* The repetition is to know that the object is of this kind ... */
void front_learn_kind(lua_State *L, Front *f, uint64_t number, LearntKind kind);
/* ... and that it, or its field, becomes a variable where the condition begins that has this place. */
void front_learn(lua_State *L, Front *f, uint64_t place, int object, int key, const char *name,
                 bool has_value, LearntKind kind);
/* Calls `each` with what was learnt of this condition, {number, key, name, has_value}, and the object or nil on the
   stack. */
void front_each_learnt(lua_State *L, Front *f, Frame *frame,
                       void (*each)(lua_State *L, Front *f, const Frame *frame));
void front_begin_numbers(lua_State *L); /* of a trace */

/* A number for the next thing that is made in that line under that name. */
uint64_t front_count(lua_State *L, const char *name, int line);

/* front_type.c. */
void front_begin_types(lua_State *L, Front *f,
                       bool is_first); /* of a trace; is_first: of a kernel */
/* A variable for numbers without a type, which begins with one of that CtUntyped. */
CtVal front_untyped_variable(lua_State *L, Front *f, const char *name, int line, uint8_t untyped);
void front_more_untyped(Front *f, CtVal var, uint8_t untyped); /* one more is stored into it */
/* It is given a value with that type. */
void front_give_type(lua_State *L, Front *f, CtVal var, CtDtype type);
void front_learn_types(lua_State *L, Front *f);         /* at the end of a trace */
CtStatus front_check_types(const Front *f, CtErr *err); /* of one that is not repeated */

/* front_box.c. */
Box *box_push(lua_State *L, Front *f, BoxKind kind, const char *name); /* on the stack */
Box *box_test(lua_State *L, int idx);
const char *box_name(lua_State *L, int idx); /* valid while the box is on the stack */
uint64_t box_number(lua_State *L, const Box *box, int idx); /* of the local, for front_learn_kind */
bool box_is_assigned(const Front *f, const Box *box);
void box_set_assigned(Front *f, const Box *box);
void box_take_nil_bit(lua_State *L, Front *f, Box *box, int idx); /* it has no value yet */
/* The box becomes a variable that holds the value, or nothing yet if it is nil, stored before `op` (0: here). What is
   stored is a change of state: the probe of a while would drop it. */
void box_begin(lua_State *L, Front *f, int idx, int value, CtVal op);
void box_load(lua_State *L, Front *f, int idx);             /* pushes a snapshot */
void box_store(lua_State *L, Front *f, int idx, int value); /* into a variable */
bool front_is_scalar(lua_State *L, int idx); /* a number or boolean, static or run-time */

/* front_tensor.c. Has the local of that number been learnt to hold tensors that differ in their offset, and is the
   value such a one? */
bool front_is_carried(lua_State *L, const Front *f, uint64_t number, int value);
/* As their namesakes, of the tensor at `value`. */
void box_begin_tensor(lua_State *L, Front *f, int idx, int value, CtVal op);
void box_load_tensor(lua_State *L, Front *f, int idx);
void box_store_tensor(lua_State *L, Front *f, int idx, int value);
/* Raises: the local of box x, which holds the tensor at `old`, is given the one at `value`. The repetition may know
   better. */
void front_refuse_tensor(lua_State *L, Front *f, int x, int old, int value);

/* front_missing.c. */
void front_push_missing(lua_State *L); /* a value that raises the message at the top [-1, +1] */
void front_check_missing(lua_State *L, int idx);
/* The field of that key was nil, which may be why the line fails. */
void front_note_nil(lua_State *L, int key);
/* Names it after a message at the top that is about nil [-0, +0]. */
void front_explain_nil(lua_State *L);
/* Pushes the metatable of a new type: whatever uses a value of it as an operand, or asks for a field, calls `used`. */
void front_refuse_uses(lua_State *L, const char *type, lua_CFunction used);
Box *field_push_box(lua_State *L, int t, int key);     /* of the table's field, or nil */
void field_keep_box(lua_State *L, int t, int key);     /* the one at the top, popped */
void front_forget_field(lua_State *L, int t, int key); /* it is a plain one again */
void front_forget_fields(lua_State *L, int t);
bool front_changed_since(lua_State *L, int t, uint64_t at);
void front_list_box(lua_State *L, int box); /* front_reload loads it */
void front_each_box(lua_State *L, Front *f,
                    void (*each)(lua_State *L, Front *f)); /* box at the top */
/* A field of the table is read: in a loop a later turn may change it. */
void front_note_table_read(lua_State *L, Front *f, int t);
uint64_t front_last_read(lua_State *L, int t);   /* the clock; 0: none */
void front_begin_fields(lua_State *L, Front *f); /* of a trace */
void front_open_fields(lua_State *L);

/* front_record.c. */
bool record_is(lua_State *L, const Front *f, int idx); /* a table that this trace made */
/* The box becomes a record, which holds the table's fields from before the operation on ... */
void record_begin(lua_State *L, Front *f, int box, int record, CtVal op);
/* ... or none yet if the value is nil, and is loaded where paths meet. */
void box_begin_record(lua_State *L, Front *f, int idx, int value, CtVal op);
void record_bind(lua_State *L, Front *f, int box, int record); /* from here on it holds this one */
void record_load(lua_State *L, Front *f,
                 int box); /* its value: a new table of what it holds here */
void record_leave(lua_State *L, Front *f, int box); /* what it holds changes no more with it */
void record_push_only(lua_State *L, int box);       /* the only table that it ever held, or nil */
void front_begin_records(lua_State *L, Front *f);   /* of a trace */

/* front_alias.c. */
/* The table's field changes: those that may be the same table follow or become stale. */
void record_changed(lua_State *L, Front *f, int t, int key, int value);
bool record_is_bound(lua_State *L, const Front *f, int t);
/* A function that reads tables by itself is called. */
void record_note_call(lua_State *L, Front *f, const lua_Debug *ar, bool is_flat);

/* front_fail.c: what a kernel calls instead of assert and error. */
int front_asserts(lua_State *L);
int front_errs(lua_State *L);

/* front_field.c. */
/* t[key] = value in a table, under the conditions that are active; whether it is done. Raises. `desc` is the table's. */
bool front_set_field(lua_State *L, Front *f, int t, int key, int value, int desc);
void front_enter(lua_State *L, Front *f, Frame *frame); /* a run-time if or loop has begun */
void front_reload(lua_State *L, Front *f, uint64_t since);
bool box_make_cell(lua_State *L, Front *f, int idx, CtVal op); /* a cell becomes a variable */

/* front_var.c. */
/* The box at stack place 2 becomes a variable, stored before the operation of q; or frozen. */
void box_promote(lua_State *L, Front *f, const Frame *q);

/* A condition: 1 or 0 when it is static, else -1 and *c is the run-time bool. `what` tests it ("if"). */
int front_truth(lua_State *L, int idx, const char *what, CtVal *c);

bool front_is_bool(lua_State *L, const Front *f, int idx); /* static or run-time */
bool front_is_number(lua_State *L, const Front *f, int idx);

/* front_flow.c: what the statements share. */
Frame *frame_arg(lua_State *L); /* the argument 1 */
/* The four values of a generic for whose iterator's state is the frame at `frame`. */
int front_return_loop(lua_State *L, lua_CFunction iter, int frame);
void front_become_runtime(Front *f, Frame *frame);
/* A decision that leaves no operation, for those who read the IR. */
void front_note(lua_State *L, Front *f, const char *what, bool yes);
/* front_loop.c: does a loop whose turns run while tracing go on? Not after a dead end. */
bool front_goes_on(lua_State *L, Front *f, Frame *frame);
void front_count_turn(lua_State *L, Front *f, Frame *frame); /* raises when there are too many */

bool front_is_library_calling(lua_State *L); /* is the caller Lua code of the standard library? */
void front_check_change(lua_State *L, int idx); /* front_touch for the table at idx, if it is one */
void front_check_key(lua_State *L, int table, int key); /* refuses a run-time key of a table */
/* Pushes what a kernel calls for the function at idx; desc: what messages call it, or 0. */
void front_push_callee(lua_State *L, Front *f, int idx, int desc);
void front_push_replacement(lua_State *L, int idx); /* for a C function: another, or itself */

/* front_watch.c: what a trace reaches without the rewriter's help. */
void front_open_watch(lua_State *L);
void front_watch(lua_State *L, bool on);   /* refuses calls of functions that were not converted */
void front_patch_metatables(lua_State *L); /* metamethods convert themselves ... */
void front_restore_metatables(lua_State *L); /* ... no more */
/* Raises the message at the line of the innermost converted function. */
int front_fail_unconverted(lua_State *L, const char *what);

/* front_uncaught.c: raises what no kernel can do, by lua_pushfstring's format, at the script's line. Plain Lua would go
   on there, so the trace fails whoever catches the error. What Lua itself raises is a luaL_error. */
int front_refuse(lua_State *L, const char *fmt, ...) DIAG_RAISES;
/* Pushes the first message of a trace that has refused something [-0, +1]. */
void front_push_refusal(lua_State *L);

/* front_refuse.c: what C cannot do with what a kernel has. */
void front_check_iterator(lua_State *L, int idx); /* raises for a value, a tensor, a layout */
/* Adds the reason to the message at the top, if Lua complains of a run-time value [-1, +1, m]. */
void front_explain(lua_State *L);

/* The runtime functions of the rewriter, by file. */
extern const luaL_Reg front_flow_fns[], front_loop_fns[], front_for_fns[], front_func_fns[],
    front_var_fns[], front_logic_fns[], front_expr_fns[];
void front_open_logic(lua_State *L);
void front_open_expr(lua_State *L);
void front_open_replace(lua_State *L);
void front_open_refuse(lua_State *L); /* after all others that replace */

/* A kernel calls the function on top of the stack (popped) instead of the C function below it. */
void front_replace(lua_State *L);

/* front_reads.c: the places of the host that a trace reads; front_whole.c reads some, too. */

bool reads_is_globals(lua_State *L, int idx);
bool reads_is_library_function(lua_State *L, int idx); /* of C, or of the standard library */
bool reads_is_host(lua_State *L, int idx);             /* a table whose reads are noted */
/* All fields of the table, which is of the host, are read. */
void reads_mark_whole(lua_State *L, Front *f, int t);
/* Pushes the metatable of the value, or nil; which one a table of the host has is a place. */
void reads_push_metatable(lua_State *L, Front *f, int t);
/* Of a function of the script: its upvalues and, where they are known, globals. */
void reads_note_function(lua_State *L, Front *f, int fn, bool is_kernel);
void reads_note_written(lua_State *L, int fn, int i); /* its upvalue i, by the trace itself */

/* front_record.c: the nodes of records; front_alias.c has them, too. */

enum { RECORD_MAX_NESTED = 20 };

/* Parts of a node, by keys that no record has: its metatable, its keys in order, its family as a list, the table that
   it holds now, its box, what is stale: key -> text of why, and the clock when what it holds was changed. */
extern char record_meta_key, record_order_key, record_family_key, record_current_key,
    record_box_key, record_stale_key, record_changed_key;
/* In the registry, of the running trace: table -> {node = whether it is merged there}, for each family that it is
   in. */
extern char record_nodes_key;

int record_get_part(lua_State *L, int node, char *part);  /* pushes it */
void record_put_part(lua_State *L, int node, char *part); /* pops it */
/* Pushes "best.value", or "best[1]". */
const char *record_push_name(lua_State *L, const char *name, int key);
int record_fail_shape(lua_State *L, const char *name, const char *what);
/* The value at the top is stored into the part of a node that is below it; both are popped. */
void record_store_part(lua_State *L, Front *f, const char *name);

/* Pushes {node = whether it is merged there} of the table at idx; false, and pushes nothing: it is in no family. */
bool record_push_nodes(lua_State *L, const Front *f, int idx);

/* The node takes the table at `record`: raises if a change in this loop would reach, in the next turn, what shares
   the table with it. */
void record_check_turns(lua_State *L, Front *f, int node, int record);

/* front_whole.c: what functions read of the host that were not rewritten. */

/* For the hook on calls: the function at fn is called, which was not rewritten and looks into tables by itself. */
void front_note_call(lua_State *L, Front *f, const lua_Debug *ar, int fn);
/* Does the function at fn look into no table that is in a table, as next and the iterator of ipairs do not? */
bool front_is_flat(lua_State *L, int fn);
bool front_is_runtime(lua_State *L, const Front *f,
                      int fn); /* a runtime function of the rewriter */
/* A function that the trace runs as it is: what it reads, and what the functions do that it reaches. */
void front_note_host_function(lua_State *L, int fn);
void front_note_given(lua_State *L, int idx); /* the same for an argument of it */
void front_note_host_return(lua_State *L); /* it returns: what it has assigned is the trace's own */
void front_begin_whole(lua_State *L);      /* of a trace */
void front_open_whole(lua_State *L);       /* with the globals of Lua's libraries in place */

#endif
