/* front.c: the state of the running trace: its frames, coroutines and script lines. */
#include "front.h"

#include <string.h>

#include "interp/state/diag.h"
#include "front_state.h"
#include "interp/state/state.h"

static char front_key; /* its address names the Front in the registry */

Front *front_of(lua_State *L) {
  const CuttleState *s = state_of(L);
  return s == NULL ? NULL : s->front;
}

CtIr *front_ir_in(const Front *f) { return f == NULL ? NULL : f->ir; }

CtIr *front_ir(lua_State *L) { return front_ir_in(front_of(L)); }

const CtDyn *front_dyn(lua_State *L) {
  CtIr *ir = front_ir(L);
  return ir == NULL ? NULL : &ir->dyn;
}

const Front *front_find(lua_State *L) { return front_of(L); }

bool front_traces(const Front *f) { return f->ir != NULL || f->n_static > 0; }

bool front_is_tracing(lua_State *L) { return front_traces(front_of(L)); }

bool front_may_launch(lua_State *L) {
  const CuttleState *s = state_of(L);
  return s->mode == STATE_RUN && s->rank < 0 && !taps_are_open(&s->taps) && !front_is_tracing(L);
}

uint32_t front_serial(lua_State *L) { return front_of(L)->serial; }

CtIr *front_here(lua_State *L, const char *name) {
  Front *f = front_of(L);
  if (f->ir == NULL) {
    diag_error(L,
               f->n_static == 0 ? "'%s' exists only inside a kernel"
                                : "'%s' exists only inside a kernel; a function of static_fn runs "
                                  "outside of it, while tracing",
               name);
  }
  front_at(L, f);
  return f->ir;
}

void front_at(lua_State *L, Front *f) {
  lua_Debug ar;
  if (f->ir != NULL && diag_find_script(L, &ar)) {
    ct_ir_at(f->ir, ar.short_src, ar.currentline);
  }
}

/* --- coroutines --------------------------------------------------------------------------------- */

static bool is_resumer(const Co *of, const Co *co) {
  while (of != NULL && of != co) {
    of = of->resumer;
  }
  return of != NULL;
}

Co *front_co_of(Front *f, lua_State *L) {
  Co *co = f->cos;
  while (co != NULL && co->L != L) {
    co = co->next;
  }
  if (co == NULL) {
    co = ct_alloc(f->alloc, sizeof *co);
    if (co != NULL) {
      *co = (Co){.L = L, .next = f->cos};
      f->cos = co;
    }
  }
  return co;
}

Co *front_co(Front *f, lua_State *L) {
  if (f->cur != NULL && f->cur->L == L) {
    return f->cur;
  }
  Co *co = front_co_of(f, L);
  if (co == NULL) {
    luaL_error(L, "not enough memory");
    return NULL;
  }
  if (!is_resumer(f->cur, co)) { /* else f->cur yielded or ended */
    co->resumer = f->cur;
  }
  f->cur = co;
  return co;
}

static int front_gc(lua_State *L) {
  Front *f = lua_touserdata(L, 1);
  while (f->cos != NULL) {
    Co *next = f->cos->next;
    ct_free(f->alloc, f->cos, sizeof *f->cos);
    f->cos = next;
  }
  f->cur = NULL;
  return 0;
}

/* --- frames ------------------------------------------------------------------------------------- */

void front_check_size(lua_State *L, const Front *f) {
  if (f->ir->n_insts > FRONT_MAX_OPS) {
    diag_error(L,
               "the kernel has more than %d operations by here; use 'for i in range(a, b)' for a "
               "loop in the kernel, and let recursion end on a static value",
               FRONT_MAX_OPS);
  }
}

Frame *frame_push(lua_State *L, Front *f, FrameKind kind) {
  Frame *frame = lua_newuserdatauv(L, sizeof *frame, 2);
  memset(frame, 0, sizeof *frame);
  Co *co = front_co(f, L);
  frame->kind = kind;
  frame->co = co;
  frame->parent = co->top;
  frame->is_open = true;
  frame->n_results = -1;
  luaL_setmetatable(L, FRAME_TYPE);
  co->top = frame;
  if (f->ir != NULL) {
    front_check_size(L, f);
    frame->opened_at = ++f->clock;
    frame->region = f->ir->cur;
    frame->before = f->assigned;
    memset(&frame->joined, 0xff, sizeof frame->joined);
    frame->position = ct_ir_position(f->ir);
    if (kind == FRAME_FUNC || kind == FRAME_LOOP || kind == FRAME_MARK) {
      frame->block = ct_ir_block_begin(f->ir);
    }
  }
  return frame;
}

Frame *frame_top(lua_State *L, Front *f, FrameKind kind) {
  Frame *frame = front_co(f, L)->top;
  while (frame != NULL && frame->kind != kind) {
    frame = frame->parent;
  }
  if (frame == NULL) {
    luaL_error(L, "the state of the trace is damaged: a frame is missing");
  }
  return frame;
}

void front_join(Front *f, Assigned *into, bool *some_live) {
  if (!f->dead) {
    *some_live = true;
    for (size_t i = 0; i < CT_ARRAY_LEN(into->w); i++) {
      into->w[i] &= f->assigned.w[i];
    }
  }
}

/* The IR goes back to where the construct stands; what follows is live if an end or exit is. */
static void end_region(Front *f, Frame *frame) {
  CtIr *ir = f->ir;
  ir->cur = frame->region;
  if (frame->kind == FRAME_IF && frame->runtime) {
    f->dead = !frame->some_live;
    f->assigned = frame->joined;
  } else if (frame->kind == FRAME_LOOP && frame->runtime) {
    f->dead = !frame->has_exit && !frame->loop_exit;
    f->assigned = frame->joined;
    ct_ir_block_end(ir, frame->block, frame->has_exit);
  } else if (frame->block != 0) {
    if (frame->has_exit) {
      front_join(f, &frame->joined, &frame->some_live);
      f->assigned = frame->joined;
      f->dead = false;
    }
    ct_ir_block_end(ir, frame->block, frame->has_exit);
  }
}

void frame_end(lua_State *L, Front *f, Frame *frame) {
  if (!frame->is_open) {
    return;
  }
  Frame *top = frame->co->top;
  while (top != NULL && top != frame) {
    top->is_open = false;
    top = top->parent;
  }
  if (top != NULL) {
    frame->co->top = frame->parent;
  }
  frame->is_open = false;
  if (f->ir != NULL && frame->region != 0) {
    end_region(f, frame);
    if (frame->runtime || frame->has_exit) {
      f->reload(L, f, frame->opened_at);
    }
  }
}

static int frame_close(lua_State *L) {
  Frame *frame = lua_touserdata(L, 1);
  Front *f = front_of(L);
  if (lua_isnoneornil(L, 2)) {
    frame_end(L, f, frame);
  } else if (frame->is_open &&
             frame->co != NULL) { /* unwinding: the trace is lost or nothing was recorded */
    frame->co->top = frame->parent;
    frame->is_open = false;
  }
  return 0;
}

/* A generator that was never finished leaves its frame to the collector, with its coroutine. */
static int frame_gc(lua_State *L) {
  Frame *frame = lua_touserdata(L, 1);
  const Front *f = front_of(L);
  const Co *known = f == NULL ? NULL : f->cos;
  while (known != NULL && known != frame->co) {
    known = known->next;
  }
  if (frame->is_open && known != NULL && frame->co->top == frame) {
    frame->co->top = NULL;
  }
  return 0;
}

static uint64_t newest(uint64_t at, const Frame *frame) {
  at = frame->runtime && frame->runtime_at > at ? frame->runtime_at : at;
  return frame->pending && frame->pending_at > at ? frame->pending_at : at;
}

uint64_t front_condition(Front *f, lua_State *L) {
  uint64_t at = 0;
  if (f->ir == NULL && f->n_static == 0) {
    return 0;
  }
  for (const Co *co = front_co(f, L); co != NULL; co = co->resumer) {
    for (const Frame *frame = co->top; frame != NULL; frame = frame->parent) {
      at = newest(at, frame);
    }
  }
  return at;
}

bool front_is_plain(Front *f, lua_State *L, const Frame *target) {
  const Frame *frame = front_co(f, L)->top;
  for (; frame != NULL && frame != target; frame = frame->parent) {
    if (frame->runtime || frame->has_exit) { /* exits beyond the target do not come back to it */
      return false;
    }
  }
  return true;
}

/* Lua closes a local once, at its end: threads that leave before would miss it. */
static void check_closing(lua_State *L, Front *f, const Frame *target) {
  for (const Frame *frame = front_co(f, L)->top; frame != NULL; frame = frame->parent) {
    if (frame->kind == FRAME_CLOSE) {
      diag_error(L,
                 "a run-time jump leaves the to-be-closed local '%s'; close it outside of what the "
                 "jump leaves",
                 frame->loop);
    }
    if (frame == target) {
      break;
    }
  }
}

/* The block of a frame that is left for the first time need not hold what was recorded before. */
static void begin_late(lua_State *L, Front *f, const Frame *target) {
  CtVal inner = 0;
  for (const Frame *frame = front_co(f, L)->top; frame != NULL && frame != target;
       frame = frame->parent) {
    inner = frame->has_exit && frame->region == target->region ? frame->block : inner;
  }
  ct_ir_block_late(f->ir, target->block, target->region, inner);
}

static void mark_pending(lua_State *L, Front *f, const Frame *target) {
  uint64_t now = ++f->clock;
  for (Frame *frame = front_co(f, L)->top; frame != NULL; frame = frame->parent) {
    frame->pending_at = frame->pending ? frame->pending_at : now;
    frame->pending = true;
    if (frame == target) {
      break;
    }
  }
}

/* The first exit to the target's block. An exit through the target may have come before it, and what was made
   between the two is not older than this one. */
static void note_exit(lua_State *L, Front *f, Frame *target) {
  target->pending_at = f->clock;
  for (const Frame *frame = front_co(f, L)->top; frame != NULL && frame != target;
       frame = frame->parent) {
    if (frame->runtime) {
      target->exit_op = frame->kind == FRAME_LOGIC ? 0 : frame->op;
      target->exit_place = frame->place;
    } else if (frame->has_exit) {
      target->exit_op = frame->block;
      target->exit_place = frame->exit_place;
    }
  }
}

void front_exit(lua_State *L, Front *f, Frame *target) {
  check_closing(L, f, target);
  mark_pending(L, f, target);
  front_join(f, &target->joined, &target->some_live);
  bool to_loop = target->kind == FRAME_LOOP && target->runtime;
  if (!to_loop && !target->has_exit) {
    begin_late(L, f, target);
    note_exit(L, f, target);
  }
  *(to_loop ? &target->loop_exit : &target->has_exit) = true;
  front_at(L, f);
  ct_ir_break(f->ir, to_loop ? target->op : target->block);
  f->dead = true;
}

/* --- opening ------------------------------------------------------------------------------------ */

Front *front_open_state(lua_State *L) {
  Front *f = lua_newuserdatauv(L, sizeof *f, 0);
  memset(f, 0, sizeof *f);
  f->alloc = state_of(L)->alloc;
  lua_createtable(L, 0, 1);
  lua_pushcfunction(L, front_gc);
  lua_setfield(L, -2, "__gc");
  lua_setmetatable(L, -2);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &front_key);
  state_of(L)->front = f;

  static const luaL_Reg frame_meta[] = {{"__close", frame_close}, {"__gc", frame_gc}, {NULL, NULL}};
  luaL_newmetatable(L, FRAME_TYPE);
  luaL_setfuncs(L, frame_meta, 0);
  lua_pop(L, 1);
  return f;
}
