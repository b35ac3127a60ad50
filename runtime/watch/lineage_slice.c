/* lineage_slice.c: walks the history of a cluster backwards.

   Invariant: a set holds the places whose values are still wanted: bytes of memory, and lanes of
   slots. A step that writes a wanted place takes it out of the set and puts in what it read to
   compute it. What is left at the beginning came from outside.

   The steps are in the order in which the engine ran them. The threads of a GPU may run in this
   order too. */
#include <string.h>

#include "lineage_walk.h"

/* --- memory --------------------------------------------------------------------------------------------- */

/* The worker in whose memory the step's operands are. */
static const CtWorker *worker_of(const CtSlice *s) {
  return &s->r->team[s->step->rank ^ s->across];
}

static const char *ptr_of(const CtSlice *s, const CtAccess *a) {
  const char *own = s->r->ptrs[a - s->r->accesses];
  return s->across == 0 ? own : worker_of(s)->shared + (own - s->r->team[s->step->rank].shared);
}

/* The place of the first byte of an element; those that follow have the next numbers. */
static uint64_t element_place(const CtSlice *s, const CtAccess *a, int64_t off, int lane) {
  return memory_place(ptr_of(s, a) + off * (int64_t)a->mem->elem_bytes +
                      (int64_t)lane * a->mem->lane_bytes);
}

/* The block in whose shared memory the buffer was. */
static int64_t owner_of(const CtSlice *s, const CtAccess *a) {
  const CtWorker *team = s->r->team;
  for (int i = 0; a->buf->is_remote && i < s->p->n_cluster; i++) {
    if (team[i].shared + a->buf->at == ptr_of(s, a)) {
      return team[i].block;
    }
  }
  return worker_of(s)->block;
}

static void note_memory(CtSlice *s, CtLineageKind kind, const CtAccess *a, int64_t off, int lane) {
  if (a->buf->space != CT_REGISTER) {
    ct_slice_note_in(s, kind, a->buf_index, off, lane, owner_of(s, a));
  }
}

static bool element_at(const CtSlice *s, const CtAccess *a, int64_t e, int lane, int64_t *off) {
  return ct_history_at(s->r, (uint32_t)(a - s->r->accesses), e, lane, off);
}

/* Wants an element of a lane, for a value that this step gives to lane `by`; a 0 if a guard or a predicate leaves it
   out. */
static void want_element_for(CtSlice *s, const CtAccess *a, int64_t e, int lane, int by) {
  int64_t off, bytes = (int64_t)ct_value_bytes(a->buf->dtype);
  if (!element_at(s, a, e, lane, &off)) {
    ct_slice_want_zero(s, by);
    return;
  }
  uint64_t at = element_place(s, a, off, lane);
  ct_slice_want_all(s, at, bytes, by);
  ct_slice_name_wanted(s, bytes, a->buf_index, off);
  note_memory(s, CT_LINEAGE_READS, a, off, by);
}

static void want_element(CtSlice *s, const CtAccess *a, int64_t e, int lane) {
  want_element_for(s, a, e, lane, lane);
}

/* Did the set have a byte of the element that this step writes? Takes its bytes out. */
static bool take_element(CtSlice *s, const CtAccess *a, int64_t e, int lane) {
  int64_t off, bytes = (int64_t)ct_value_bytes(a->buf->dtype);
  bool found = false;
  if (s->wanted.n > 0 && element_at(s, a, e, lane, &off)) {
    uint64_t at = element_place(s, a, off, lane);
    for (int64_t i = 0; i < bytes && ct_places_may_have(&s->wanted, at, (uint64_t)bytes); i++) {
      found |= ct_slice_take(s, at + (uint64_t)i, lane);
    }
    if (found) {
      note_memory(s, CT_LINEAGE_WRITES, a, off, lane);
    }
  }
  return found;
}

/* --- slots ------------------------------------------------------------------------------------------------ */

/* A scalar is a value of each lane; the engine merely keeps it only once. */
static bool is_value(char role) { return role != '\0' && strchr("svm", role | 32) != NULL; }

static uint32_t field(const CtIn *in, int i) {
  const uint32_t fields[4] = {in->d, in->a, in->b, in->c};
  return fields[i];
}

static void want_slot(CtSlice *s, int i, int lane) {
  if (is_value(ct_in_roles(s->code)[i])) {
    ct_slice_want(s, slot_place(s->step, field(s->code, i), lane), lane);
  }
}

/* Takes a lane of the slot in field d out of the set. */
static bool take_slot(CtSlice *s, int lane) {
  return ct_slice_take(s, slot_place(s->step, s->code->d, lane), lane);
}

/* --- instructions ----------------------------------------------------------------------------------------- */

static bool is_scalar(char role) { return (role | 32) == 's'; }

static bool is_active(const CtSlice *s, int lane) { return (s->step->mask >> lane & 1) != 0; }

/* Is any lane of the slot in field d wanted? */
static bool may_take_slot(const CtSlice *s) {
  return ct_places_may_have(&s->wanted, slot_place(s->step, s->code->d, 0), CT_LANES);
}

/* Wants the operands of an instruction; for a choice, only the one that was chosen. */
static void want_operands(CtSlice *s, int lane) {
  if (ct_in_row(s->code)->selects) {
    want_slot(s, (s->step->chosen >> lane & 1) != 0 ? 2 : 3, lane);
    return;
  }
  for (int i = 1; i < 4; i++) {
    want_slot(s, i, lane);
  }
}

static void walk_plain(CtSlice *s) {
  char role = ct_in_roles(s->code)[0];
  bool is_set = ct_in_row(s->code)->moves == CT_MOVES_TO_VARIABLE; /* though its letter is small */
  uint32_t lanes = is_set && !is_scalar(role) ? s->step->mask : CT_ALL_LANES;
  if (!is_value(role) || (role >= 'a' && !is_set) || !may_take_slot(s)) {
    return;
  }
  for (uint32_t rest = lanes; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (!take_slot(s, lane)) {
      continue;
    }
    want_operands(s, lane);
    if (is_active(s, lane)) {
      ct_slice_add_computes(s, lane);
    }
  }
}

static uint32_t take_slots(CtSlice *s) {
  uint32_t taken = 0;
  for (int lane = may_take_slot(s) ? 0 : CT_LANES; lane < CT_LANES; lane++) {
    taken |= (uint32_t)ct_places_take(&s->wanted, slot_place(s->step, s->code->d, lane)) << lane;
  }
  return taken;
}

/* Values that lanes get from other lanes: a VOTE from all of them. */
static void walk_lanes(CtSlice *s) {
  for (uint32_t rest = take_slots(s) & s->step->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    ct_slice_mark(s, CT_TRAIL_TAKE, slot_place(s->step, s->code->d, lane), lane);
    uint32_t from = s->step->from == NULL ? s->step->mask : s->step->from[lane];
    for (; from != 0; from &= from - 1) {
      want_slot(s, 1, ct_first_lane(from));
    }
    ct_slice_add_computes(s, lane);
  }
}

/* What a warp adds to a tally has a place that is no slot: at 0 or 1 in turn. */
static uint64_t tally_place(const CtStep *s, int warp) {
  CtStep of = *s;
  of.warp = (int16_t)warp;
  return slot_place(&of, s->chosen, 0);
}

static void walk_tally(CtSlice *s) {
  bool is_wanted = ct_places_take(&s->wanted, tally_place(s->step, s->step->warp));
  for (uint32_t rest = is_wanted ? s->step->mask : 0; rest != 0; rest &= rest - 1) {
    want_slot(s, 1, ct_first_lane(rest));
  }
}

static void walk_tallied(CtSlice *s) {
  uint32_t wanted = take_slots(s) & s->step->mask;
  for (int warp = 0; wanted != 0 && warp < s->p->n_warps; warp++) {
    ct_places_want(&s->wanted, tally_place(s->step, warp));
  }
  for (; wanted != 0; wanted &= wanted - 1) {
    ct_slice_add_computes(s, ct_first_lane(wanted));
  }
}

/* d has a value for each active lane, or one for all of them from the same element. */
static void walk_load(CtSlice *s, const CtAccess *a) {
  bool is_one = is_scalar(ct_in_roles(s->code)[0]);
  for (uint32_t rest = is_one ? CT_ALL_LANES : s->step->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (take_slot(s, lane)) {
      want_element(s, a, 0, is_active(s, lane) ? lane : ct_first_lane(s->step->mask));
    }
  }
}

static void walk_store(CtSlice *s, const CtAccess *a) {
  for (int lane = CT_LANES - 1; lane >= 0; lane--) { /* the last lane wins */
    if (take_element(s, a, 0, lane)) {
      want_slot(s, 0, lane);
    }
  }
}

static void walk_dot(CtSlice *s, const CtAccess *a) {
  for (uint32_t rest = s->step->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    if (!take_slot(s, lane)) {
      continue;
    }
    want_slot(s, 3, lane);
    ct_slice_add_computes(s, lane);
    for (int64_t e = 0; e < a[0].n; e++) {
      want_element(s, &a[0], e, lane);
      want_element(s, &a[1], e, lane);
    }
  }
}

/* The lanes came one after the other, so the walk begins with the last. An operation on two
   elements at once has both in one value. */
static void walk_atomic(CtSlice *s, const CtAccess *a) {
  CtAtomicImm imm = {.imm = s->code->imm};
  bool replaces = imm.u.op == CT_OP_ATOMIC_STORE || imm.u.op == CT_OP_ATOMIC_EXCH;
  for (int lane = CT_LANES - 1; lane >= 0; lane--) {
    bool old = is_active(s, lane) && take_slot(s, lane), written = false;
    for (int64_t e = 0; e < a->n && a->writes; e++) {
      if (take_element(s, a, e, lane)) {
        written = true;
        if (!replaces) {
          want_element(s, a, e, lane);
        }
      }
    }
    if (written) {
      want_slot(s, 2, lane);
    }
    if (written && imm.u.op == CT_OP_ATOMIC_CAS) {
      want_slot(s, 3, lane);
    }
    for (int64_t e = 0; e < a->n && old; e++) {
      want_element(s, a, e, lane);
    }
  }
}

/* --- tile operations ---------------------------------------------------------------------------------------- */

static const CtAccess *by_role(const CtSlice *s, CtAccessRole role) {
  for (uint32_t i = 0; i < s->step->n_accesses; i++) {
    const CtAccess *a = &s->r->accesses[s->step->accesses + i];
    if (a->role == role) {
      return a;
    }
  }
  return NULL;
}

static void want_products(CtSlice *s, const CtAccess *dst, int64_t e, int lane) {
  const CtAccess *a = by_role(s, CT_ACCESS_A), *b = by_role(s, CT_ACCESS_B);
  const CtTileOp *t = &s->p->tiles[s->code->imm];
  int64_t m = e % dst->n_rows, n = e / dst->n_rows;
  int64_t n_k = t->elementwise || a->n_rows == 0 ? 1 : a->n / a->n_rows;
  for (int64_t k = 0; k < n_k; k++) {
    want_element(s, a, t->elementwise ? e : m + k * a->n_rows, lane);
    want_element(s, b, t->elementwise ? e : n + k * b->n_rows, lane);
  }
}

/* Wants the element at a place of an atom's A or B, of the group of lanes that has it. */
static void want_of_atom(CtSlice *s, const CtAccess *x, int which, int group, int at, int64_t tile,
                         int by) {
  const CtMma *mma = s->p->tiles[s->code->imm].mma;
  for (int i = 0; i < mma->values[which] * CT_LANES; i++) {
    if (mma->place[which][i] == group * mma->size[which] + at) {
      want_element_for(s, x, i / CT_LANES + tile * x->n_rows, i % CT_LANES, by);
    }
  }
}

/* Wants the row of A and the column of B from which the atoms made an element. All lanes of its
   group have parts of them. */
static void want_atoms(CtSlice *s, const CtAccess *dst, int64_t e, int lane) {
  const CtAccess *a = by_role(s, CT_ACCESS_A), *b = by_role(s, CT_ACCESS_B);
  const CtMma *mma = s->p->tiles[s->code->imm].mma;
  int64_t rest = e / dst->n_rows, m = rest % mma->rest[0], n = rest / mma->rest[0];
  int at = mma->place[CT_ATOM_C][e % dst->n_rows * CT_LANES + lane];
  int group = at / mma->size[CT_ATOM_C], row = at % mma->size[CT_ATOM_C] / mma->n,
      col = at % mma->n;
  for (int64_t k = 0; k < mma->rest[2]; k++) {
    for (int at_k = 0; at_k < mma->k; at_k++) {
      want_of_atom(s, a, CT_ATOM_A, group, row * mma->k + at_k, m + k * mma->rest[0], lane);
    }
    for (int at_k = 0; at_k < mma->k; at_k++) {
      want_of_atom(s, b, CT_ATOM_B, group, at_k * mma->n + col, n + k * mma->rest[1], lane);
    }
    for (int at_k = 0; at_k < mma->vec; at_k++) {
      want_of_atom(s, by_role(s, CT_ACCESS_SFA), CT_ATOM_SFA, group, row * mma->vec + at_k,
                   m + k * mma->rest[0], lane);
      want_of_atom(s, by_role(s, CT_ACCESS_SFB), CT_ATOM_SFB, group, col * mma->vec + at_k,
                   n + k * mma->rest[1], lane);
    }
  }
}

/* The same for wgmma, whose tiles belong to the whole warp group: see simt_lower_mma.c. */
static void want_group_atoms(CtSlice *s, const CtAccess *dst, int64_t e, int lane) {
  enum { WARPS = 4 };
  const CtAccess *a = by_role(s, CT_ACCESS_A), *b = by_role(s, CT_ACCESS_B);
  const CtMma *mma = s->p->tiles[s->code->imm].mma;
  int64_t rest = e / dst->n_rows, m = rest % mma->rest[0], n = rest / mma->rest[0];
  int at = mma->place[CT_ATOM_C][e % dst->n_rows * CT_LANES + lane], block = mma->m * mma->n;
  int row = at % block / mma->n, col = at / block * mma->n + at % mma->n;
  int64_t in_group = s->step->warp % WARPS * mma->m + row;
  for (int64_t k = 0; k < mma->rest[2]; k++) {
    int64_t of_a = (m + k * mma->rest[0]) * a->n_rows, of_b = (n + k * mma->rest[1]) * b->n_rows;
    for (int i = 0; !mma->is_a_shared && i < mma->values[CT_ATOM_A] * CT_LANES; i++) {
      if (mma->place[CT_ATOM_A][i] / mma->k == row) {
        want_element(s, a, i / CT_LANES + of_a, i % CT_LANES);
      }
    }
    for (int64_t i = 0; i < mma->k; i++) {
      if (mma->is_a_shared) {
        want_element_for(s, a, in_group + i * WARPS * mma->m + of_a, ct_first_lane(a->mask), lane);
      }
      int64_t of = col + i * mma->groups * mma->n + of_b;
      want_element_for(s, b, of, ct_first_lane(b->mask), lane);
    }
  }
}

/* Wants element (row, k) of atom `rest` of B; each block of a pair has half of its rows, the even one the first. */
static void want_of_b(CtSlice *s, const CtAccess *b, int64_t row, int64_t k, int64_t rest,
                      int lane) {
  const CtMma *mma = s->p->tiles[s->code->imm].mma;
  int64_t rows = (int64_t)mma->groups * mma->n / mma->blocks;
  int before = s->across;
  if (mma->blocks == 2) {
    s->across = (int)(row / rows) ^ (s->step->rank & 1);
  }
  want_element_for(s, b, row % rows + k * rows + rest * b->n_rows, ct_first_lane(b->mask), lane);
  s->across = before;
}

/* Wants a scale of atom `rest`. */
static void want_scale(CtSlice *s, CtAccessRole role, int64_t e, int64_t rest, int lane) {
  const CtAccess *a = by_role(s, role);
  want_element_for(s, a, e + rest * a->n_rows, ct_first_lane(a->mask), lane);
}

/* The same for tcgen05, whose tiles belong to the whole block. */
static void want_block_atoms(CtSlice *s, const CtAccess *dst, int64_t e, int lane) {
  const CtAccess *a = by_role(s, CT_ACCESS_A), *b = by_role(s, CT_ACCESS_B);
  const CtMma *mma = s->p->tiles[s->code->imm].mma;
  int64_t rest = e / dst->n_rows, m = rest % mma->rest[0], n = rest / mma->rest[0];
  int64_t row = e % dst->n_rows % mma->rows, col = e % dst->n_rows / mma->rows;
  for (int64_t k = 0; k < mma->rest[2]; k++) {
    int64_t of_a = (m + k * mma->rest[0]) * a->n_rows;
    for (int64_t i = 0; i < mma->words; i++) {
      want_element_for(s, a, row + i * mma->rows + of_a, ct_first_lane(a->mask), lane);
      want_of_b(s, b, col, i, n + k * mma->rest[1], lane);
    }
    for (int64_t i = 0; i < mma->vec; i++) {
      want_scale(s, CT_ACCESS_SFA, row + i * mma->rows, m + k * mma->rest[0], lane);
      want_scale(s, CT_ACCESS_SFB, col + i * mma->groups * mma->n, n + k * mma->rest[1], lane);
    }
  }
}

/* Wants what a copy by a warp moved into an element; other lanes may have had it. */
static void want_moved(CtSlice *s, const CtAccess *dst, int64_t e, int lane) {
  const CtAccess *a = by_role(s, CT_ACCESS_A);
  const CtTileOp *t = &s->p->tiles[s->code->imm];
  const CtMove *m = t->move;
  int64_t bytes = (int64_t)ct_value_bytes(t->dtype), per = bytes / m->bytes;
  const uint16_t *from = m->from + lane * m->n_dst * per + e % dst->n_rows * per;
  for (int64_t i = 0; i < per; i++) {
    int64_t source = from[i] % CT_MOVE_BYTES / bytes + e / dst->n_rows * a->n_rows;
    want_element(s, a, source, from[i] / CT_MOVE_BYTES);
  }
}

/* Wants the source of a copy; notes 0 if a guard or a predicate leaves it out. */
static void want_source(CtSlice *s, const CtAccess *a, int64_t e, int lane) {
  int64_t off;
  if (a->buf->space != CT_REGISTER && !element_at(s, a, e, lane, &off)) {
    ct_slice_add_row_of(s, CT_LINEAGE_ZEROS, lane, a->buf->memory, 0,
                        s->r->team[s->step->rank].block);
  }
  want_element(s, a, e, lane);
}

static void want_sources(CtSlice *s, const CtAccess *dst, int64_t e, int lane) {
  const CtAccess *a = by_role(s, CT_ACCESS_A);
  const CtTileOp *t = &s->p->tiles[s->code->imm];
  bool is_fill = t->op == CT_OP_FILL, is_axpby = t->op == CT_OP_AXPBY;
  if (t->op == CT_OP_GEMM) {
    want_products(s, dst, e, lane);
  } else if (t->op == CT_OP_MMA) {
    want_atoms(s, dst, e, lane);
  } else if (t->op == CT_OP_WGMMA) {
    want_group_atoms(s, dst, e, lane);
  } else if (t->op == CT_OP_TCGEN05_MMA) {
    want_block_atoms(s, dst, e, lane);
  } else if (t->op == CT_OP_WARP_COPY) {
    want_moved(s, dst, e, lane);
  } else if (a != NULL) {
    want_source(s, a, e, lane);
  }
  if (is_fill || is_axpby) { /* the operands of a TILE may be of any kind */
    ct_slice_want(s, slot_place(s->step, s->code->d, lane), lane);
  }
  if (is_axpby) {
    ct_slice_want(s, slot_place(s->step, s->code->a, lane), lane);
  }
  if (dst->reads) {
    want_element(s, dst, e, lane);
  }
  ct_slice_add_computes(s, lane);
}

static void walk_lane(CtSlice *s, const CtAccess *dst, int lane, int64_t first, int64_t end) {
  for (int64_t e = end - 1; e >= first; e--) {
    if (take_element(s, dst, e, lane)) {
      want_sources(s, dst, e, lane);
    }
  }
}

static void walk_tile(CtSlice *s) {
  const CtAccess *dst = by_role(s, CT_ACCESS_DST);
  if (dst == NULL || !ct_places_may_take(&s->wanted, dst, ptr_of(s, dst))) {
    return;
  }
  bool by_element = ct_places_by_element(dst);
  for (int64_t e = by_element ? dst->n - 1 : -1; e >= 0; e--) {
    bool may = ct_places_may_take_of(&s->wanted, dst, ptr_of(s, dst), e);
    for (int lane = may ? CT_LANES - 1 : -1; lane >= 0; lane--) {
      walk_lane(s, dst, lane, e, e + 1);
    }
  }
  for (int lane = by_element ? -1 : CT_LANES - 1; lane >= 0; lane--) {
    walk_lane(s, dst, lane, 0, dst->n);
  }
}

/* A product of two blocks has sums in both; a copy of scales writes to both. */
static void walk_blocks(CtSlice *s) {
  int blocks = s->p->tiles[s->code->imm].blocks;
  for (s->across = blocks - 1; s->across > 0; s->across--) {
    walk_tile(s);
  }
  walk_tile(s);
}

static void walk_step(CtSlice *s) {
  uint32_t op = s->code->u.op;
  if (op == CT_SIMT_TMA) {
    ct_slice_walk_boxes(s);
    return;
  }
  const CtAccess *a = s->step->n_accesses == 0 ? NULL : &s->r->accesses[s->step->accesses];
  if (op == CT_SIMT_DOT_f32 || op == CT_SIMT_DOT_f64) {
    walk_dot(s, a);
  } else if (op == CT_SIMT_ATOMIC) {
    walk_atomic(s, a);
  } else if (op == CT_SIMT_SHFL || op == CT_SIMT_VOTE || op == CT_SIMT_MASKED) {
    walk_lanes(s);
  } else if (op == CT_SIMT_TALLY) {
    walk_tally(s);
  } else if (op == CT_SIMT_TALLIED) {
    walk_tallied(s);
  } else if (a == NULL) {
    walk_plain(s);
  } else if (op == CT_SIMT_TCGEN05_MMA || op == CT_SIMT_TCGEN05_CP) {
    walk_blocks(s);
  } else if (a->arg != NULL) {
    walk_tile(s);
  } else if (a->writes) {
    walk_store(s, a);
  } else {
    walk_load(s, a);
  }
}

void ct_simt_slice(const CtSimtProgram *p, const CtHistory *r, const char *at, size_t bytes,
                   CtLineageRows *rows) {
  CtSlice s = {.p = p, .r = r, .wanted = {.alloc = rows->alloc}, .rows = rows};
  for (size_t i = 0; i < bytes; i++) {
    ct_places_want(&s.wanted, memory_place(at + i));
  }
  ct_slice_mark(&s, CT_TRAIL_BEGIN, memory_place(at), 0);
  for (size_t i = r->n_steps; i-- > 0 && s.wanted.n > 0 && !rows->failed;) {
    s.step = &r->steps[i];
    s.code = &p->code[s.step->code];
    walk_step(&s);
  }
  rows->failed = rows->failed || s.wanted.failed;
  ct_places_clear(&s.wanted);
}
