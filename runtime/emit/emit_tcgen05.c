/* emit_tcgen05.c: tensor memory: allocation, and copies to and from registers.

     tmem_alloc<256>(tmem);
     for (int i = 0; i < 4; i++) {
       SM100_TMEM_LOAD_32dp32b32x(reinterpret_cast<unsigned*>(rC + i * 32), tmem_at_warp<1>(tmem[0], t + i * 4096));
     }
     asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");

   A copy is over when its statement is: the wait stands after its last instruction. */
#include <inttypes.h>
#include <string.h>

#include "emit_tile.h"

enum { WORD_BITS = 32, LANES = 32 };

int64_t ct_emit_unit(const CtBuf *buf) {
  int64_t width = ct_dtype_width(buf->dtype);
  return buf->space == CT_TENSOR ? CT_TMEM_LANES * WORD_BITS / width : CT_EMIT_UNIT_BITS / width;
}

/* --- allocation ----------------------------------------------------------------------------------- */

CtHelper ct_emit_of_pair(const CtEmit *e, CtHelper own) {
  static const CtHelper twins[CT_HELP_COUNT] = {
      [CT_HELP_TMEM_ALLOC] = CT_HELP_TMEM_ALLOC_OF_PAIR,
      [CT_HELP_TMEM_RELINQUISH] = CT_HELP_TMEM_RELINQUISH_OF_PAIR,
      [CT_HELP_TMEM_DEALLOC] = CT_HELP_TMEM_DEALLOC_OF_PAIR,
      [CT_HELP_TCGEN05_COMMIT] = CT_HELP_TCGEN05_COMMIT_OF_PAIR,
      [CT_HELP_TCGEN05_COMMIT_TO] = CT_HELP_TCGEN05_COMMIT_TO_OF_PAIR};
  return ct_ir_has_pairs(e->ir) ? twins[own] : own;
}

static const char *help(CtEmit *e, CtHelper own) {
  return ct_emit_help(e, ct_emit_of_pair(e, own));
}

/* After the last allocation no other block of the SM has to wait for this one. */
static bool is_last(const CtEmit *e, CtVal v) {
  for (CtVal other = v + 1; other < e->ir->n_insts; other++) {
    const CtInst *inst = ct_inst(e->ir, other);
    if (inst->op == CT_OP_TMEM_ALLOC && inst->region != 0) {
      return false;
    }
  }
  return true;
}

void ct_emit_tmem_alloc(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtBuf *buf = &e->ir->bufs[inst->imm.i];
  ct_emit_line(e, inst->loc, "%s<%" PRId64 ">(%s);", help(e, CT_HELP_TMEM_ALLOC),
               ct_buf_columns(buf), e->buf_names[buf->address]);
  if (is_last(e, v)) {
    ct_emit_line(e, inst->loc, "%s();", help(e, CT_HELP_TMEM_RELINQUISH));
  }
}

void ct_emit_tmem_dealloc(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  ct_emit_line(e, inst->loc, "%s<%" PRId64 ">(%s);", help(e, CT_HELP_TMEM_DEALLOC),
               ct_buf_columns(&e->ir->bufs[inst->imm.i]), e->buf_names[inst->imm.i]);
}

/* --- copies --------------------------------------------------------------------------------------- */

typedef struct Copy {
  CtEmit *e;
  const CtInst *inst;
  const CtTile *t;
  const CtView *there, *own; /* tensor memory, and registers */
  bool is_load;
} Copy;

static int64_t per_word(const Copy *c) {
  return WORD_BITS / ct_dtype_width(c->e->ir->bufs[c->own->buf].dtype);
}

/* All lanes give the instruction the address of the first one's part. With 32 lanes of tensor memory, each thread has
   the same columns of a lane of its own, and its own address tells the first one's (TMEM_AT_WARP). */
static bool is_row_each(const CtAtom *atom) { return ct_atom_tmem_shape(atom).lanes == LANES; }

/* The function of an atom. */
static void make_function(const Copy *c) {
  CtText *out = &c->e->functions;
  const CtAtom *atom = c->t->atom;
  CtTmemShape shape = ct_atom_tmem_shape(atom);
  int n = shape.lanes * shape.bits / (LANES * WORD_BITS);
  if (!ct_emit_is_new_function(c->e, atom->name)) {
    return;
  }
  ct_text_printf(out, "static __device__ __forceinline__ void %s(%sunsigned* r, unsigned at) {\n",
                 atom->name, c->is_load ? "" : "const ");
  if (!is_row_each(atom)) {
    ct_text_puts(out, "  at = __shfl_sync(0xffffffffu, at, 0);\n");
  }
  ct_text_printf(out, "  asm volatile(\"%s %s", atom->ptx, c->is_load ? "" : "[%0], ");
  ct_emit_register_list(out, c->is_load ? 0 : 1, n);
  if (c->is_load) {
    ct_text_printf(out, ", [%%%d];\"\n      : ", n);
    ct_emit_constraints(out, "=", 'r', "r", n);
    ct_text_puts(out, "\n      : \"r\"(at));\n}\n");
  } else {
    ct_text_puts(out, ";\"\n      :: \"r\"(at), ");
    ct_emit_constraints(out, "", 'r', "r", n);
    ct_text_puts(out, " : \"memory\");\n}\n");
  }
}

static void put_call(const Copy *c, const char *var) {
  CtEmit *e = c->e;
  CtEmitOperand own = ct_emit_atom_operand(c->e, c->inst->loc, c->own, var),
                there = ct_emit_atom_operand(c->e, c->inst->loc, c->there, var);
  ct_emit_begin(e, c->inst->loc);
  ct_text_printf(&e->body, "%s(reinterpret_cast<%sunsigned*>(%s", c->t->atom->name,
                 c->is_load ? "" : "const ", own.base);
  (void)ct_emit_sum(e, &own, 0, " + ");
  CtHelper at = is_row_each(c->t->atom) ? CT_HELP_TMEM_AT_WARP : CT_HELP_TMEM_AT;
  ct_text_printf(&e->body, "), %s<%" PRId64 ">(%s, ", ct_emit_help(e, at), per_word(c), there.base);
  ct_emit_coordinate(e, &there);
  ct_text_puts(&e->body, "));");
  ct_emit_end(e);
}

/* Keeps reads of the registers after the wait. */
static void put_hold(const Copy *c) {
  const CtIr *ir = c->e->ir;
  uint32_t memory = ct_ir_memory(ir, c->own->buf);
  const CtBuf *buf = &ir->bufs[memory];
  bool is_word = buf->dtype == CT_f32 || buf->dtype == CT_i32 || buf->dtype == CT_u32;
  ct_emit_line(
      c->e, c->inst->loc, "%s<%" PRId64 ">(%s%s%s);", ct_emit_help(c->e, CT_HELP_WGMMA_HOLD),
      buf->n_elems.v * ct_dtype_width(buf->dtype) / WORD_BITS,
      is_word ? "" : "reinterpret_cast<unsigned*>(", c->e->buf_names[memory], is_word ? "" : ")");
}

void ct_emit_tcgen05_copy(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  bool is_load = e->ir->bufs[t->a.buf].space == CT_TENSOR;
  Copy c = {e, inst, t, is_load ? &t->a : &t->dst, is_load ? &t->dst : &t->a, is_load};
  CtEmitNest nest = {.e = e, .loc = inst->loc};
  int64_t n = ct_emit_n_atoms(&t->a);
  if (n == 0) {
    return;
  }
  make_function(&c);
  const char *var = ct_emit_enter_loop(&nest, 'i', ct_int(n), 1, CT_UNROLL_ALL);
  put_call(&c, var);
  ct_emit_leave_all(&nest);
  ct_emit_line(e, inst->loc, "asm volatile(\"tcgen05.wait::%s.sync.aligned;\" ::: \"memory\");",
               is_load ? "ld" : "st");
  if (is_load) {
    put_hold(&c);
  }
}

/* --- copies of scales ----------------------------------------------------------------------------- */

/* The descriptor of 32 rows of 16 bytes, eight of which are 128 bytes from the next, without a swizzle. */
static void make_cp_function(CtEmit *e, const CtAtom *atom) {
  if (ct_emit_is_new_function(e, atom->name)) {
    ct_text_printf(
        &e->functions,
        "static __device__ __forceinline__ void %s(unsigned at, const void* from) {\n"
        "  unsigned long long rows = (unsigned)__cvta_generic_to_shared(from) >> 4 & 0x3fff;\n"
        "  asm volatile(\"%s [%%0], %%1;\"\n"
        "               :: \"r\"(at), \"l\"(rows | 0x400800010000ull) : \"memory\");\n}\n",
        atom->name, atom->ptx);
  }
}

void ct_emit_tcgen05_cp(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const CtTile *t = inst->u.tile;
  Copy c = {e, inst, t, &t->dst, &t->a, false};
  CtEmitNest nest = {.e = e, .loc = inst->loc};
  int64_t n = ct_emit_n_atoms(&t->a);
  if (n == 0) {
    return;
  }
  make_cp_function(e, t->atom);
  const char *var = ct_emit_enter_loop(&nest, 'i', ct_int(n), 1, CT_UNROLL_ALL);
  CtEmitOperand own = ct_emit_atom_operand(e, inst->loc, c.own, var),
                there = ct_emit_atom_operand(e, inst->loc, c.there, var);
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "%s(%s<%" PRId64 ">(%s, ", t->atom->name,
                 ct_emit_help(e, CT_HELP_TMEM_AT), per_word(&c), there.base);
  ct_emit_coordinate(e, &there);
  ct_text_puts(&e->body, "), ");
  ct_emit_address(e, &own);
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
  ct_emit_leave_all(&nest);
}
