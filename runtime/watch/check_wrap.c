/* check_wrap.c: `check` of offsets: 32-bit arithmetic on the way to an address that wrapped around.
   Only what an address is made of is looked at. A result that wrapped is kept with what it should have
   been; one that comes right again by later arithmetic is no error. */
#include "check_state.h"

#include <string.h>

#include "runtime/simt/run/simt_scalar.h"

typedef enum Form { FORM_NONE, FORM_ADD, FORM_SUB, FORM_MUL, FORM_LEA, FORM_SAME } Form;

static bool is_row(uint32_t op, CtSimtOp first) { return op >= first && op < first + 4u; }

static Form form_of(uint32_t op) {
  switch (op) {
    case CT_SIMT_LEA_i32: return FORM_LEA;
    case CT_SIMT_PATTERN_i32:
    case CT_SIMT_SPLAT_4i:
    case CT_SIMT_MOVE_s:
    case CT_SIMT_MOVE_4:
    case CT_SIMT_SET_s:
    case CT_SIMT_SET_4:
    case CT_SIMT_CAST_i64_i32_s:
    case CT_SIMT_CAST_i64_i32_v: return FORM_SAME;
    default:
      return is_row(op, CT_SIMT_ADD_i32_ss)   ? FORM_ADD
             : is_row(op, CT_SIMT_SUB_i32_ss) ? FORM_SUB
             : is_row(op, CT_SIMT_MUL_i32_ss) ? FORM_MUL
                                              : FORM_NONE;
  }
}

/* --- the plan: what addresses are made of ------------------------------------------------------------ */

typedef struct Slice {
  uint8_t *is_part; /* by slot / 4 */
  bool changed;
} Slice;

static void add(Slice *s, uint32_t slot) {
  s->changed = s->changed || (slot != 0 && s->is_part[slot / 4] == 0);
  s->is_part[slot / 4] = slot != 0;
}

static void add_arg(Slice *s, const CtTileArg *arg) {
  if (arg->buf == 0 || arg->space == CT_REGISTER) {
    return;
  }
  if (arg->lanes.kind != CT_REF_STATIC) {
    add(s, (uint32_t)arg->lanes.v);
    return;
  }
  add(s, arg->base);
  add(s, arg->pattern);
}

static void add_addresses(const CtSimtProgram *p, Slice *s) {
  for (uint32_t i = p->body; i < p->n_code; i++) {
    const CtIn *in = &p->code[i];
    const char *roles = ct_simt_roles[in->u.op];
    if (in->u.op >= CT_SIMT_COPY_4) {
      const CtTileOp *t = &p->tiles[in->imm];
      add_arg(s, &t->dst);
      add_arg(s, &t->a);
      add_arg(s, &t->b);
    } else if (in->u.op == CT_SIMT_ATOMIC) {
      add(s, in->a);
    } else if (roles[3] == 'b' && p->bufs[in->c & ~(1u << 31)].space != CT_REGISTER) {
      add(s, roles[1] == 's' ? in->a : 0);
      add(s, roles[2] != '.' ? in->b : 0);
    }
  }
}

static bool is_dot(uint32_t op) { return op == CT_SIMT_DOT_f32 || op == CT_SIMT_DOT_f64; }

void ct_wrap_plan(CtCheck *c) {
  const CtSimtProgram *p = c->job->program;
  Slice s = {.is_part = ct_arena_alloc(&c->arena, p->warp_bytes / 4 + 1), .changed = true};
  if (s.is_part == NULL) {
    c->no_memory = true;
    return;
  }
  add_addresses(p, &s);
  for (s.changed = true; s.changed;) {
    s.changed = false;
    for (uint32_t i = p->n_code; i-- > 0;) {
      const CtIn *in = &p->code[i];
      bool is_data = i >= 2 && (is_dot(p->code[i - 1].u.op) || is_dot(p->code[i - 2].u.op));
      if (is_data || form_of(in->u.op) == FORM_NONE || s.is_part[in->d / 4] == 0) {
        continue;
      }
      const char *roles = ct_simt_roles[in->u.op];
      c->plans[i].kind = CT_PLAN_WRAP;
      add(&s, in->a);
      add(&s, roles[2] != '.' ? in->b : 0);
    }
  }
}

/* --- values ---------------------------------------------------------------------------------------------- */

static int64_t value_of(const CtWarp *w, uint32_t slot, char role, int lane) {
  switch (role) {
    case 's': return CT_CAT(CtScalar, w, slot)->i;
    case 'p': return CT_CAT(CtPattern, w, slot)->pos[lane];
    case 'w': return CT_CAT(int64_t, w, slot)[lane];
    default: return CT_CAT(int32_t, w, slot)[lane];
  }
}

static char lower_case(char c) { return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

/* NULL: the slot holds what it should. */
static const CtTaint *taint_of(const CtCheckWorker *k, const CtWarp *w, uint32_t slot) {
  for (size_t i = 0; i < k->n_taints; i++) {
    const CtTaint *t = &k->taints[i];
    bool same = t->slot == slot && t->warp == w->index;
    for (int lane = 0; same && lane < (t->role == 's' ? 1 : CT_LANES); lane++) {
      same = t->got[lane] == value_of(w, slot, t->role, lane);
    }
    if (same) {
      return t;
    }
  }
  return NULL;
}

static int64_t wanted(const CtTaint *t, const CtWarp *w, uint32_t slot, char role, int lane) {
  return t == NULL ? value_of(w, slot, role, lane) : t->want[t->role == 's' ? 0 : lane];
}

static void drop(CtCheckWorker *k, const CtWarp *w, uint32_t slot) {
  for (size_t i = 0; i < k->n_taints; i++) {
    if (k->taints[i].slot == slot && k->taints[i].warp == w->index) {
      k->taints[i--] = k->taints[--k->n_taints];
    }
  }
}

static int64_t result(Form form, int64_t a, int64_t b, int64_t imm) {
  switch (form) {
    case FORM_ADD: return ADD_i64(a, b);
    case FORM_SUB: return SUB_i64(a, b);
    case FORM_MUL: return MUL_i64(a, b);
    case FORM_LEA: return ADD_i64(a, MUL_i64(b, imm));
    default: return a;
  }
}

/* The common case: no operand is wrong, and no result wraps. */
static bool is_right(const CtIn *code, const CtWarp *w, Form form, const char *roles) {
  if (form == FORM_SAME) {
    return true;
  }
  int64_t wrong = 0;
  if (roles[0] == 'S') {
    int64_t r = result(form, value_of(w, code->a, 's', 0), value_of(w, code->b, 's', 0), code->imm);
    return r == (int32_t)r;
  }
  for (int i = 0; i < CT_LANES; i++) {
    int64_t r = result(form, value_of(w, code->a, roles[1], i), value_of(w, code->b, roles[2], i),
                       code->imm);
    wrong |= r - CAST_i32_i64(r);
  }
  return wrong == 0;
}

bool ct_wrap_fits(const CtIn *code, const CtWarp *w) {
  int64_t r;
  return !ct_mul_overflow(CT_CAT(CtScalar, w, code->b)->i, code->imm, &r) &&
         !ct_add_overflow(r, CT_CAT(CtScalar, w, code->a)->i, &r) && r == (int32_t)r;
}

static void keep(CtCheckWorker *k, const CtIn *code, const CtWarp *w, Form form,
                 const char *roles) {
  if (ct_grow(k->check->alloc, &k->taints, &k->cap_taints, k->n_taints + 1, sizeof *k->taints,
              NULL) != CT_OK) {
    k->no_memory = true;
    return;
  }
  const CtTaint *a = taint_of(k, w, code->a), *b = roles[2] == '.' ? NULL : taint_of(k, w, code->b);
  bool wide = code->u.op == CT_SIMT_CAST_i64_i32_v, differs = false;
  CtTaint t = {.slot = code->d, .warp = w->index, .role = wide ? 'w' : lower_case(roles[0])};
  for (int i = 0; i < (t.role == 's' ? 1 : CT_LANES); i++) {
    int64_t y = roles[2] == '.' ? 0 : wanted(b, w, code->b, roles[2], i);
    t.want[i] = result(form, wanted(a, w, code->a, roles[1], i), y, code->imm);
    t.got[i] = CAST_i32_i64(t.want[i]);
    differs = differs || t.got[i] != t.want[i];
  }
  drop(k, w, code->d);
  if (differs) {
    k->taints[k->n_taints++] = t;
  }
}

void ct_wrap_step(CtCheckWorker *k, const CtIn *code, CtWarp *w) {
  Form form = form_of(code->u.op);
  const char *roles = ct_simt_roles[code->u.op];
  if (k->n_taints > 0 || !is_right(code, w, form, roles)) {
    keep(k, code, w, form, roles);
  }
}

/* --- accesses ---------------------------------------------------------------------------------------------- */

typedef struct Address {
  uint32_t base, by; /* slots; by: of a pattern or of lanes */
  char role;         /* of `by`; '.': none */
  bool has_base;
  int64_t imm;
  bool wraps;
} Address;

static Address address_of(const CtIn *code, const CtAccess *a) {
  const char *roles = ct_simt_roles[code->u.op];
  const CtTileArg *arg = a->arg;
  CtAtomicImm imm = {.imm = code->imm};
  if (arg != NULL && arg->lanes.kind != CT_REF_STATIC) {
    return (Address){.by = (uint32_t)arg->lanes.v,
                     .role = arg->lanes.kind == CT_REF_LANES_i32 ? 'v' : 'w'};
  }
  if (arg != NULL) {
    return (Address){arg->base, arg->pattern, arg->pattern == 0 ? '.' : 'p',
                     true,      arg->imm,     arg->is_i32};
  }
  if (code->u.op == CT_SIMT_ATOMIC) {
    return (Address){.by = code->a, .role = imm.u.is_i32 ? 'v' : 'w'};
  }
  if (is_dot(code->u.op)) { /* its loads follow */
    code += a->role == CT_ACCESS_A ? 1 : 2;
    roles = ct_simt_roles[code->u.op];
  }
  if (roles[1] == 's') {
    return (Address){code->a, code->b, roles[2], true, code->imm, code->c >> 31 != 0};
  }
  const char *name = ct_simt_names[code->u.op];
  bool is_i32 = strcmp(name + strlen(name) - 3, "i32") == 0;
  return (Address){.by = code->b, .role = is_i32 ? 'v' : 'w'};
}

uint32_t ct_wrap_look(CtCheckWorker *k, const CtIn *code, const CtAccess *a) {
  Address at = address_of(code, a);
  const CtTaint *base = at.has_base ? taint_of(k, a->w, at.base) : NULL;
  const CtTaint *by = at.role != '.' ? taint_of(k, a->w, at.by) : NULL;
  uint32_t lanes = 0;
  CtFound f = {.kind = CT_CHECK_OVERFLOW,
               .in = ct_check_index(k, a->in),
               .other = UINT32_MAX,
               .buf = a->buf_index,
               .how = a->writes ? CT_BOUNDS_WRITE : CT_BOUNDS_READ,
               .block = k->k->block};
  if (a->buf->space == CT_REGISTER || (base == NULL && by == NULL && !at.wraps)) {
    return 0;
  }
  for (uint32_t rest = a->mask; rest != 0; rest &= rest - 1) {
    int lane = ct_first_lane(rest);
    int64_t off, want = at.has_base ? wanted(base, a->w, at.base, 's', 0) + at.imm : 0;
    want += at.role == '.' ? 0 : wanted(by, a->w, at.by, at.role, lane);
    if (ct_access_at(a, 0, lane, &off) && off != want && CAST_i32_i64(want) == off) {
      f.thread = lanes == 0 ? ct_check_thread(a->w->index, lane) : f.thread;
      f.off = lanes == 0 ? off : f.off;
      f.extra = lanes == 0 ? want : f.extra;
      lanes |= 1u << lane;
    }
  }
  if (lanes != 0) {
    f.count = (uint64_t)__builtin_popcount(lanes);
    ct_finding_note(k, &f);
  }
  return lanes;
}
