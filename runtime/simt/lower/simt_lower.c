/* simt_lower.c: lowering to the CPU engine, second stage: instructions over virtual slots. What depends
   on the launch and the thread only goes to the prologue. */
#include "simt_lower.h"

static void lower_barrier(CtLow *l) {
  CT_LOW_EMIT(l, false, CT_SIMT_BARRIER, ct_low_construct(l), 0, 0, 0);
}

static CtStatus fail_escape(const CtLow *l, CtErr *err) {
  CtStatus status = ct_fail(err, CT_EUNSUPPORTED,
                            "cuda[[...]]: the CPU engine cannot run CUDA C; give a Lua twin or run "
                            "on a CUDA device");
  ct_err_at(err, ct_ir_chunk(l->ir, l->loc), l->loc.line);
  return status;
}

static CtStatus lower_op(CtLow *l, CtVal v, CtErr *err) {
  const CtInst *inst = ct_inst(l->ir, v);
  CtOpClass cls = ct_ops[inst->op].cls;
  if ((cls == CT_CLS_PURE || cls == CT_CLS_READ) && !ct_low_is(l, v, CT_NEEDED)) {
    return CT_OK;
  }
  if (cls == CT_CLS_PURE) {
    ct_low_pure(l, v);
    return CT_OK;
  }
  if (cls == CT_CLS_TILE) {
    return ct_low_view_op(l, v, err);
  }
  switch ((CtOp)inst->op) {
    case CT_OP_LOAD: ct_low_load(l, v); break;
    case CT_OP_STORE: ct_low_store(l, v); break;
    case CT_OP_GET: ct_low_get(l, v); break;
    case CT_OP_SET: ct_low_set(l, v); break;
    case CT_OP_BREAK: ct_low_break(l, v); break;
    case CT_OP_BARRIER: lower_barrier(l); break;
    case CT_OP_ESCAPE: return fail_escape(l, err);
    case CT_OP_TMA_LOAD:
    case CT_OP_TMA_STORE: ct_low_tma(l, inst); break;
    case CT_OP_TMA_COMMIT:
    case CT_OP_TMA_WAIT:
    case CT_OP_PROXY_FENCE: ct_low_tma_order(l, inst); break;
    case CT_OP_SYNC_WARP: CT_LOW_EMIT(l, false, CT_SIMT_SYNC_WARP, 0, 0, 0, 0); break;
    case CT_OP_CP_FENCE: CT_LOW_EMIT(l, false, CT_SIMT_CP_FENCE, 0, 0, 0, 0); break;
    case CT_OP_CLUSTER_ARRIVE:
      CT_LOW_EMIT(l, false, CT_SIMT_CLUSTER_ARRIVE, ct_low_construct(l), 0, 0, 0);
      break;
    case CT_OP_CLUSTER_WAIT:
      CT_LOW_EMIT(l, false, CT_SIMT_CLUSTER_WAIT, ct_low_construct(l), 0, 0, 0);
      break;
    case CT_OP_REMOTE: break; /* its accesses turn the buffer: ct_low_each */
    case CT_OP_GRID_WAIT: CT_LOW_EMIT(l, false, CT_SIMT_GRID_WAIT, 0, 0, 0, 0); break;
    case CT_OP_GRID_LAUNCH: CT_LOW_EMIT(l, false, CT_SIMT_GRID_LAUNCH, 0, 0, 0, 0); break;
    case CT_OP_CP_WAIT:
      (void)ct_low_emit(l, false, CT_SIMT_CP_WAIT, 0, 0, 0, 0, inst->imm.i);
      break;
    case CT_OP_WGMMA_FENCE: CT_LOW_EMIT(l, false, CT_SIMT_WGMMA_FENCE, 0, 0, 0, 0); break;
    case CT_OP_WGMMA_COMMIT: CT_LOW_EMIT(l, false, CT_SIMT_WGMMA_COMMIT, 0, 0, 0, 0); break;
    case CT_OP_WGMMA_WAIT:
      (void)ct_low_emit(l, false, CT_SIMT_WGMMA_WAIT, 0, 0, 0, 0, inst->imm.i);
      break;
    default: ct_low_warp(l, v); break;
  }
  return CT_OK;
}

static CtStatus lower_events(CtLow *l, CtErr *err) {
  CtStatus status = CT_OK;
  ct_low_begin(l);
  for (size_t i = 0; i < l->n_events && status == CT_OK && !l->failed; i++) {
    CtEvent e = l->events[i];
    l->loc = ct_inst(l->ir, e.v)->loc;
    l->region = ct_inst(l->ir, e.v)->region;
    switch (e.kind) {
      case CT_EVENT_OP: status = lower_op(l, e.v, err); break;
      case CT_EVENT_ENTER: ct_low_enter(l, e.v); break;
      case CT_EVENT_ELSE: ct_low_else(l); break;
      case CT_EVENT_LEAVE: ct_low_leave(l); break;
    }
  }
  ct_low_end(l);
  return status;
}

static void *zeroed(CtLow *l, size_t n, size_t size) {
  void *p = ct_arena_alloc(&l->tmp, n * size + 1);
  l->failed = l->failed || p == NULL;
  return p;
}

/* Entry 0 of the arrays that have an unused one. */
static void add_sentinels(CtLow *l) {
  (void)ct_low_slot(l, CT_CLASS_SCALAR, 8, true);
  if (CT_LOW_GROW(l, memos, n_memos, cap_memos) &&
      CT_LOW_GROW(l, constructs, n_constructs, cap_constructs)) {
    l->memos[l->n_memos++] = (CtMemo){.slot = 0};
    l->constructs[l->n_constructs++] = (CtConstruct){.row = 0};
  }
}

static void open_low(CtLow *l, CtAlloc alloc, const CtIr *ir) {
  *l = (CtLow){.alloc = alloc, .ir = ir};
  ct_arena_init(&l->tmp, alloc);
  l->flags = zeroed(l, ir->n_insts, sizeof *l->flags);
  l->is_divergent = zeroed(l, ir->n_regions, sizeof *l->is_divergent);
  l->slot_of = zeroed(l, ir->n_insts, sizeof *l->slot_of);
  l->reg_slots = zeroed(l, ir->n_bufs, sizeof *l->reg_slots);
  add_sentinels(l);
}

static void close_stream(CtLow *l, CtStream *s) {
  ct_free(l->alloc, s->in, s->cap * sizeof *s->in);
  ct_free(l->alloc, s->locs, s->cap_locs * sizeof *s->locs);
}

static void close_low(CtLow *l) {
  CtAlloc a = l->alloc;
  ct_free(a, l->events, l->cap_events * sizeof *l->events);
  ct_free(a, l->slots, l->cap_slots * sizeof *l->slots);
  close_stream(l, &l->prologue);
  close_stream(l, &l->body);
  ct_free(a, l->memos, l->cap_memos * sizeof *l->memos);
  ct_free(a, l->labels, l->cap_labels * sizeof *l->labels);
  ct_free(a, l->frames, l->cap_frames * sizeof *l->frames);
  ct_free(a, l->loops, l->cap_loops * sizeof *l->loops);
  ct_free(a, l->consts, l->cap_consts * sizeof *l->consts);
  ct_free(a, l->const_slots, l->cap_const_slots * sizeof *l->const_slots);
  ct_free(a, l->params, l->cap_params * sizeof *l->params);
  ct_free(a, l->modes, l->cap_modes * sizeof *l->modes);
  ct_free(a, l->tiles, l->cap_tiles * sizeof *l->tiles);
  ct_free(a, l->guards, l->cap_guards * sizeof *l->guards);
  ct_free(a, l->constructs, l->cap_constructs * sizeof *l->constructs);
  ct_free(a, l->tmas, l->cap_tmas * sizeof *l->tmas);
  ct_free(a, (void *)l->texts, l->cap_texts * sizeof *l->texts);
  ct_arena_clear(&l->tmp);
}

static CtStatus lower(CtLow *l, CtErr *err) {
  CtStatus status = CT_ENOMEM;
  if (!l->failed) {
    ct_low_analyse(l);
    status = l->failed ? CT_ENOMEM : lower_events(l, err);
  }
  if (status == CT_OK && !l->failed) {
    status = ct_low_finish(l, err);
  }
  return l->failed ? ct_fail_nomem(err) : status;
}

CtStatus ct_low_program(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  CtSimtProgram *p = ct_alloc(alloc, sizeof *p);
  if (p == NULL) {
    return ct_fail_nomem(err);
  }
  *p = (CtSimtProgram){.alloc = alloc};
  ct_arena_init(&p->arena, alloc);
  CtLow *l = ct_alloc(alloc, sizeof *l);
  CtStatus status = CT_ENOMEM;
  if (l != NULL) {
    open_low(l, alloc, ir);
    l->p = p;
    status = lower(l, err);
    close_low(l);
    ct_free(alloc, l, sizeof *l);
  } else {
    status = ct_fail_nomem(err);
  }
  if (status != CT_OK) {
    ct_simt_free(p);
    return status;
  }
  *out = p;
  return CT_OK;
}
