/* call.h: functions of a kernel as rows of a table. Most of them read their arguments, one kind after the
   other, and add one operation to the IR. So a row has the name, the operation, the GPU that it
   needs, a reader for each argument, and the function that receives the arguments:

     {"wgmma_wait", call_effect, CT_OP_WGMMA_WAIT, CALL_SM90A, CALL_ARGS(groups)},
     {"elect_one", elect, 0, 90, CALL_NO_ARGS},

   call_row reads the arguments in order, runs the row and pushes its results. A function that needs
   a check with a message of its own has a reader in its own file, or is written by hand. */
#ifndef CUTTLE_CALL_H
#define CUTTLE_CALL_H

#include <lauxlib.h>

#include "interp/state/diag.h"
#include "runtime/ir/ir_make.h"

enum { CALL_MAX_ARGS = 4, CALL_MAX_RESULTS = 2 };
enum { CALL_SM90A = -90 };    /* for CallRow.sm: that architecture only, */
enum { CALL_TCGEN05 = -100 }; /* or those with tensor memory */

typedef struct Call Call;
typedef struct CallArg CallArg;

/* Reads argument `idx` as CallArg says; raises. Leaves the stack's height unchanged; the argument
   itself may change. */
typedef CtVal (*CallReader)(Call *c, int idx, const CallArg *as);

struct CallArg {
  CallReader read;
  int lo, hi;       /* for a number that is known now */
  const char *what; /* the name of the argument in messages: "width" */
};

typedef struct CallRow {
  const char *name;
  void (*run)(Call *c);
  int op; /* the difference between rows of one `run`: a CtOp, CtShfl, ... */
  int sm; /* a CUDA device must have this compute capability, times 10; 0: any */
  const CallArg *args;
  int n_args;
} CallRow;
#define CALL_ARGS(array) array, CT_ARRAY_LEN(array)
#define CALL_NO_ARGS NULL, 0

/* A call in progress. `run` fills in results, or a status other than CT_OK. */
struct Call {
  lua_State *L;
  CtIr *ir; /* of the running trace */
  const CallRow *row;
  CtVal arg[CALL_MAX_ARGS];       /* what the readers returned; static integers are themselves */
  CtVal result[CALL_MAX_RESULTS]; /* 0: no more */
  CtStatus status;
  CtErr *err;
};

/* {====== Kinds of arguments ====== */

CtVal call_value(Call *c, int idx, const CallArg *as); /* a value, number or boolean of any type */
CtVal call_bool(Call *c, int idx, const CallArg *as);
/* An i32; if it is known now, it must lie within lo..hi. */
CtVal call_i32(Call *c, int idx, const CallArg *as);
/* An integer that is known now, within lo..hi; lo if it is absent. */
CtVal call_count(Call *c, int idx, const CallArg *as);

/* {====== What rows run ====== */

void call_effect(Call *c); /* the operation CallRow.op; its immediate is the first argument */

/* {====== Rows ====== */

/* Sets a function for each row in the table at the top [-0, +0, m]. Rows live for ever. */
void call_add_rows(lua_State *L, const CallRow *rows, size_t n);
/* The same of functions whose first argument may also be a record: then they are called for each of its fields. */
void call_add_field_rows(lua_State *L, const CallRow *rows, size_t n);

/* The function at the top refuses more than n arguments from now on. False: it is not of a row [-0, +0, -]. */
bool call_set_count(lua_State *L, int n);

/* Raises if the target is a CUDA device without compute capability sm / 10 or later (-sm: exactly
   that one, as sm_90a). */
void call_need_sm(lua_State *L, const CtIr *ir, const char *op, int sm);

#endif
