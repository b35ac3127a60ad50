/* front_state.h: the state of a trace, shared by the files of the front end; not for others.

   A trace has a clock that every frame and table advances: comparing birth times answers "was this
   made under the condition that is active now?". Frames are userdata, linked per coroutine; a frame
   is ended by Lua closing it. */
#ifndef CUTTLE_FRONT_STATE_H
#define CUTTLE_FRONT_STATE_H

#include <lauxlib.h>
#include <lua.h>

#include "front.h"
#include "value.h"

enum { FRONT_MAX_NIL_VARS = 1024, FRONT_MAX_DEPTH = 150, FRONT_MAX_TURNS = 20000 };
/* A numeric for with known bounds and more turns than this stays a loop, and a while with known conditions is
   refused if more of its turns record code, unless the kernel's option max_unroll says another number. */
enum { FRONT_MAX_UNROLL = 64 };
enum { FRONT_MAX_OPS = 1 << 18 }; /* more than any compiler takes in minutes */

/* Which variables that began as nil have a value on every path to here; bit per variable. */
typedef struct Assigned {
  uint64_t w[FRONT_MAX_NIL_VARS / 64];
} Assigned;

typedef enum FrameKind {
  FRAME_FUNC,
  FRAME_IF,
  FRAME_LOOP,
  FRAME_MARK,
  FRAME_LOGIC,
  FRAME_CLOSE
} FrameKind;

typedef struct Co Co;

typedef struct Frame {
  FrameKind kind;
  bool is_open;
  bool runtime;   /* an IF or LOGIC with a run-time condition, a loop of the kernel */
  bool pending;   /* a run-time exit out of it or through it was emitted */
  bool has_exit;  /* an exit to its block was emitted */
  bool loop_exit; /* LOOP of the kernel: an exit to the loop itself was emitted */
  bool is_kernel; /* FUNC */
  Co *co;
  struct Frame *parent;
  uint64_t runtime_at; /* clock when it became run-time */
  uint64_t pending_at; /* of the first exit to its block, or else of the first through it */
  uint64_t opened_at;  /* clock when it began */
  uint64_t place;      /* of its first line, for what a trace learns: front_learn.c; 0: none */
  CtVal exit_op; /* the first exit to its block stands in it; 0: in the right side of and, or */
  uint64_t exit_place;
  CtRegion region; /* where it stands */
  CtVal op;    /* its first run-time operation: IF, FOR, LOOP; promotions are stored before it */
  CtVal block; /* reserved for exits of what runs while tracing */
  Assigned before; /* on entry of an arm or of a loop */
  Assigned joined; /* over the live ends of the arms so far, or the exits */
  /* IF and LOGIC */
  int n_conds, last_k; /* last_k: the number yielded last */
  bool is_last_arm;    /* its condition was static and true: no number follows */
  bool has_else;
  bool some_live;    /* the end of some arm was live */
  bool is_or;        /* LOGIC */
  bool is_chain;     /* LOGIC: the right side of `or` is in the else of a half's last IF */
  CtVal cond, if_op; /* the innermost IF, and its condition */
  CtVal position;    /* LOGIC: of the IR before */
  /* LOOP */
  int n_names;      /* of a generic for */
  const char *loop; /* "while", "repeat", "for", "in"; CLOSE: the local's name, in user value 1 */
  int turns;
  int copies;        /* while: turns that left code in the kernel */
  bool wants_region; /* while: the next turn opens the kernel's loop */
  bool is_done;
  bool is_float;
  CtDtype type;            /* of the index of a static numeric for; CT_VOID: a Lua number */
  uint64_t probed_at;      /* while: the clock when the condition began */
  uint64_t touched_before; /* and what was touched */
  int64_t i, step;
  uint64_t left;    /* turns left of a static numeric for */
  const char *kept; /* the name of its variable if its turns are too many to unroll, else NULL */
  double fi, flimit, fstep;
  /* FUNC */
  int depth;
  int n_results; /* -1: none recorded yet */
} Frame;

struct Co {
  lua_State *L;
  Frame *top;
  Co *resumer; /* who entered it last; NULL of a main one */
  Co *next;
};

typedef struct Front {
  CtAlloc alloc;
  CtIr *ir; /* of the running trace, or NULL */
  uint32_t serial, last_serial;
  uint64_t clock; /* never set back: what an earlier trace has kept is older than all of this one */
  uint64_t began; /* the clock when the trace began */
  uint64_t
      protected_at; /* the clock when the innermost pcall in progress began; 0: there is none */
  uint64_t
      touched; /* birth of the oldest state of Lua that was changed since the last probe began */
  int n_static; /* functions of static_fn in progress: the trace stands still, without ir and serial */
  int n_host_tables;    /* that the trace has met: front_reads.c */
  int n_trusted;        /* calls of functions in progress that need no conversion */
  int n_boxes;          /* of fields and records, to be loaded where paths meet: front_field.c */
  int n_records;        /* of them, and results, those that are records */
  uint64_t loads_since; /* what was loaded later is to be loaded again */
  int n_traces;         /* of this kernel and key so far, this one counted */
  bool again; /* this trace has learnt of a variable: the kernel is to be traced once more */
  /* front_type.c of the room above: is a constant without a type an f64 here? NULL: none is */
  bool (*is_wide)(lua_State *L, const struct Front *f);
  CtVal met; /* the first f32 without a type that was needed more exactly; 0: none */
  CtLoc met_at;
  /* front_reload of the room above: fields that were loaded later than `since` are loaded again */
  void (*reload)(lua_State *L, struct Front *f, uint64_t since);
  bool dead; /* nothing can reach this point */
  bool
      has_refused; /* this trace has met what no kernel can do: front_uncaught.c of the room above */
  Assigned assigned;
  int n_nil_vars;
  Co *cos, *cur;
} Front;

/* A local that may be a variable of the kernel, a frozen Lua value, a cell shared with inner functions, or a record;
   a field that is a variable or a record. BOX_VALUE, a user value, holds the Lua value of what is no variable. */
typedef enum BoxKind { BOX_CELL, BOX_FROZEN, BOX_VAR, BOX_RECORD } BoxKind;
enum {
  BOX_VALUE = 1,
  BOX_NAME,
  BOX_OWNER,
  BOX_KEY,
  BOX_NODE
}; /* owner and key: of a field; node: of a record */
typedef struct Box {
  BoxKind kind;
  bool is_cell;   /* made by cell(): inner functions see it */
  bool weak;      /* BOX_VAR: so far only constants; may still become wider */
  bool is_result; /* BOX_VAR: what a function returns */
  bool is_tensor; /* BOX_VAR: the offset of a tensor, a multiple of `unit` */
  int64_t unit;
  CtVal var;    /* 0: began as nil, type unknown until the first store */
  int nil_var;  /* bit in Assigned; -1: has always had a value */
  bool is_gone; /* a field that is a plain one again, a result that was taken */
  int line;     /* where it is declared; of a result where it is returned first */
  int declared; /* the line that the rewriter gave, or 0 */
  uint64_t born;
  uint64_t loaded_at; /* clock when its owner, or the user value, got what it holds */
  uint64_t stored_at, read_at;
  uint32_t serial;
} Box;

/* One x of `c and x or d and y or z`. */
typedef struct Arm {
  CtVal cond, if_op; /* x is chosen at the end of the IF's then, or of its else */
  bool is_else;
  CtVal value;     /* 0: a number of Lua, which takes the type of the others */
  bool is_float;   /* that number */
  uint8_t untyped; /* CtUntyped, of a number or a value */
  lua_Number f;
  lua_Integer i;
} Arm;

/* `c and x`, or `c and x or d and y`: waits for its last `or`; front_choice.c. */
typedef struct Half {
  uint32_t serial;
  bool is_chain; /* each arm's IF ends the else of the one before */
  CtVal cond;    /* whether an arm is taken; 0: of a chain of more than one, not asked yet */
  CtVal value;   /* of one that an `or` has completed: what an arm chose, if one did; else 0 */
  int n_ifs;     /* arms whose IFs still stand; the others were flattened */
  int n_arms;
  Arm arms[];
} Half;

#define FRAME_TYPE "cuttle.frame"
#define BOX_TYPE "cuttle.box"
#define HALF_TYPE "cuttle.half"

Front *front_of(lua_State *L);                /* from anywhere */
static inline Front *front_up(lua_State *L) { /* in a runtime function: its upvalue 1 */
  return lua_touserdata(L, lua_upvalueindex(1));
}
Front *front_open_state(lua_State *L); /* makes it, once per Lua state */
/* That of L, made at its first use. NULL: there is no memory for it. */
Co *front_co_of(Front *f, lua_State *L);
Co *front_co(Front *f, lua_State *L); /* of the running coroutine; notices switches */
void front_at(lua_State *L, Front *f);

void front_check_size(lua_State *L, const Front *f); /* raises when the trace has grown too large */
Frame *frame_push(lua_State *L, Front *f, FrameKind kind); /* leaves the userdata on the stack */
void frame_end(lua_State *L, Front *f, Frame *frame);
Frame *frame_top(lua_State *L, Front *f, FrameKind kind); /* innermost of the kind */

/* The clock of the newest condition that is active: run-time frames and conditional exits of this
   coroutine and of those that resumed it. 0: nothing is conditional. */
uint64_t front_condition(Front *f, lua_State *L);
/* No run-time frame, and none that an exit was emitted to, between here and the target, itself not
   counted: a jump there can be Lua's own. */
bool front_is_plain(Front *f, lua_State *L, const Frame *target);
/* Emits an exit to the target; this point is dead afterwards. */
void front_exit(lua_State *L, Front *f, Frame *target);

void front_join(Front *f, Assigned *into, bool *some_live); /* the end of an arm, live or dead */

/* front_choice.c. What stands under the condition of a logic frame that is popped already, idx being the right
   side of `and` or `or`. Each pushes one value: a half, or the completed choice. */
Half *half_test(lua_State *L, int idx);
CtVal choice_taken(CtIr *ir, const Half *half); /* a bool: is some arm taken? */
void choice_begin(lua_State *L, Front *f, const Frame *frame, int idx);          /* c and x */
void choice_nest(lua_State *L, Front *f, const Frame *frame, const Half *inner); /* c and (half) */
/* Enters the else of the half's last IF for the right side of `or`, if that may be. */
bool choice_goes_on(Front *f, Frame *frame, const Half *half);
void choice_end(lua_State *L, Front *f, const Frame *frame, Half *half, int idx); /* half or x */
void choice_none(lua_State *L, Front *f, const Frame *frame, int half);           /* half or nil */
void choice_join(lua_State *L, Front *f, const Frame *frame, const Half *left, const Half *right);

/* front_owner.c: notes which kernel the trace that begins is of. */
void front_own(lua_State *L, const Front *f);
void front_open_owner(lua_State *L);

/* front_table.c: tables in the registry, whose keys are objects. */
/* An empty one, of that __mode unless it is NULL. */
void front_new_table(lua_State *L, const void *key, const char *mode);
/* Pushes what the table says of the object at that index, or nil; returns its type. */
int front_push_entry(lua_State *L, const void *key, int object);
bool front_has_entry(lua_State *L, const void *key, int object);
void front_set_entry(lua_State *L, const void *key, int object); /* to the value at the top [-1] */
/* The entry is a table, which is made if there is none. */
void front_push_table(lua_State *L, const void *key, int object);
/* The entry is a number; 0: there is none. */
uint64_t front_get_number(lua_State *L, const void *key, int object);
void front_set_number(lua_State *L, const void *key, int object, uint64_t number);

#endif
