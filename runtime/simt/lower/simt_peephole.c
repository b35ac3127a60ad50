/* simt_peephole.c: lowering to the CPU engine: tidies the body up before slots get places.

   If a value is computed only to be assigned, and no lane is elsewhere, it is computed in the
   variable's place. If a variable is copied and the copy is used before the variable changes, the
   uses read the variable. An unrolled sum of products leaves load, load, fma, over and over at
   constant distances; it becomes one DOT, which keeps the sum in registers. A loop that only adds
   up products gets a back edge of its own. Short conditions become masks for the next
   instructions. */
#include "simt_lower.h"

#include <string.h>

#include "runtime/base/order.h"

enum { MAX_REACH = 512, REMOVED = CT_SIMT_OP_COUNT };

/* What the body does with a slot. */
typedef struct Info {
  uint32_t n_defs, n_uses;
  uint32_t last_use;
  bool is_hidden; /* used by a tile's descriptor, or changed as a loop's counter */
} Info;

typedef struct Peep {
  CtLow *l;
  CtIn *in;
  uint32_t n;
  Info *info;      /* by slot */
  bool *is_target; /* by position: may a jump come here? */
} Peep;

/* --- facts ----------------------------------------------------------------------------------------------- */

static void note(void *ud, uint32_t slot, uint32_t pos, CtSlotUse how) {
  Info *f = &((Peep *)ud)->info[slot];
  if (how == CT_SLOT_DEF) {
    f->n_defs++;
    return;
  }
  f->n_uses++;
  f->last_use = pos > f->last_use ? pos : f->last_use;
  f->is_hidden = f->is_hidden || how == CT_SLOT_HIDDEN;
}

static void gather(Peep *p) {
  memset(p->info, 0, p->l->n_slots * sizeof *p->info);
  memset(p->is_target, 0, p->n * sizeof *p->is_target);
  for (uint32_t pos = 0; pos < p->n; pos++) {
    ct_low_each_slot(p->l, &p->in[pos], pos, note, p);
    if (ct_in_row(&p->in[pos])->counts) {
      p->info[p->in[pos].d].is_hidden = true;
      p->info[p->in[pos].a].is_hidden = true;
    }
  }
  for (size_t i = 0; i < p->l->n_labels; i++) {
    if (p->l->labels[i] >= 0 && (uint32_t)p->l->labels[i] < p->n) {
      p->is_target[p->l->labels[i]] = true;
    }
  }
}

static bool defines(const CtIn *in, uint32_t slot) {
  char role = ct_in_roles(in)[0];
  return role >= 'A' && role <= 'Z' && in->d == slot;
}

/* --- assignments ----------------------------------------------------------------------------------------- */

static bool is_set(const CtIn *in) {
  return in->u.op != REMOVED && ct_in_row(in)->moves == CT_MOVES_TO_VARIABLE;
}

/* t = ...; var = t: computes in place. `imm` of a SET says that no lane is elsewhere. */
static void sink_sets(Peep *p) {
  for (uint32_t pos = 1; pos < p->n; pos++) {
    CtIn *set = &p->in[pos], *before = &p->in[pos - 1];
    if (!is_set(set)) {
      continue;
    }
    const Info *f = &p->info[set->a];
    bool whole = set->imm != 0;
    set->imm = 0;
    if (whole && !p->is_target[pos] && f->n_defs == 1 && f->n_uses == 1 && !f->is_hidden &&
        before->u.op != REMOVED && defines(before, set->a)) {
      before->d = set->d;
      set->u.op = REMOVED;
    }
  }
}

/* --- reading variables ------------------------------------------------------------------------------------ */

static bool changes(const CtIn *in, uint32_t var) {
  return in->u.op != REMOVED && ((is_set(in) && in->d == var) || defines(in, var));
}

/* The end of the loops that begin at pos, or `end` if that is later. */
static uint32_t loops_from(const CtLow *l, uint32_t pos, uint32_t end) {
  size_t i;
  CT_FIRST_NOT_BEFORE(i, l->n_loops, l->loops[i].first < pos);
  for (; i < l->n_loops && l->loops[i].first == pos; i++) {
    end = l->loops[i].last > end ? l->loops[i].last : end;
  }
  return end;
}

/* Does the variable keep its value from pos to the last use of its copy? (That use may change it.) */
static bool stays(const Peep *p, uint32_t var, uint32_t pos, uint32_t last) {
  uint32_t end = last;
  for (uint32_t i = pos + 1; i <= end; i++) {
    end = loops_from(p->l, i, end);
    if (end - pos > MAX_REACH || (changes(&p->in[i], var) && (i != last || end != last))) {
      return false;
    }
  }
  return true;
}

static void replace_uses(Peep *p, uint32_t from, uint32_t to, uint32_t old, uint32_t slot) {
  for (uint32_t i = from; i <= to; i++) {
    if (p->in[i].u.op != REMOVED) {
      ct_low_replace_uses(&p->in[i], old, slot);
    }
  }
}

/* t = var; ... t ...: reads the variable itself. */
static void forward_variables(Peep *p) {
  for (uint32_t pos = 0; pos < p->n; pos++) {
    CtIn *in = &p->in[pos];
    if (in->u.op == REMOVED || ct_in_row(in)->moves != CT_MOVES_AS_IT_IS ||
        p->l->slots[in->a].cls != CT_CLASS_VARIABLE) {
      continue;
    }
    const Info *f = &p->info[in->d];
    if (f->n_defs == 1 && !f->is_hidden && p->l->slots[in->d].cls != CT_CLASS_VARIABLE &&
        (f->n_uses == 0 || stays(p, in->a, pos, f->last_use))) {
      replace_uses(p, pos + 1, f->last_use, in->d, in->a);
      in->u.op = REMOVED;
    }
  }
}

/* --- sums of products ---------------------------------------------------------------------------------------- */

/* The instructions of one step, by element type. */
static const struct {
  CtSimtOp load, fma, dot;
} dot_rows[] = {
    {CT_SIMT_LOAD_4_p, CT_SIMT_FMA_f32_vvv, CT_SIMT_DOT_f32},
    {CT_SIMT_LOAD_8_p, CT_SIMT_FMA_f64_vvv, CT_SIMT_DOT_f64},
};

static bool same_line(const CtLow *l, uint32_t a, uint32_t b) {
  return l->body.locs[a].line == l->body.locs[b].line &&
         l->body.locs[a].chunk == l->body.locs[b].chunk;
}

static bool is_single(const Peep *p, uint32_t slot) {
  const Info *f = &p->info[slot];
  return f->n_defs == 1 && f->n_uses == 1 && !f->is_hidden;
}

/* load x; load y; d = fma(x, y, c), in a row; x and y have no other use. */
static bool is_step(const Peep *p, uint32_t pos, int row) {
  if (pos + 3 > p->n) {
    return false;
  }
  const CtIn *x = &p->in[pos], *y = x + 1, *f = x + 2;
  return x->u.op == dot_rows[row].load && y->u.op == dot_rows[row].load &&
         f->u.op == dot_rows[row].fma && !p->is_target[pos + 1] && !p->is_target[pos + 2] &&
         is_single(p, x->d) && is_single(p, y->d) && x->d != y->d &&
         ((f->a == x->d && f->b == y->d) || (f->a == y->d && f->b == x->d)) &&
         same_line(p->l, pos, pos + 1) && same_line(p->l, pos, pos + 2);
}

static bool same_place(const CtIn *a, const CtIn *b) {
  return a->a == b->a && a->b == b->b && a->c == b->c;
}

/* Does the step at `next` add to the sum of the one at `pos`, from places of the same kind? */
static bool follows(const Peep *p, uint32_t pos, uint32_t next, int row) {
  const CtIn *in = p->in;
  if (!is_step(p, next, row) || p->is_target[next] || !same_line(p->l, pos, next)) {
    return false;
  }
  uint32_t sum = in[pos + 2].d;
  bool handed_on = in[next + 2].c == sum && (in[next + 2].d == sum || is_single(p, sum));
  return handed_on && same_place(&in[pos], &in[next]) && same_place(&in[pos + 1], &in[next + 1]);
}

static bool fits_step(int64_t d) { return d >= INT32_MIN && d <= INT32_MAX; }

/* The number of steps from pos that have constant distances. */
static uint32_t count_steps(const Peep *p, uint32_t pos, int row) {
  const CtIn *in = p->in;
  if (!is_step(p, pos, row) || !follows(p, pos, pos + 3, row)) {
    return 1;
  }
  int64_t dx = in[pos + 3].imm - in[pos].imm, dy = in[pos + 4].imm - in[pos + 1].imm;
  uint32_t n = 2;
  if (!fits_step(dx) || !fits_step(dy)) {
    return 1;
  }
  for (uint32_t at = pos + 3; follows(p, at, at + 3, row); at += 3, n++) {
    if (in[at + 3].imm - in[at].imm != dx || in[at + 4].imm - in[at + 1].imm != dy) {
      break;
    }
  }
  return n;
}

/* Replaces n steps by DOT, followed by the loads of the first one. */
static void fold_steps(Peep *p, uint32_t pos, uint32_t n, int row) {
  CtIn *in = &p->in[pos];
  int64_t dx = in[3].imm - in[0].imm, dy = in[4].imm - in[1].imm;
  CtIn dot = {.u.op = dot_rows[row].dot,
              .d = in[3 * n - 1].d,
              .a = (uint32_t)(int32_t)dx,
              .b = (uint32_t)(int32_t)dy,
              .c = in[2].c,
              .imm = n};
  in[2] = in[1];
  in[1] = in[0];
  in[0] = dot;
  for (uint32_t i = 3; i < 3 * n; i++) {
    in[i].u.op = REMOVED;
  }
}

static void fold_sums(Peep *p) {
  for (uint32_t pos = 0; pos < p->n; pos++) {
    for (int row = 0; row < (int)CT_ARRAY_LEN(dot_rows); row++) {
      uint32_t n = count_steps(p, pos, row);
      if (n > 1) {
        fold_steps(p, pos, n, row);
        pos += 3 * n - 1;
        break;
      }
    }
  }
}

/* --- loops of sums --------------------------------------------------------------------------------------------- */

/* Arithmetic of scalars whose results stay linear in a loop's counter: modulo 2^32 if the load's
   offset is an i32, else modulo 2^64. No step on the way widens. */
static bool is_linear(const Peep *p, const CtIn *in, uint32_t counter, uint32_t first,
                      uint32_t end) {
  bool is_product = in->u.op == CT_SIMT_MUL_i64_ss || in->u.op == CT_SIMT_MUL_i32_ss;
  bool is_sum = in->u.op == CT_SIMT_CAST_i32_i64_s || in->u.op == CT_SIMT_LEA_i64 ||
                in->u.op == CT_SIMT_LEA_i32 || in->u.op == CT_SIMT_ADD_i64_ss ||
                in->u.op == CT_SIMT_ADD_i32_ss || in->u.op == CT_SIMT_SUB_i64_ss ||
                in->u.op == CT_SIMT_SUB_i32_ss;
  bool changes_a = in->a == counter, changes_b = in->b == counter;
  for (uint32_t pos = first; pos < end; pos++) {
    changes_a = changes_a || defines(&p->in[pos], in->a);
    changes_b = changes_b || defines(&p->in[pos], in->b);
  }
  return (is_sum || (is_product && !(changes_a && changes_b))) && p->info[in->d].n_defs == 1;
}

/* The instructions: products of lanes, or of lanes and one number for all of them. */
static const struct {
  CtSimtOp loads[2], fmas[2], set, next;
} sum_rows[] = {
    {{CT_SIMT_LOAD_4_p, CT_SIMT_LOAD_f32_u},
     {CT_SIMT_FMA_f32_vvv, CT_SIMT_FMA_f32_vsv},
     CT_SIMT_SET_4,
     CT_SIMT_NEXT_SUM_f32},
    {{CT_SIMT_LOAD_8_p, CT_SIMT_LOAD_f64_u},
     {CT_SIMT_FMA_f64_vvv, CT_SIMT_FMA_f64_vsv},
     CT_SIMT_SET_8,
     CT_SIMT_NEXT_SUM_f64},
};

/* The positions of the parts of a loop that only adds up products. */
typedef struct SumLoop {
  uint32_t loads[2], n_loads, fma;
} SumLoop;

/* Is the sum a variable that all lanes set to the product of both loads plus itself? */
static bool is_sum_of(const Peep *p, const SumLoop *s, uint32_t last, int row) {
  const CtIn *f = &p->in[s->fma], *x = &p->in[s->loads[0]], *y = &p->in[s->loads[1]];
  bool of_both = s->n_loads == 2 && is_single(p, x->d) && is_single(p, y->d) &&
                 ((f->a == x->d && f->b == y->d) || (f->a == y->d && f->b == x->d));
  if (!of_both || p->l->slots[f->c].cls != CT_CLASS_VARIABLE) {
    return false;
  }
  const CtIn *set = f + 1;
  bool is_set = s->fma + 2 == last && set->u.op == (uint32_t)sum_rows[row].set && set->d == f->c &&
                set->a == f->d && is_single(p, f->d);
  return is_set || (s->fma + 1 == last && f->d == f->c);
}

static bool is_one_of(uint32_t op, const CtSimtOp two[2]) {
  return op == (uint32_t)two[0] || op == (uint32_t)two[1];
}

static bool is_sum_loop(const Peep *p, uint32_t first, uint32_t last, int row, SumLoop *s) {
  *s = (SumLoop){.n_loads = 0};
  for (uint32_t pos = first; pos < last; pos++) {
    const CtIn *in = &p->in[pos];
    if (p->is_target[pos] && pos != first) {
      return false;
    }
    if (is_one_of(in->u.op, sum_rows[row].fmas)) {
      s->fma = pos;
      return is_sum_of(p, s, last, row);
    }
    if (is_one_of(in->u.op, sum_rows[row].loads) && s->n_loads < 2) {
      s->loads[s->n_loads++] = pos;
    } else if (!is_linear(p, in, p->in[last].d, first, last)) {
      return false;
    }
  }
  return false;
}

static void mark_sum_loops(Peep *p) {
  enum { MAX_BODY = 32 };
  for (size_t i = 0; i < p->l->n_loops; i++) {
    uint32_t first = p->l->loops[i].first, last = p->l->loops[i].last;
    CtIn *in = &p->in[last];
    for (int row = 0; row < (int)CT_ARRAY_LEN(sum_rows) && last - first <= MAX_BODY; row++) {
      SumLoop s;
      if (in->u.op == CT_SIMT_NEXT && in->imm == CT_SPIN_NOT &&
          is_sum_loop(p, first, last, row, &s)) {
        in->u.op = sum_rows[row].next;
        in->imm = (last - s.loads[0]) | (last - s.loads[1]) << 8 | (last - s.fma) << 16;
      }
    }
  }
}

/* --- conditions ------------------------------------------------------------------------------------------------- */

/* Control goes to the next instruction, whatever the mask. */
static bool is_plain(const CtIn *in) {
  return ct_in_is(in, CT_INS_PLAIN) || ct_in_is(in, CT_INS_MEMORY) || ct_in_is(in, CT_INS_DOT);
}

/* The number of plain instructions from pos to the next other one or jump target. */
static uint32_t count_plain(const Peep *p, uint32_t pos) {
  uint32_t n = 0;
  while (pos + n < p->n && is_plain(&p->in[pos + n]) && !p->is_target[pos + n]) {
    n++;
  }
  return n;
}

static bool any_changes(const Peep *p, uint32_t slot, uint32_t pos, uint32_t n) {
  for (uint32_t i = pos; i < pos + n; i++) {
    if (changes(&p->in[i], slot)) {
      return true;
    }
  }
  return false;
}

/* var = m and (... v) or e: computes v in the lanes of m; then all lanes choose. */
static bool make_select(Peep *p, uint32_t split, uint32_t otherwise, bool whole) {
  CtIn *x = &p->in[otherwise - 1], *mid = &p->in[otherwise], *y = mid + 1;
  if (!whole || otherwise == split + 1 || !is_set(x) || y->u.op != x->u.op || y->d != x->d ||
      y->a == x->d || !is_single(p, x->a) ||
      any_changes(p, y->a, split + 1, otherwise - split - 1)) {
    return false;
  }
  static const CtSimtOp ops[][2] = {{CT_SIMT_SET_4, CT_SIMT_SELECT_4m},
                                    {CT_SIMT_SET_8, CT_SIMT_SELECT_8m},
                                    {CT_SIMT_SET_1, CT_SIMT_SELECT_1m}};
  for (size_t i = 0; i < CT_ARRAY_LEN(ops); i++) {
    if (x->u.op == (uint32_t)ops[i][0]) {
      *mid = (CtIn){.u.op = ops[i][1], .d = x->d, .a = p->in[split].d, .b = x->a, .c = y->a};
      x->u.op = y->u.op = REMOVED;
      p->in[split].a--;
      return true;
    }
  }
  return false;
}

/* An IF around plain instructions needs neither rows of masks nor jumps. */
static void merge_conditions(Peep *p) {
  for (uint32_t pos = 0; pos + 1 < p->n; pos++) {
    CtIn *in = &p->in[pos];
    bool has_else = in->u.op == CT_SIMT_SPLIT_ELSE, whole = in->imm != 0;
    if (!has_else && in->u.op != CT_SIMT_SPLIT) {
      continue;
    }
    in->imm = 0;
    uint32_t row = in->d, mask = in->a, n = count_plain(p, pos + 1), join = pos + 1 + n, rest = 0;
    if (has_else) {
      uint32_t otherwise = join;
      rest = p->in[otherwise].u.op == CT_SIMT_ELSE ? count_plain(p, otherwise + 1) : 0;
      join = otherwise + 1 + rest;
      if (p->in[otherwise].u.op != CT_SIMT_ELSE || p->in[otherwise].d != row + 1 ||
          any_changes(p, mask, pos + 1, n)) {
        continue;
      }
    }
    if (join >= p->n || p->in[join].u.op != CT_SIMT_JOIN || p->in[join].d != row) {
      continue;
    }
    *in = (CtIn){.u.op = CT_SIMT_ONLY, .d = mask, .a = n};
    p->in[join].u.op = REMOVED;
    if (has_else && !(rest == 1 && make_select(p, pos, pos + 1 + n, whole))) {
      p->in[pos + 1 + n] = (CtIn){.u.op = CT_SIMT_UNLESS, .d = mask, .a = rest};
    }
  }
}

/* --- removing ---------------------------------------------------------------------------------------------------- */

/* Closes the gaps; `moved` gives each old position its new one. */
static void compact(Peep *p, uint32_t *moved) {
  CtLow *l = p->l;
  uint32_t n = 0;
  for (uint32_t pos = 0; pos < p->n; pos++) {
    moved[pos] = n;
    if (p->in[pos].u.op != REMOVED) {
      p->in[n] = p->in[pos];
      l->body.locs[n++] = l->body.locs[pos];
    }
  }
  for (size_t i = 0; i < l->n_labels; i++) {
    l->labels[i] = l->labels[i] < 0 ? -1 : (int32_t)moved[l->labels[i]];
  }
  for (size_t i = 0; i < l->n_loops; i++) {
    l->loops[i].first = moved[l->loops[i].first];
    l->loops[i].last = moved[l->loops[i].last];
  }
  p->n = n;
  l->body.n = n;
}

void ct_low_peephole(CtLow *l) {
  Peep p = {.l = l, .in = l->body.in, .n = (uint32_t)l->body.n};
  p.info = ct_arena_alloc(&l->tmp, l->n_slots * sizeof *p.info);
  p.is_target = ct_arena_alloc(&l->tmp, l->body.n * sizeof *p.is_target);
  uint32_t *moved = ct_arena_alloc(&l->tmp, l->body.n * sizeof *moved);
  if (p.info == NULL || p.is_target == NULL || moved == NULL) {
    l->failed = true;
    return;
  }
  gather(&p);
  sink_sets(&p);
  forward_variables(&p);
  compact(&p, moved);
  ct_low_hoist(l);
  gather(&p);
  fold_sums(&p);
  compact(&p, moved);
  gather(&p);
  mark_sum_loops(&p);
  merge_conditions(&p);
  compact(&p, moved);
}
