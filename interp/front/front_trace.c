/* front_trace.c: starts and ends traces, and says where in the script one failed. */
#include "front_trace.h"
#include "front_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "front_reads.h"
#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "source.h"

static void begin_trace(Front *f, CtIr *ir) {
  f->ir = ir;
  f->serial = ++f->last_serial;
  f->began = ++f->clock;
  f->touched = UINT64_MAX;
  f->n_static = 0;
  f->n_trusted = 0;
  f->dead = false;
  f->protected_at = 0;
  f->again = false;
  f->has_refused = false;
  f->reload = front_reload;
  f->n_nil_vars = 0;
  memset(&f->assigned, 0, sizeof f->assigned);
}

/* The length of "chunk" when msg is "chunk:line: text", and the line; else 0. The chunk's name may hold
   colons of its own: `input 3`, `[string "..."]`. */
static size_t find_position(const char *msg, long *line) {
  const char *end = strncmp(msg, "[string \"", 9) == 0 ? strstr(msg, "\"]:") : NULL;
  const char *p = strchr(end == NULL ? msg : end, ':');
  for (; p != NULL; p = strchr(p + 1, ':')) {
    size_t n_digits = strspn(p + 1, "0123456789");
    if (n_digits > 0 && strncmp(p + 1 + n_digits, ": ", 2) == 0) {
      *line = strtol(p + 1, NULL, 10);
      return (size_t)(p - msg);
    }
  }
  *line = 0;
  return 0;
}

/* The innermost loop that is not unrolled although its bounds are known; NULL: there is none. */
static const Frame *kept_loop(const Front *f) {
  for (const Co *co = f->cur; co != NULL; co = co->resumer) {
    for (const Frame *frame = co->top; frame != NULL; frame = frame->parent) {
      if (frame->kind == FRAME_LOOP && frame->kept != NULL) {
        return frame;
      }
    }
  }
  return NULL;
}

/* Is the message at the top about what only a run-time value or condition cannot do? */
static bool is_about_run_time(lua_State *L) {
  const char *msg = lua_tostring(L, -1);
  return strstr(msg, "run-time") != NULL || strstr(msg, " is int but is given ") != NULL ||
         strstr(msg, "of two integers") != NULL;
}

/* Goes on with what the message at the top says: a loop may be the reason that the script does not see. */
static void explain_kept_loop(lua_State *L, const Front *f) {
  const Frame *loop = kept_loop(f);
  if (loop == NULL || !is_about_run_time(L)) {
    return;
  }
  int64_t last = (int64_t)((uint64_t)loop->i + (uint64_t)loop->step * loop->left);
  const uint64_t end = (uint64_t)last + (loop->step > 0 ? 1u : UINT64_MAX);
  lua_pushfstring(L,
                  "\nThe loop over '%s' has %I iterations, so it is not unrolled, and '%s' is "
                  "a run-time value. If it must be unrolled, write 'for %s in unroll(%I, %I",
                  loop->kept, (LUAI_UACINT)loop->left + 1, loop->kept, loop->kept,
                  (LUAI_UACINT)loop->i, (LUAI_UACINT)end);
  if (loop->step != 1) {
    lua_pushfstring(L, ", %I", (LUAI_UACINT)loop->step);
    lua_concat(L, 2);
  }
  lua_pushliteral(L, ")'");
  lua_concat(L, 3);
}

/* Handler of a trace's errors: the script's line before a message without one, while the stack still
   tells it. */
static int locate_error(lua_State *L) {
  long line;
  Front *f = front_of(L);
  f->n_trusted++; /* an error value's __tostring */
  diag_push_message(L, 1);
  f->n_trusted--;
  front_explain(L);
  explain_kept_loop(L, f);
  if (find_position(lua_tostring(L, -1), &line) == 0) {
    diag_push_where(L);
    lua_insert(L, -2);
    lua_concat(L, 2);
  }
  front_explain_nil(L);
  return 1;
}

/* "chunk:line: text" as an error record; pops it. What a script meets after the IR has run out of memory is no
   fault of the script. */
static CtStatus take_error(lua_State *L, const CtIr *ir, CtErr *err) {
  const char *msg = lua_tostring(L, -1);
  long line;
  size_t len = msg == NULL ? 0 : find_position(msg, &line);
  if (ir->failed) {
    (void)ct_fail_nomem(err);
  } else if (len > 0) {
    char chunk[sizeof err->chunk];
    snprintf(chunk, sizeof chunk, "%.*s", (int)len, msg);
    ct_fail(err, CT_EINVAL, "%s", strchr(msg + len + 1, ':') + 2);
    ct_err_at(err, chunk, (int)line);
  } else {
    ct_fail(err, CT_EINVAL, "%s", msg == NULL ? "not enough memory" : msg);
  }
  lua_pop(L, 1);
  return err->status;
}

typedef struct TraceCall {
  FrontPushArgs push;
  void *ud;
} TraceCall;

static void begin_objects(lua_State *L, Front *f) {
  front_begin_numbers(L);
  front_begin_fields(L, f);
  front_begin_records(L, f);
}

static int traced_call(lua_State *L) { /* given, function, TraceCall */
  const TraceCall *call = lua_touserdata(L, 3);
  lua_settop(L, 2);
  front_patch_metatables(L);
  front_own(L, front_of(L));
  front_begin_reads(L, front_of(L));
  front_begin_whole(L);
  begin_objects(L, front_of(L));
  if (front_convert_function(L, 2, RW_KERNEL) != LUA_OK) {
    return lua_error(L);
  }
  int n_args = call->push(L, front_ir(L), call->ud, 1);
  lua_call(L, n_args, LUA_MULTRET);
  if (lua_gettop(L) > 2) {
    return front_refuse(L, "a kernel returns no values");
  }
  return 0;
}

CtStatus front_trace(lua_State *L, int fn, int given, FrontPushArgs push, void *ud, CtIr *ir,
                     CtErr *err) {
  Front *f = front_of(L);
  fn = lua_absindex(L, fn);
  if (front_is_tracing(L)) {
    return ct_fail(err, CT_EINVAL, "a kernel cannot launch a kernel; call a helper function");
  }
  if (front_co_of(f, L) == NULL) {
    return ct_fail_nomem(err); /* the caller has something to free: nothing is raised here */
  }
  Co *co = front_co(f, L);
  Frame *outer = co->top;
  TraceCall call = {push, ud};
  co->top = NULL;
  begin_trace(f, ir);
  lua_pushcfunction(L, locate_error);
  lua_pushcfunction(L, traced_call);
  if (given != 0) {
    lua_pushvalue(L, given);
  } else {
    lua_pushnil(L);
  }
  lua_pushvalue(L, fn);
  lua_pushlightuserdata(L, &call);
  front_watch(L, true);
  CtStatus status = lua_pcall(L, 3, 0, -5) == LUA_OK ? CT_OK : take_error(L, ir, err);
  front_watch(L, false);
  front_learn_types(L, f);
  front_restore_metatables(L);
  lua_pop(L, 1); /* the handler */
  co->top = outer;
  f->cur = co;
  if (f->again && status == CT_OK) {
    status = ct_fail(err, CT_EINVAL, "this kernel is to be traced again");
  }
  if (f->has_refused && status == CT_OK) { /* the script caught it */
    front_push_refusal(L);
    status = take_error(L, ir, err);
  }
  status = status == CT_OK ? front_check_types(f, err) : status;
  f->ir = NULL;
  f->serial = 0;
  return status == CT_OK ? ct_ir_finish(ir, err) : status;
}

void front_open(lua_State *L) {
  Front *f = front_open_state(L);
  lua_createtable(L, 0, RW_FN_COUNT);
  const luaL_Reg *const parts[] = {front_flow_fns, front_loop_fns,  front_for_fns, front_func_fns,
                                   front_var_fns,  front_logic_fns, front_expr_fns};
  for (size_t i = 0; i < CT_ARRAY_LEN(parts); i++) {
    lua_pushlightuserdata(L, f);
    lua_pushvalue(L, -2);
    luaL_setfuncs(L, parts[i], 2); /* upvalues: the Front, the table of runtime functions */
  }
  src_set_runtime(L); /* takes the table */
  front_open_owner(L);
  front_open_logic(L);
  front_open_expr(L);
  front_open_replace(L);
  front_open_watch(L);
  front_open_refuse(L);
  front_open_whole(L);
  front_open_fields(L);
}
