/* emit_move.c: copies that all lanes of a warp do together (WARP_COPY): ldmatrix, stmatrix,
   movmatrix and shuffles. The text is one loop over the atoms, which the compiler unrolls. It names
   registers by the words that an instruction takes:

     ldmatrix_x4(tCrA_words[i * 4], ..., sA + (swizzle<3, 3, 3>(t) ^ swizzle<3, 3, 3>(i * 8))) */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"

enum { MAX_WORDS = 4, WORD_BITS = 32 };

typedef struct Move {
  CtEmit *e;
  const CtInst *inst;
  CtEmitOperand dst, src; /* element 0 of atom i */
} Move;

/* The helper for a row of the atoms, found by its instruction. */
#define MATRICES(name, NAME, x, X)                                                                 \
  {name "." x ".shared.b16", CT_HELP_##NAME##_##X}, {                                              \
    name "." x ".trans.shared.b16", CT_HELP_##NAME##_##X##_TRANS                                   \
  }
#define ALL_MATRICES(name, NAME)                                                                   \
  MATRICES(name, NAME, "x1", X1), MATRICES(name, NAME, "x2", X2), MATRICES(name, NAME, "x4", X4)
static const struct {
  const char *ptx;
  CtHelper helper;
} helpers[] = {ALL_MATRICES("ldmatrix.sync.aligned.m8n8", LDMATRIX),
               ALL_MATRICES("stmatrix.sync.aligned.m8n8", STMATRIX),
               {"movmatrix.sync.aligned.m8n8.trans.b16", CT_HELP_MOVMATRIX_TRANS}};

/* Both exchanges have the same instruction; their names say the distance between lanes. */
static const char *helper_of(CtEmit *e, const CtAtom *atom) {
  if (strcmp(atom->family, "shfl") == 0) {
    bool is_far = strstr(atom->name, "XOR4") != NULL;
    return ct_emit_help(e, is_far ? CT_HELP_EXCHANGE_4 : CT_HELP_EXCHANGE_1);
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(helpers); i++) {
    if (strcmp(helpers[i].ptx, atom->ptx) == 0) {
      return ct_emit_help(e, helpers[i].helper);
    }
  }
  CT_UNREACHABLE();
}

/* Words of the elements [at, at + per) of registers: reinterpret_cast<unsigned*>(r)[i * 4 + 1].
   Offsets are multiples of `per`, so we divide the sum's known parts one by one. */
static void put_word(Move *m, const CtEmitOperand *op, int64_t at) {
  CtEmit *e = m->e;
  int64_t per = WORD_BITS / ct_dtype_width(op->buf->dtype);
  CtEmitOperand word = *op;
  word.plus += at;
  ct_text_printf(&e->body, "reinterpret_cast<unsigned*>(%s)[", op->base);
  bool splits = op->index == 0 && word.plus % per == 0;
  for (int i = 0; i < op->n; i++) {
    const CtEmitStride *s = &op->term[i].stride;
    splits = splits && ct_is_static(s->d) && s->d.v % per == 0;
  }
  for (int i = 0; splits && i < op->n; i++) {
    word.term[i].stride.d.v /= per;
  }
  word.plus /= splits ? per : 1;
  if (splits || per == 1) {
    ct_emit_coordinate(e, &word);
  } else {
    ct_text_putc(&e->body, '(');
    ct_emit_coordinate(e, &word);
    ct_text_printf(&e->body, ") / %" PRId64, per);
  }
  ct_text_putc(&e->body, ']');
}

/* All words of one side, or the address of a row. */
static void put_side(Move *m, const CtEmitOperand *op, const CtView *view) {
  if (!ct_emit_is_register(op)) {
    ct_emit_address(m->e, op);
    return;
  }
  CtLayout values = ct_mode(view->layout, 0);
  int64_t per = WORD_BITS / ct_dtype_width(op->buf->dtype);
  CtEmitLeaves l;
  (void)ct_emit_list_leaves(values, true, &l);
  int64_t n = ct_emit_leaves_size(&l);
  for (int64_t i = 0; i < n; i += per) {
    ct_text_puts(&m->e->body, i > 0 ? ", " : "");
    put_word(m, op, ct_layout_at(values, i));
  }
}

void ct_emit_warp_copy(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  Move m = {.e = e, .inst = inst};
  CtEmitNest nest = {.e = e, .loc = inst->loc};
  const char *name = helper_of(e, t->atom);
  int64_t n = ct_emit_n_atoms(&t->a);
  if (n == 0) {
    return;
  }
  const char *var = ct_emit_enter_loop(&nest, 'i', ct_int(n), 1, CT_UNROLL_ALL);
  m.dst = ct_emit_atom_operand(e, inst->loc, &t->dst, var);
  m.src = ct_emit_atom_operand(e, inst->loc, &t->a, var);
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "%s(", name);
  put_side(&m, &m.dst, &t->dst);
  ct_text_puts(&e->body, ", ");
  put_side(&m, &m.src, &t->a);
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
  ct_emit_leave_all(&nest);
}
