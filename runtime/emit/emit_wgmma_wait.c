/* emit_wgmma_wait.c: which registers wgmma_fence and wgmma_wait hold.

   The compiler does not know that time passes between a wgmma and its wait: to the compiler, the
   sums are there at once. So we write an empty assembly statement that claims to change registers.
   After each wait it names the sums that this wait may be the first to complete. Before each fence
   it names the registers that the wgmmas after the fence read. A statement for other registers
   would keep values alive that nobody needs.

   The walk follows what is in flight through the structure of the kernel: for each fragment, the
   least and the greatest number of groups committed since its last wgmma. No wait allows more than
   MAX_AGE groups (0 to 7), so all greater ages count as one. A loop therefore has finitely many
   states; they only widen, until they no longer change. */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"

enum { MAX_AGE = 8 };

typedef struct Flight {
  uint32_t buf;
  int8_t least, most;
} Flight;

/* flight has room for Walk.n_fragments entries. */
typedef struct State {
  bool is_reached;
  uint32_t n;
  Flight *flight;
} State;

/* The fragments that an operation holds: room for all of the kernel. */
typedef struct Hold {
  struct Hold *next;
  CtVal v;
  uint32_t n;
  uint32_t *bufs;
} Hold;

typedef struct CtEmitHolds {
  Hold *first;
} CtEmitHolds;

/* A loop or block that BREAKs may leave. */
typedef struct Frame {
  struct Frame *outer;
  CtVal v;
  State exit;
} Frame;

typedef struct Walk {
  CtEmit *e;
  CtEmitHolds *holds;
  Frame *frame;
  uint32_t n_fragments; /* the fragments that wgmmas add to or read */
  bool failed;          /* out of memory */
} Walk;

static void *room(Walk *w, size_t n, size_t size) {
  void *p = w->failed ? NULL : ct_arena_alloc(&w->e->arena, n * size + 1);
  if (p == NULL && !w->failed) {
    ct_emit_fail(w->e, w->e->ir->loc, CT_ENOMEM, "out of memory");
    w->failed = true;
  }
  return p;
}

/* --- states --------------------------------------------------------------------------------------- */

/* A state that no path has reached. */
static State new_state(Walk *w) {
  return (State){.flight = room(w, w->n_fragments, sizeof(Flight))};
}

static void assign(State *to, const State *from) {
  to->is_reached = from->is_reached;
  to->n = from->n;
  memcpy(to->flight, from->flight, from->n * sizeof *to->flight);
}

static Flight *find(State *s, uint32_t buf) {
  for (uint32_t i = 0; i < s->n; i++) {
    if (s->flight[i].buf == buf) {
      return &s->flight[i];
    }
  }
  return NULL;
}

static void set(State *s, Flight f) {
  Flight *at = find(s, f.buf);
  if (at == NULL) {
    at = &s->flight[s->n++];
  }
  *at = f;
}

/* True if `to` grew. */
static bool join(State *to, const State *from) {
  bool grew = from->is_reached && !to->is_reached;
  for (uint32_t i = 0; from->is_reached && i < from->n; i++) {
    Flight f = from->flight[i];
    const Flight *old = find(to, f.buf);
    if (old != NULL) {
      f.least = f.least < old->least ? f.least : old->least;
      f.most = f.most > old->most ? f.most : old->most;
    }
    grew = grew || old == NULL || f.least != old->least || f.most != old->most;
    set(to, f);
  }
  to->is_reached = to->is_reached || from->is_reached;
  return grew;
}

/* --- what is held ------------------------------------------------------------------------------------- */

static void hold(Walk *w, CtVal v, uint32_t buf) {
  Hold *h = w->holds->first;
  while (h != NULL && h->v != v) {
    h = h->next;
  }
  if (h == NULL) {
    h = room(w, 1, sizeof *h);
    uint32_t *bufs = room(w, w->e->ir->n_bufs, sizeof *bufs);
    if (w->failed) {
      return;
    }
    *h = (Hold){.next = w->holds->first, .v = v, .bufs = bufs};
    w->holds->first = h;
  }
  for (uint32_t i = 0; i < h->n; i++) {
    if (h->bufs[i] == buf) {
      return;
    }
  }
  h->bufs[h->n++] = buf;
}

/* Holds the sums that may be complete only now. Afterwards no remaining group is older than those
   that may still be pending. */
static void step_wait(Walk *w, CtVal v, State *s) {
  int64_t pending = ct_inst(w->e->ir, v)->imm.i;
  uint32_t n = 0;
  for (uint32_t i = 0; i < s->n; i++) {
    Flight f = s->flight[i];
    if (f.most > pending) {
      hold(w, v, f.buf);
      f.most = (int8_t)pending;
    }
    if (f.least <= pending) {
      s->flight[n++] = f;
    }
  }
  s->n = n;
}

static bool starts_from_0(const CtIr *ir, const CtInst *wgmma) {
  const CtInst *accumulate = ct_inst(ir, wgmma->args[0]);
  return accumulate->op == CT_OP_CONST && accumulate->imm.i == 0;
}

/* The registers that a STORE of a value computed from `sums` writes; 0: it is none. */
static uint32_t computed_from(const CtIr *ir, const CtInst *store, uint32_t sums) {
  const CtInst *value = store->op == CT_OP_STORE ? ct_inst(ir, store->args[1]) : NULL;
  uint32_t to = value == NULL ? 0 : ct_ir_memory(ir, (uint32_t)store->imm.i);
  for (uint32_t i = 0; value != NULL && i < value->n_args; i++) {
    const CtInst *from = ct_inst(ir, value->args[i]);
    if (from->op == CT_OP_LOAD && ct_ir_memory(ir, (uint32_t)from->imm.i) == sums &&
        ir->bufs[to].space == CT_REGISTER && to != sums) {
      return to;
    }
  }
  return 0;
}

/* Of sums that a wgmma after the fence replaces: holds what was computed from them since the wait
   in the same list. The compiler would move that after the wgmma, and copy all the sums. */
static void hold_computed(Walk *w, CtVal fence, uint32_t sums) {
  const CtIr *ir = w->e->ir;
  CtVal wait = ct_inst(ir, fence)->prev;
  while (wait != 0 && ct_inst(ir, wait)->op != CT_OP_WGMMA_WAIT) {
    wait = ct_inst(ir, wait)->prev;
  }
  for (CtVal v = wait; v != 0 && v != fence; v = ct_inst(ir, v)->next) {
    uint32_t buf = computed_from(ir, ct_inst(ir, v), sums);
    if (buf != 0) {
      hold(w, fence, buf);
    }
  }
}

/* Holds the registers that the wgmmas after v read, up to the next fence or the end of the
   group. */
static void step_fence(Walk *w, CtVal fence, State *s) {
  const CtIr *ir = w->e->ir;
  (void)s;
  for (CtVal v = ct_inst(ir, fence)->next; v != 0; v = ct_inst(ir, v)->next) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_WGMMA_FENCE || inst->op == CT_OP_WGMMA_COMMIT) {
      return;
    }
    if (inst->op == CT_OP_WGMMA) {
      const CtTile *t = inst->u.tile;
      if (!starts_from_0(ir, inst)) {
        hold(w, fence, ct_ir_memory(ir, t->dst.buf));
      } else {
        hold_computed(w, fence, ct_ir_memory(ir, t->dst.buf));
      }
      if (!t->wgmma->is_a_shared) {
        hold(w, fence, ct_ir_memory(ir, t->a.buf));
      }
    }
  }
}

/* --- the walk ----------------------------------------------------------------------------------------- */

static void walk(Walk *w, CtRegion r, State *s);

/* Repeats until the state stays the same. The state after the loop joins its end and all its
   BREAKs. */
static void walk_loop(Walk *w, CtVal v, State *s) {
  const CtInst *inst = ct_inst(w->e->ir, v);
  Frame frame = {.outer = w->frame, .v = v, .exit = new_state(w)};
  State body = new_state(w);
  bool grew = !w->failed;
  w->frame = &frame;
  while (grew && !w->failed) {
    assign(&body, s);
    walk(w, inst->u.regions[0], &body);
    if (inst->op == CT_OP_BLOCK) {
      assign(s, &body);
      break;
    }
    grew = join(s, &body);
  }
  w->frame = frame.outer;
  if (inst->op == CT_OP_LOOP) {
    s->is_reached = false; /* only a BREAK leaves it */
  }
  if (!w->failed) {
    (void)join(&frame.exit, s);
    assign(s, &frame.exit);
  }
}

static void walk_if(Walk *w, const CtInst *inst, State *s) {
  State other = new_state(w);
  if (w->failed) {
    return;
  }
  assign(&other, s);
  walk(w, inst->u.regions[0], s);
  if (inst->u.regions[1] != 0) {
    walk(w, inst->u.regions[1], &other);
  }
  if (!s->is_reached) {
    assign(s, &other);
  } else {
    (void)join(s, &other);
  }
}

static void walk_break(Walk *w, const CtInst *inst, State *s) {
  for (Frame *f = w->frame; f != NULL; f = f->outer) {
    if (f->v == (CtVal)inst->imm.i) {
      (void)join(&f->exit, s);
    }
  }
  s->is_reached = false;
  s->n = 0;
}

static void step_product(Walk *w, CtVal v, State *s) {
  const CtIr *ir = w->e->ir;
  set(s, (Flight){ct_ir_memory(ir, ct_inst(ir, v)->u.tile->dst.buf), 0, 0});
}

static void step_commit(Walk *w, CtVal v, State *s) {
  (void)w;
  (void)v;
  for (uint32_t i = 0; i < s->n; i++) {
    Flight *f = &s->flight[i];
    f->least = (int8_t)(f->least < MAX_AGE ? f->least + 1 : MAX_AGE);
    f->most = (int8_t)(f->most < MAX_AGE ? f->most + 1 : MAX_AGE);
  }
}

/* The operations that change what is in flight, or hold registers for it. */
static void (*const steps[CT_OP_COUNT])(Walk *w, CtVal v,
                                        State *s) = {[CT_OP_WGMMA] = step_product,
                                                     [CT_OP_WGMMA_COMMIT] = step_commit,
                                                     [CT_OP_WGMMA_WAIT] = step_wait,
                                                     [CT_OP_WGMMA_FENCE] = step_fence};

static void walk(Walk *w, CtRegion r, State *s) {
  const CtIr *ir = w->e->ir;
  for (CtVal v = ir->regions[r].first; v != 0 && !w->failed; v = ct_inst(ir, v)->next) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_IF) {
      walk_if(w, inst, s);
    } else if (ct_ops[inst->op].cls == CT_CLS_REGION) {
      walk_loop(w, v, s);
    } else if (inst->op == CT_OP_BREAK) {
      walk_break(w, inst, s);
    } else if (steps[inst->op] != NULL) {
      steps[inst->op](w, v, s);
    }
  }
}

/* Counts the fragments that hold sums, or A in registers, of any wgmma. */
static void count_fragments(Walk *w) {
  const CtIr *ir = w->e->ir;
  bool *is_seen = room(w, ir->n_bufs, sizeof *is_seen);
  if (w->failed) {
    return;
  }
  memset(is_seen, 0, ir->n_bufs * sizeof *is_seen);
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    const CtTile *t = inst->op == CT_OP_WGMMA ? inst->u.tile : NULL;
    const uint32_t bufs[] = {t == NULL ? 0 : t->dst.buf, t == NULL ? 0 : t->a.buf};
    for (size_t i = 0; t != NULL && i < CT_ARRAY_LEN(bufs); i++) {
      uint32_t memory = ct_ir_memory(ir, bufs[i]);
      w->n_fragments += ir->bufs[memory].space == CT_REGISTER && !is_seen[memory];
      is_seen[memory] = true;
    }
  }
}

static void find_holds(CtEmit *e) {
  Walk w = {.e = e};
  w.holds = room(&w, 1, sizeof *w.holds);
  count_fragments(&w);
  State start = new_state(&w);
  if (!w.failed) {
    *w.holds = (CtEmitHolds){NULL};
    start.is_reached = true;
    walk(&w, 1, &start);
    e->holds = w.holds;
  }
}

/* --- text --------------------------------------------------------------------------------------------- */

/* wgmma_hold<128>(tCrC); */
void ct_emit_wgmma_holds(CtEmit *e, CtVal v) {
  if (e->holds == NULL) {
    find_holds(e);
  }
  const Hold *h = e->holds == NULL ? NULL : e->holds->first;
  while (h != NULL && h->v != v) {
    h = h->next;
  }
  for (uint32_t i = 0; h != NULL && i < h->n; i++) {
    const CtBuf *buf = &e->ir->bufs[h->bufs[i]];
    int64_t words = buf->n_elems.v * ct_dtype_width(buf->dtype) / 32;
    bool is_word = buf->dtype == CT_f32 || buf->dtype == CT_i32 || buf->dtype == CT_u32;
    ct_emit_line(e, ct_inst(e->ir, v)->loc, "%s<%" PRId64 ">(%s%s%s);",
                 ct_emit_help(e, CT_HELP_WGMMA_HOLD), words,
                 is_word ? "" : "reinterpret_cast<unsigned*>(", e->buf_names[h->bufs[i]],
                 is_word ? "" : ")");
  }
}
