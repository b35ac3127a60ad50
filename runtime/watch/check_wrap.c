/* check_wrap.c: `check` of offsets: 32-bit arithmetic that wrapped around on its way to an
   address. It looks only at values from which addresses are computed. A result that wrapped is
   kept together with the number it should have been. If later arithmetic makes it right again,
   it is not an error. */
#include "check_parts.h"

#include "runtime/simt/run/simt_scalar.h"

typedef enum Form { FORM_NONE, FORM_ADD, FORM_SUB, FORM_MUL, FORM_LEA, FORM_SAME } Form;

#define FORMS(op, form)                                                                            \
  [CT_SIMT_##op##_ss] = (form), [CT_SIMT_##op##_vv] = (form), [CT_SIMT_##op##_vs] = (form),        \
  [CT_SIMT_##op##_sv] = (form)
static const Form form_of[CT_SIMT_OP_COUNT] = {
    FORMS(ADD_i32, FORM_ADD),
    FORMS(SUB_i32, FORM_SUB),
    FORMS(MUL_i32, FORM_MUL),
    [CT_SIMT_LEA_i32] = FORM_LEA,
    [CT_SIMT_PATTERN_i32] = FORM_SAME,
    [CT_SIMT_SPLAT_4i] = FORM_SAME,
    [CT_SIMT_MOVE_s] = FORM_SAME,
    [CT_SIMT_MOVE_4] = FORM_SAME,
    [CT_SIMT_SET_s] = FORM_SAME,
    [CT_SIMT_SET_4] = FORM_SAME,
    [CT_SIMT_CAST_i64_i32_s] = FORM_SAME,
    [CT_SIMT_CAST_i64_i32_v] = FORM_SAME,
};
#undef FORMS

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
    CtOperand operands[CT_MAX_OPERANDS];
    for (int n = ct_simt_operands(p, &p->code[i], operands); n-- > 0;) {
      const CtIn *code = operands[n].code;
      if (operands[n].arg != NULL) {
        add_arg(s, operands[n].arg);
      } else if (code == NULL) {
        add(s, ct_in_is(&p->code[i], CT_INS_ATOMIC) ? p->code[i].a : 0);
      } else if (p->bufs[operands[n].buf].space != CT_REGISTER) {
        add(s, ct_in_roles(code)[1] == 's' ? code->a : 0);
        add(s, ct_in_roles(code)[2] != '.' ? code->b : 0);
      }
    }
  }
}

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
      if (form_of[in->u.op] == FORM_NONE || s.is_part[in->d / 4] == 0) {
        continue;
      }
      const char *roles = ct_in_roles(in);
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
    case FORM_NONE:
    case FORM_SAME: break;
  }
  return a;
}

/* value_of all lanes. */
static void values_of(const CtWarp *w, uint32_t slot, char role, int64_t out[CT_LANES]) {
  const int64_t *wide = role == 'p'   ? CT_CAT(CtPattern, w, slot)->pos
                        : role == 'w' ? CT_CAT(int64_t, w, slot)
                                      : NULL;
  const int32_t *narrow = CT_CAT(int32_t, w, slot);
  for (int i = 0; i < CT_LANES; i++) {
    out[i] = role == 's' ? CT_CAT(CtScalar, w, slot)->i : wide != NULL ? wide[i] : narrow[i];
  }
}

/* Does a result of any lane not fit? */
static int64_t wraps(Form form, const int64_t a[CT_LANES], const int64_t b[CT_LANES], int64_t imm) {
  int64_t wrong = 0;
  for (int i = 0; i < CT_LANES; i++) {
    int64_t r = result(form, a[i], b[i], imm);
    wrong |= r - CAST_i32_i64(r);
  }
  return wrong;
}

/* The common case: no operand is wrong, and no result wraps. */
static bool is_right(const CtIn *code, const CtWarp *w, Form form, const char *roles) {
  if (form == FORM_SAME) {
    return true;
  }
  if (roles[0] == 'S') {
    int64_t r = result(form, value_of(w, code->a, 's', 0), value_of(w, code->b, 's', 0), code->imm);
    return r == (int32_t)r;
  }
  int64_t a[CT_LANES], b[CT_LANES];
  values_of(w, code->a, roles[1], a);
  values_of(w, code->b, roles[2], b);
  switch (form) { /* a loop for each */
    case FORM_ADD: return wraps(FORM_ADD, a, b, 0) == 0;
    case FORM_SUB: return wraps(FORM_SUB, a, b, 0) == 0;
    case FORM_MUL: return wraps(FORM_MUL, a, b, 0) == 0;
    case FORM_LEA: return wraps(FORM_LEA, a, b, code->imm) == 0;
    case FORM_NONE:
    case FORM_SAME: break;
  }
  return true;
}

bool ct_wrap_fits(const CtIn *code, const CtWarp *w) {
  int64_t r;
  return !ct_mul_overflow(CT_CAT(CtScalar, w, code->b)->i, code->imm, &r) &&
         !ct_add_overflow(r, CT_CAT(CtScalar, w, code->a)->i, &r) && r == (int32_t)r;
}

static void keep(CtCheckWorker *k, const CtIn *code, const CtWarp *w, Form form,
                 const char *roles) {
  if (CT_GROW(k->check->alloc, k->taints, k->cap_taints, k->n_taints + 1, NULL) != CT_OK) {
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
  Form form = form_of[code->u.op];
  const char *roles = ct_in_roles(code);
  if (k->n_taints > 0 || !is_right(code, w, form, roles)) {
    keep(k, code, w, form, roles);
  }
}

/* --- accesses ---------------------------------------------------------------------------------------------- */

typedef struct Address {
  uint32_t base, by; /* slots; by: a pattern or lanes */
  char role;         /* the role of `by`; '.': there is none */
  bool has_base;
  int64_t imm;
  bool wraps;
} Address;

static Address address_of(const CtIn *code, const CtAccess *a) {
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
  if (ct_in_is(code, CT_INS_DOT)) { /* its loads follow */
    code += a->role == CT_ACCESS_A ? 1 : 2;
  }
  const CtSimtRow *row = ct_in_row(code);
  if (row->offsets != CT_VOID) {
    return (Address){.by = code->b, .role = row->offsets == CT_i32 ? 'v' : 'w'};
  }
  return (Address){code->a, code->b, row->roles[2], true, code->imm, ct_in_wraps(code)};
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
  if (a->n == 0 || a->buf->space == CT_REGISTER ||
      (base == NULL && by == NULL && (!at.wraps || a->is_swizzled))) {
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
