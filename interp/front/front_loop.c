/* front_loop.c: the runtime functions of while, repeat and break (contracts in rewrite.h). */
#include <lauxlib.h>

#include "interp/state/diag.h"
#include "interp/trace/front_state.h"
#include "front_parts.h"

void front_count_turn(lua_State *L, Front *f, Frame *frame) {
  if (f->ir == NULL) {
    return;
  }
  front_check_size(L, f);
  if (++frame->turns > FRONT_MAX_TURNS) {
    front_refuse(L,
                 "this loop was unrolled %d times while tracing; use 'for i in range(a, b)' "
                 "for a loop in the kernel",
                 FRONT_MAX_TURNS);
  }
}

bool front_goes_on(lua_State *L, Front *f, Frame *frame) {
  if (frame->is_done || (f->ir != NULL && f->dead)) {
    return false;
  }
  front_count_turn(L, f, frame);
  return true;
}

static void open_loop(lua_State *L, Front *f, Frame *frame) {
  front_at(L, f);
  frame->op = ct_ir_loop(f->ir);
  front_become_runtime(f, frame);
  front_enter(L, f, frame);
}

/* Turns that left code in the kernel are bounded as those of a numeric for. Others only compute in Lua. */
static void count_copy(lua_State *L, const Front *f, Frame *frame) {
  int64_t most = f->ir->max_unroll > 0 ? f->ir->max_unroll : FRONT_MAX_UNROLL;
  frame->copies += frame->turns > 1 && ct_ir_position(f->ir) != frame->position;
  if (frame->copies > most) {
    front_refuse(L,
                 "the condition of this while is known while tracing, and more than %I "
                 "iterations put code into the kernel; write dynamic(n) for the limit to keep the "
                 "loop, or allow more unrolling: kernel(fn, {max_unroll = n})",
                 (LUAI_UACINT)most);
  }
}

static int while_next(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_arg(L);
  if (frame->runtime || !front_goes_on(L, f, frame)) {
    return 0;
  }
  if (f->ir != NULL && !frame->wants_region) {
    count_copy(L, f, frame);
  }
  if (frame->wants_region) {
    open_loop(L, f, frame);
    lua_pushvalue(L, 1);
    return 1;
  }
  if (f->ir != NULL) {
    frame->position = ct_ir_position(f->ir);
    frame->probed_at = ++f->clock;
    frame->touched_before = f->touched;
    f->touched = UINT64_MAX;
  }
  lua_pushboolean(L, 0);
  return 1;
}

static int rt_while(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_push(L, f, FRAME_LOOP);
  frame->loop = "while";
  return front_return_loop(L, while_next, -1);
}

/* `if (c) break`, c a run-time bool. */
static void emit_exit_if(lua_State *L, Front *f, Frame *frame, CtVal c) {
  bool ignored = false;
  front_at(L, f);
  CtVal op = ct_ir_if(f->ir, c);
  ct_ir_break(f->ir, frame->op);
  ct_ir_end(f->ir, op);
  front_join(f, &frame->joined, &ignored);
  frame->loop_exit = true;
}

/* The condition was evaluated; whether that changed something that was there before. */
static bool end_probe(Front *f, const Frame *frame) {
  bool changed = f->touched < frame->probed_at;
  f->touched = f->touched < frame->touched_before ? f->touched : frame->touched_before;
  return changed;
}

static int rt_wc(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_top(L, f, FRAME_LOOP);
  CtVal c = 0;
  int truth = front_truth(L, 1, "while", &c);
  bool changed = f->ir != NULL && !frame->wants_region && end_probe(f, frame);
  if (truth >= 0) {
    front_note(L, f, "while", truth == 1);
    frame->is_done = truth == 0;
    if (truth == 0 && frame->runtime) {
      front_exit(L, f, frame);
    }
    lua_pushboolean(L, truth);
  } else if (frame->runtime) {
    front_at(L, f);
    emit_exit_if(L, f, frame, ct_ir_unary(f->ir, CT_OP_LNOT, c));
    lua_pushboolean(L, 1);
  } else if (changed) {
    return front_refuse(L,
                        "the condition of a run-time while changes Lua state; write 'while true do "
                        "... if not c then break end'");
  } else {
    ct_ir_rollback(f->ir, frame->position);
    frame->wants_region = true;
    lua_pushboolean(L, 0);
  }
  return 1;
}

/* While tracing, the body runs once; on the host, until the loop ends. */
static int loop_next(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_arg(L);
  if (f->ir == NULL) {
    lua_pushboolean(L, 1);
    return frame->is_done ? 0 : 1;
  }
  if (frame->runtime) {
    if (!frame->loop_exit && !frame->pending) {
      return front_refuse(L, "this loop has no exit; write 'break' under a condition");
    }
    return 0;
  }
  open_loop(L, f, frame);
  lua_pushvalue(L, 1);
  return 1;
}

static int rt_loop(lua_State *L) {
  Frame *frame = frame_push(L, front_up(L), FRAME_LOOP);
  frame->loop = "loop";
  return front_return_loop(L, loop_next, -1);
}

static int rt_until(lua_State *L) {
  Front *f = front_up(L);
  Frame *frame = frame_top(L, f, FRAME_LOOP);
  CtVal c = 0;
  int truth = front_truth(L, 1, "until", &c);
  if (truth < 0) {
    emit_exit_if(L, f, frame, c);
  } else if (truth == 1 && f->ir != NULL) {
    front_exit(L, f, frame);
  } else {
    frame->is_done = truth == 1;
  }
  return 0;
}

static int rt_brk(lua_State *L) {
  Front *f = front_up(L);
  if (f->ir != NULL) {
    Frame *target = frame_top(L, f, FRAME_LOOP);
    if (target->runtime || !front_is_plain(f, L, target)) {
      front_exit(L, f, target);
      lua_pushboolean(L, 0);
      return 1;
    }
  }
  lua_pushboolean(L, 1);
  return 1;
}

const luaL_Reg front_loop_fns[] = {{"while", rt_while}, {"wc", rt_wc},   {"loop", rt_loop},
                                   {"until", rt_until}, {"brk", rt_brk}, {NULL, NULL}};
