/* ir_print.c: the textual dump of an IR. One operation a line, indented by region, with the script
   line behind it; integers show their range and divisor where these say more than the type. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ir_build.h"
#include "ir_tma.h"

typedef struct Printer {
  const CtIr *ir;
  CtText *out;
  int depth;
} Printer;

static void print_value(Printer *p, CtVal v) {
  const CtInst *inst = ct_inst(p->ir, v);
  if (inst->op == CT_OP_CONST) {
    if (ct_is_float((CtDtype)inst->type)) {
      ct_text_printf(p->out, "%.9g", inst->imm.f);
    } else {
      ct_text_printf(p->out, "%" PRId64, inst->imm.i);
    }
  } else if (inst->op == CT_OP_TID || inst->op == CT_OP_BID || inst->op == CT_OP_GDIM) {
    ct_text_printf(p->out, "%s.%c", ct_ops[inst->op].text, "xyz"[inst->imm.i]);
  } else if (inst->op == CT_OP_PARAM) {
    ct_text_puts(p->out, p->ir->slots[inst->imm.i].name);
  } else {
    ct_text_printf(p->out, "%%%u", v);
  }
}

static void print_int(Printer *p, CtInt i) {
  if (i.kind == CT_DYNAMIC) {
    print_value(p, i.id);
  } else {
    ct_int_print(NULL, i, p->out);
  }
}

static void print_tuple(Printer *p, CtTuple t) {
  if (ct_is_leaf(t)) {
    print_int(p, t->i);
    return;
  }
  ct_text_putc(p->out, '(');
  for (CtTuple c = ct_first(t); c != ct_end(t); c = ct_next(c)) {
    if (c != ct_first(t)) {
      ct_text_putc(p->out, ',');
    }
    print_tuple(p, c);
  }
  ct_text_putc(p->out, ')');
}

static void print_view(Printer *p, const CtView *v) {
  ct_text_printf(p->out, " %s[", p->ir->bufs[v->buf].name);
  print_int(p, v->offset);
  ct_text_puts(p->out, "]");
  print_tuple(p, v->layout.shape);
  ct_text_putc(p->out, ':');
  print_tuple(p, v->layout.stride);
  for (int i = 0; i < ct_guard_n(v); i++) { /* "? c+(4):(1) < n": only if that is true */
    const CtGuardAxis *axis = &v->guard->axis[i];
    ct_text_puts(p->out, i == 0 ? " ? " : " & ");
    print_int(p, axis->at);
    ct_text_putc(p->out, '+');
    print_tuple(p, axis->stride);
    ct_text_puts(p->out, " < ");
    print_int(p, axis->bound);
  }
}

/* " A: K-major, swizzle 128, leading 16, stride 1024": what the descriptor says, in bytes */
static void print_descriptor(Printer *p, const char *name, const CtWgmmaTile *t) {
  ct_text_printf(p->out, " %s: %s-major, swizzle %d, leading %" PRId64 ", stride %" PRId64, name,
                 t->is_mn_major ? "MN" : "K", t->swizzle, t->leading, t->stride);
}

static void print_tile(Printer *p, const CtInst *inst) {
  const CtTile *t = inst->u.tile;
  print_view(p, &t->dst);
  ct_text_puts(p->out, " <-");
  if (t->a.buf != 0) {
    print_view(p, &t->a);
  }
  if (t->b.buf != 0) {
    print_view(p, &t->b);
  }
  if (t->sfa != NULL && t->sfb != NULL) {
    print_view(p, t->sfa);
    print_view(p, t->sfb);
  }
  if (t->vec > 1) {
    ct_text_printf(p->out, " vec %d", t->vec);
  }
  if (t->async) {
    ct_text_puts(p->out, " async");
  }
  if (t->atom != NULL) {
    ct_text_printf(p->out, " %s", t->atom->name);
  }
  if (t->wgmma != NULL && t->wgmma->is_a_shared) {
    print_descriptor(p, "A", &t->wgmma->a);
  }
  if (t->wgmma != NULL) {
    print_descriptor(p, "B", &t->wgmma->b);
  }
}

static void print_facts(Printer *p, const CtInst *inst) {
  CtFacts all = ct_type_facts((CtDtype)inst->type);
  if (!ct_is_int((CtDtype)inst->type)) {
    return;
  }
  if (inst->facts.lo != all.lo || inst->facts.hi != all.hi) {
    ct_text_printf(p->out, " in [%" PRId64 ",%" PRId64 "]", inst->facts.lo, inst->facts.hi);
  }
  if (inst->facts.div > 1) {
    ct_text_printf(p->out, " div %" PRId64, inst->facts.div);
  }
}

static void print_print(Printer *p, const CtInst *inst) {
  const CtEscape *e = inst->u.escape;
  ct_text_puts(p->out, " \"");
  for (const char *s = e->text; *s != '\0'; s++) {
    ct_text_puts(p->out, *s == '\n' ? "\\n" : (const char[]){*s, '\0'});
  }
  ct_text_putc(p->out, '"');
  for (int i = 0; i < e->n; i++) {
    ct_text_putc(p->out, ' ');
    print_value(p, e->vals[i]);
  }
}

static const char *const shuffles[CT_SHFL_COUNT] = {"up", "down", "xor", "idx"};
static const char *const votes[CT_VOTE_COUNT] = {"any", "all", "ballot"};
static const char *const masked[CT_MASKED_COUNT] = {
    "up",        "down", "xor", "idx", "any", "all", "ballot", "match_any",
    "match_all", "add",  "min", "max", "and", "or",  "xor"};

/* The kind; of a shuffle also the width; "whole" if no mask is given. */
static void print_masked(Printer *p, int64_t imm) {
  bool is_shuffle = (imm & 0xff) < CT_SHFL_COUNT;
  ct_text_printf(p->out,
                 is_shuffle                      ? " shfl_%s"
                 : (imm & 0xff) >= CT_MASKED_ADD ? " reduce_%s"
                                                 : " %s",
                 masked[imm & 0xff]);
  if (is_shuffle) {
    ct_text_printf(p->out, " width %d", (int)(imm >> 8 & 0xff));
  }
  ct_text_puts(p->out, (imm & CT_MASKED_WHOLE) != 0 ? " whole" : "");
}

/* "A_map (%12, 0) sA + %13 full[%14]" */
static void print_tma(Printer *p, const CtTma *tma) {
  const CtTmaMap *map = tma->is_cancel || tma->from != 0 ? NULL : &p->ir->maps[tma->map];
  if (tma->from != 0) {
    ct_text_printf(p->out, " %u of %s + ", tma->count, p->ir->bufs[tma->from].name);
    print_value(p, tma->crd[0]);
  }
  if (map != NULL) {
    ct_text_printf(p->out, " %s map %u (", map->name, tma->map);
    for (int i = 0; i < map->n; i++) {
      ct_text_puts(p->out, i > 0 ? ", " : "");
      print_value(p, tma->crd[i]);
    }
    ct_text_putc(p->out, ')');
  }
  ct_text_printf(p->out, " %s + ", p->ir->bufs[tma->buf].name);
  print_value(p, tma->offset);
  if (tma->bar != 0) {
    ct_text_printf(p->out, " %s[", p->ir->bufs[tma->bar].name);
    print_value(p, tma->slot);
    ct_text_putc(p->out, ']');
  }
  if (tma->mask != 0) {
    ct_text_puts(p->out, tma->from != 0 ? " rank " : " multicast ");
    print_value(p, tma->mask);
  }
  ct_text_puts(p->out, tma->is_of_pair ? " of pair" : "");
  ct_text_printf(p->out, "%s%s", tma->reduce != CT_TMA_NONE ? " " : "",
                 ct_tma_reductions[tma->reduce]);
}

static void print_maps(Printer *p) {
  for (size_t i = 0; i < p->ir->n_maps; i++) {
    const CtTmaMap *map = &p->ir->maps[i];
    ct_text_printf(p->out, "map %zu of %s swizzle %d promotion %d:", i, map->name, map->swizzle,
                   map->promotion);
    for (int k = 0; k < map->n; k++) {
      const CtTmaDim *d = &map->dim[k];
      ct_text_puts(p->out, k > 0 ? ", extent " : " extent ");
      print_value(p, d->extent);
      ct_text_printf(p->out, " / %" PRId64 " stride ", d->div);
      print_value(p, d->stride);
      ct_text_printf(p->out, " * %" PRId64 " box %u", d->mul, d->box);
    }
    ct_text_putc(p->out, '\n');
  }
}

/* " ptx[[...]] d=u32 p=&x[%3]" */
static void print_code(Printer *p, const CtEscape *e) {
  ct_text_printf(p->out, e->is_ptx ? " ptx[[%s]]" : " [[%s]]", e->text);
  for (int i = 0; i < e->n_outs; i++) {
    ct_text_printf(p->out, " %s=%s", e->outs[i].name, ct_dtypes[e->outs[i].type].name);
    if (e->outs[i].from != 0) {
      ct_text_putc(p->out, ' ');
      print_value(p, e->outs[i].from);
    }
  }
  for (int i = 0; i < e->n_places; i++) {
    ct_text_printf(p->out, " %s=&%s[", e->places[i].name, p->ir->bufs[e->places[i].buf].name);
    print_value(p, e->places[i].at);
    ct_text_putc(p->out, ']');
  }
}

static void print_text(Printer *p, const CtInst *inst) {
  if (inst->op == CT_OP_PRINT) {
    print_print(p, inst);
  } else if (inst->op == CT_OP_ESCAPE) {
    print_code(p, inst->u.escape);
  } else {
    ct_text_printf(p->out, " \"%s\"", inst->u.escape->text);
  }
}

/* The data of an operation besides its operands. */
static void print_data(Printer *p, const CtInst *inst) {
  switch (ct_ops[inst->op].data) {
    case CT_DATA_ELEMENT:
    case CT_DATA_ATOMIC:
    case CT_DATA_BAR:
    case CT_DATA_TENSOR:
    case CT_DATA_BUF: ct_text_printf(p->out, " %s", p->ir->bufs[inst->imm.i].name); break;
    case CT_DATA_LANE:
      ct_text_printf(p->out, " %s width %d", shuffles[inst->imm.i & 0xff], (int)(inst->imm.i >> 8));
      break;
    case CT_DATA_VOTE: ct_text_printf(p->out, " %s", votes[inst->imm.i]); break;
    case CT_DATA_MASKED: print_masked(p, inst->imm.i); break;
    case CT_DATA_VAR:
    case CT_DATA_TARGET: ct_text_printf(p->out, " %%%" PRId64, inst->imm.i); break;
    case CT_DATA_TMA: print_tma(p, inst->u.tma); break;
    case CT_DATA_GROUPS:
      ct_text_printf(p->out, " %" PRId64 "%s", inst->imm.i >> 1,
                     (inst->imm.i & 1) != 0 ? " done" : "");
      break;
    case CT_DATA_NUMBER:
    case CT_DATA_NAMED: ct_text_printf(p->out, " %" PRId64, inst->imm.i); break;
    case CT_DATA_TEXT: print_text(p, inst); break;
    case CT_DATA_NONE:
    case CT_DATA_CONST:
    case CT_DATA_SLOT:
    case CT_DATA_AXIS:
    case CT_DATA_HINT:
    case CT_DATA_TILE: break;
  }
}

static void print_region(Printer *p, CtRegion r);

static void print_regions(Printer *p, const CtInst *inst) {
  ct_text_puts(p->out, " {\n");
  p->depth++;
  print_region(p, inst->u.regions[0]);
  if (inst->op == CT_OP_IF && inst->u.regions[1] != 0) {
    ct_text_printf(p->out, "%*s} else {\n", 2 * p->depth - 2, "");
    print_region(p, inst->u.regions[1]);
  }
  p->depth--;
  ct_text_printf(p->out, "%*s}", 2 * p->depth, "");
}

/* " sys relaxed": what an atomic operation or a fence orders, if it is not the usual. */
static void print_order(Printer *p, const CtInst *inst) {
  static const char *const words[] = {"sys", "relaxed", "acq_rel"};
  for (size_t i = 0; i < CT_ARRAY_LEN(words); i++) {
    if ((inst->order >> i & 1) != 0) {
      ct_text_printf(p->out, " %s", words[i]);
    }
  }
}

static void print_inst(Printer *p, CtVal v) {
  const CtInst *inst = ct_inst(p->ir, v);
  ct_text_printf(p->out, "%*s", 2 * p->depth, "");
  if (inst->type != CT_VOID) {
    ct_text_printf(p->out, "%%%u %s = ", v, ct_dtypes[inst->type].name);
  } else if (ct_ops[inst->op].cls == CT_CLS_REGION) {
    ct_text_printf(p->out, "%%%u ", v);
  }
  ct_text_puts(p->out, ct_ops[inst->op].text);
  print_data(p, inst);
  print_order(p, inst);
  for (int i = 0; i < inst->n_args; i++) {
    ct_text_puts(p->out, i == 0 ? " " : ", ");
    print_value(p, inst->args[i]);
  }
  if (ct_ops[inst->op].cls == CT_CLS_TILE) {
    print_tile(p, inst);
  }
  print_facts(p, inst);
  if (inst->name != NULL) {
    ct_text_printf(p->out, " '%s'", inst->name);
  }
  ct_text_printf(p->out, " ; %d", inst->loc.line);
  if (ct_ops[inst->op].cls == CT_CLS_REGION) {
    print_regions(p, inst);
  }
  ct_text_putc(p->out, '\n');
}

static void print_region(Printer *p, CtRegion r) {
  for (CtVal v = p->ir->regions[r].first; v != 0; v = ct_inst(p->ir, v)->next) {
    print_inst(p, v);
  }
}

static void print_constants(Printer *p) {
  for (const char *at = p->ir->constants, *end; at != NULL && *at != '\0'; at = end + 1) {
    end = strchr(at, '\n');
    ct_text_printf(p->out, "constant %.*s\n", (int)(end - at), at);
  }
}

static void print_header(Printer *p) {
  const CtIr *ir = p->ir;
  ct_text_printf(p->out, "kernel %s block (%d,%d,%d)\n", ir->name, (int)ir->block[0],
                 (int)ir->block[1], (int)ir->block[2]);
  print_constants(p);
  for (size_t i = 1; i < ir->n_bufs; i++) {
    const CtBuf *b = &ir->bufs[i];
    ct_text_printf(p->out, "%s %s %s ", ct_spaces[b->space], ct_dtypes[b->dtype].name, b->name);
    print_tuple(p, b->layout.shape);
    ct_text_putc(p->out, ':');
    print_tuple(p, b->layout.stride);
    if (ct_buf_is_swizzled(b)) {
      ct_text_puts(p->out, " after ");
      ct_swizzle_print(b->swizzle, p->out);
    }
    ct_text_printf(p->out, " align %u\n", b->align);
  }
  for (size_t i = 0; i < ir->n_slots; i++) {
    const CtSlot *s = &ir->slots[i];
    if (s->kind != CT_SLOT_POINTER) {
      ct_text_printf(p->out, "param %s %s", ct_dtypes[s->dtype].name, s->name);
      print_facts(p, ct_inst(ir, s->val));
      ct_text_puts(p->out, s->used ? "\n" : " unused\n");
    }
  }
  for (size_t i = 0; i < ir->n_requires; i++) {
    const CtRequire *r = &ir->requires_[i];
    ct_text_puts(p->out, "require ");
    print_value(p, r->value);
    if (r->most != 0) {
      ct_text_printf(p->out, " <= %" PRId64, r->most);
    } else {
      ct_text_printf(p->out, " %% %" PRId64 " == 0", r->modulus);
    }
    ct_text_printf(p->out, " '%s: mode %s of %s' ; %d\n", r->op, r->mode, r->name, r->loc.line);
  }
  print_maps(p);
}

void ct_ir_print(const CtIr *ir, CtText *out) {
  Printer p = {ir, out, 1};
  print_header(&p);
  ct_ir_print_notes(ir, out);
  ct_text_puts(out, "{\n");
  print_region(&p, 1);
  ct_text_puts(out, "}\n");
}
