/* test_ir.c: the IR's laws: folding agrees with arithmetic, ranges and divisors hold for all values,
   sharing respects regions, passes do what they say, and the verifier finds what is malformed. */
#include "runtime/ir/ir_make.h"

#include <math.h>
#include <string.h>

#include "tap.h"

static const int64_t one_block[3] = {256, 1, 1};

static CtIr *open_ir(void) {
  static CtIr ir;
  ct_ir_init(&ir, ct_alloc_std, (CtTarget){.shared_max = 1 << 16, .name = "test"}, one_block);
  ct_ir_at(&ir, "test.lua", 1);
  return &ir;
}

/* A run-time integer whose only use is to be one. */
static CtVal number(CtIr *ir, const char *name, CtFacts facts) {
  return ct_ir_number(ir, name, CT_i32, facts);
}

/* --- ranges: every value that operands in their ranges can give lies in the result's facts ------ */

static const CtOp int_ops[] = {CT_OP_ADD, CT_OP_SUB, CT_OP_MUL, CT_OP_FLOORDIV, CT_OP_FLOORMOD,
                               CT_OP_MIN, CT_OP_MAX, CT_OP_AND, CT_OP_OR,       CT_OP_XOR};

static bool holds(CtFacts f, int64_t v) {
  return v >= f.lo && v <= f.hi && (f.div == 0 ? v == 0 : v % f.div == 0);
}

static void test_facts(void) {
  int n_wrong = 0;
  int n_checked = 0;
  for (int64_t lo = -6; lo <= 6; lo += 3) {
    for (int64_t lo2 = -4; lo2 <= 5; lo2 += 3) {
      for (int64_t div = 1; div <= 2; div++) {
        CtIr *ir = open_ir();
        CtFacts fx = {lo * div, (lo + 4) * div, div};
        CtFacts fy = {lo2, lo2 + 3, 1};
        CtVal x = number(ir, "x", fx);
        CtVal y = number(ir, "y", fy);
        for (size_t i = 0; i < CT_ARRAY_LEN(int_ops); i++) {
          CtVal v = ct_ir_binary(ir, int_ops[i], x, y);
          for (int64_t a = fx.lo; a <= fx.hi; a += div) {
            for (int64_t b = fy.lo; b <= fy.hi; b++) {
              const CtSlotValue slots[2] = {{.i = a}, {.i = b}};
              int64_t got;
              CtErr err;
              if (ct_ir_eval(ir, v, slots, &got, &err) == CT_OK) {
                n_checked++;
                n_wrong += !holds(ct_inst(ir, v)->facts, got);
              }
            }
          }
        }
        ct_ir_clear(ir);
      }
    }
  }
  OK(n_checked > 5000, "facts: %d values of operations on ranges checked", n_checked);
  IS_INT(n_wrong, 0, "facts: every value lies in its range and is a multiple of its divisor");
}

/* --- folding --------------------------------------------------------------------------------------- */

static void test_folding(void) {
  CtIr *ir = open_ir();
  CtVal x = number(ir, "x", (CtFacts){0, 1000, 8});
  CtVal c7 = ct_ir_const_int(ir, CT_i32, -7);
  CtVal c2 = ct_ir_const_int(ir, CT_i32, 2);
  IS_INT(ct_inst(ir, ct_ir_binary(ir, CT_OP_FLOORDIV, c7, c2))->imm.i, -4, "-7 // 2 is -4");
  IS_INT(ct_inst(ir, ct_ir_binary(ir, CT_OP_FLOORMOD, c7, c2))->imm.i, 1, "-7 %% 2 is 1");
  CtVal c8 = ct_ir_const_int(ir, CT_i32, 8);
  IS_INT(ct_inst(ir, ct_ir_binary(ir, CT_OP_FLOORMOD, x, c8))->imm.i, 0,
         "x %% 8 is 0 where 8 divides x");
  CtVal big = ct_ir_const_int(ir, CT_i32, 2000);
  OK(ct_ir_binary(ir, CT_OP_FLOORMOD, x, big) == x, "x %% 2000 is x where 0 <= x <= 1000");
  IS_INT(ct_inst(ir, ct_ir_binary(ir, CT_OP_LT, x, big))->imm.i, 1, "x < 2000 is true");
  CtVal max = ct_ir_const_int(ir, CT_i32, INT32_MAX);
  IS_INT(ct_inst(ir, ct_ir_binary(ir, CT_OP_ADD, max, ct_ir_const_int(ir, CT_i32, 1)))->imm.i,
         INT32_MIN, "i32 wraps around");
  CtVal zero = ct_ir_const_float(ir, CT_f32, 0.0);
  CtVal f = ct_ir_number(ir, "f", CT_f32, (CtFacts){0});
  OK(ct_ir_binary(ir, CT_OP_ADD, f, zero) != f, "f + 0.0 stays: -0.0 + 0.0 is 0.0");
  OK(ct_ir_binary(ir, CT_OP_SUB, f, zero) == f, "f - 0.0 is f");
  CtVal nan = ct_ir_const_float(ir, CT_f32, NAN);
  CtVal as_int = ct_ir_cast(ir, nan, CT_i32);
  IS_INT(ct_inst(ir, as_int)->imm.i, 0, "NaN becomes 0");
  CtVal huge = ct_ir_cast(ir, ct_ir_const_float(ir, CT_f32, 1e30), CT_i32);
  IS_INT(ct_inst(ir, huge)->imm.i, INT32_MAX, "a float that is too large saturates");
  ct_ir_clear(ir);
}

/* --- sharing ---------------------------------------------------------------------------------------- */

static void test_sharing(void) {
  CtIr *ir = open_ir();
  CtVal x = number(ir, "x", (CtFacts){0, 100, 1});
  CtVal c = ct_ir_binary(ir, CT_OP_LT, x, ct_ir_const_int(ir, CT_i32, 50));
  CtVal outer = ct_ir_binary(ir, CT_OP_MUL, x, x);
  CtVal op = ct_ir_if(ir, c);
  OK(ct_ir_binary(ir, CT_OP_MUL, x, x) == outer, "an outer operation is shared in a region");
  CtVal inner = ct_ir_binary(ir, CT_OP_SUB, x, ct_ir_const_int(ir, CT_i32, 3));
  ct_ir_else(ir, op);
  OK(ct_ir_binary(ir, CT_OP_SUB, x, ct_ir_const_int(ir, CT_i32, 3)) != inner,
     "an operation of one arm is not shared with the other");
  ct_ir_end(ir, op);
  ct_ir_clear(ir);
}

/* --- passes ------------------------------------------------------------------------------------------- */

static CtView tensor_of(CtIr *ir, const char *name, int64_t n) {
  CtCx cx = ct_ir_cx(ir);
  CtErr err;
  CtLayout l;
  CtTuple shape = ct_leaf(cx.arena, ct_int(n));
  (void)!ct_layout_make(&cx, shape, NULL, &l, &err);
  CtTensorSpec spec = {.name = name,
                       .dtype = CT_f32,
                       .index = CT_i32,
                       .align = 16,
                       .shape = l.shape,
                       .stride = l.stride};
  return ct_ir_tensor(ir, &spec);
}

static void test_contract(void) {
  CtIr *ir = open_ir();
  CtErr err;
  CtView t = tensor_of(ir, "t", 64);
  CtVal zero = ct_ir_const_int(ir, CT_i32, 0);
  CtVal one = ct_ir_const_int(ir, CT_i32, 1);
  CtVal a = ct_ir_load(ir, t.buf, zero);
  CtVal b = ct_ir_load(ir, t.buf, one);
  CtVal sum = ct_ir_binary(ir, CT_OP_ADD, ct_ir_binary(ir, CT_OP_MUL, a, b),
                           ct_ir_binary(ir, CT_OP_MUL, a, a));
  CtVal kept = ct_ir_binary(ir, CT_OP_MUL, b, b);
  CtVal twice = ct_ir_binary(ir, CT_OP_ADD, kept, a);
  ct_ir_store(ir, t.buf, zero, sum);
  ct_ir_store(ir, t.buf, one, twice);
  ct_ir_store(ir, t.buf, one, kept);
  IS_INT(ct_ir_finish(ir, &err), CT_OK, "finish");
  IS_INT(ct_inst(ir, sum)->op, CT_OP_FMA, "a*b + a*a is fma of the left product");
  OK(ct_inst(ir, sum)->args[0] == a && ct_inst(ir, sum)->args[1] == b, "... with its factors");
  IS_INT(ct_inst(ir, twice)->op, CT_OP_ADD, "a product with another use is not contracted");
  ct_ir_clear(ir);
}

static bool comes_before(const CtIr *ir, CtVal v, CtVal other) {
  while (v != 0 && v != other) {
    v = ct_inst(ir, v)->next;
  }
  return v == other;
}

/* t[i] = 1 in a loop; after it t[n*64], t[n*64 // n] and t[t[0]'s integer * 64]. */
static void test_early(bool asks) {
  CtIr *ir = open_ir();
  CtErr err;
  ir->early_index = asks;
  CtView t = tensor_of(ir, "t", 64);
  CtVal zero = ct_ir_const_int(ir, CT_i32, 0), one = ct_ir_const_int(ir, CT_i32, 1);
  CtVal f = ct_ir_cast(ir, one, CT_f32), wide = ct_ir_const_int(ir, CT_i32, 64);
  CtVal n = number(ir, "n", (CtFacts){1, 9, 1});
  CtVal loop = ct_ir_for(ir, zero, n, one, 0, "i");
  ct_ir_store(ir, t.buf, loop, f);
  ct_ir_end(ir, loop);
  CtVal index = ct_ir_binary(ir, CT_OP_MUL, n, wide);
  CtVal further = ct_ir_binary(ir, CT_OP_ADD, index, one);
  CtVal divided = ct_ir_binary(ir, CT_OP_FLOORDIV, further, n);
  CtVal loaded = ct_ir_cast(ir, ct_ir_load(ir, t.buf, zero), CT_i32);
  CtVal late = ct_ir_binary(ir, CT_OP_MUL, loaded, wide);
  ct_ir_store(ir, t.buf, further, f);
  ct_ir_store(ir, t.buf, divided, f);
  ct_ir_store(ir, t.buf, late, f);
  IS_INT(ct_ir_finish(ir, &err), CT_OK, "finish");
  IS_INT(comes_before(ir, index, loop), asks, "an index moves before a loop if the kernel asks");
  OK(comes_before(ir, index, further), "... and stays before what is made of it");
  IS_INT(comes_before(ir, further, loop), asks, "... which moves, too");
  OK(comes_before(ir, loop, divided), "a division by a number that may be 0 stays");
  OK(comes_before(ir, loop, late), "what comes from memory stays");
  ct_ir_clear(ir);
}

static void test_dead_code(void) {
  CtIr *ir = open_ir();
  CtErr err;
  CtView t = tensor_of(ir, "t", 64);
  CtView u = tensor_of(ir, "u", 64);
  CtVal zero = ct_ir_const_int(ir, CT_i32, 0);
  CtVal unused = ct_ir_load(ir, u.buf, zero);
  CtVal var = ct_ir_var(ir, CT_f32, "v");
  ct_ir_set(ir, var, unused);
  CtVal n = number(ir, "n", (CtFacts){0, 9, 1});
  CtVal loop = ct_ir_for(ir, zero, n, ct_ir_const_int(ir, CT_i32, 1), 0, "i");
  ct_ir_load(ir, t.buf, loop);
  ct_ir_end(ir, loop);
  ct_ir_store(ir, t.buf, zero, ct_ir_load(ir, t.buf, zero));
  IS_INT(ct_ir_finish(ir, &err), CT_OK, "finish");
  OK(ct_inst(ir, unused)->region == 0, "an unread variable's value is removed");
  OK(ct_inst(ir, loop)->region == 0, "a loop that does nothing is removed");
  OK(ir->slots[0].used && !ir->slots[1].used && !ir->slots[2].used, "unused slots are not passed");
  ct_ir_clear(ir);
}

static void test_requires_and_async(void) {
  CtIr *ir = open_ir();
  ir->target = (CtTarget){.is_cuda = true, .sm = 90, .shared_max = 1 << 16, .name = "test"};
  CtErr err;
  CtCx cx = ct_ir_cx(ir);
  CtLayout l;
  CtView t = tensor_of(ir, "t", 64);
  (void)!ct_layout_make(&cx, ct_leaf(cx.arena, ct_int(64)), NULL, &l, &err);
  CtView s = ct_ir_shared(ir, "s", CT_f32, l);
  IS_INT(ct_ir_copy(ir, t, s, &err), CT_OK, "copy");
  const CtInst *copy = ct_inst(ir, ir->regions[1].last);
  IS_INT(copy->u.tile->vec, 4, "an aligned contiguous copy takes four floats at a time");
  OK(copy->u.tile->async, "global to shared may be asynchronous");
  ct_ir_effect(ir, CT_OP_BARRIER, 0);
  CtVal barrier = ir->regions[1].last;
  IS_INT(ct_ir_copy(ir, s, t, &err), CT_OK, "copy back");
  IS_INT(ct_ir_finish(ir, &err), CT_OK, "finish");
  IS_INT(ct_inst(ir, ct_inst(ir, barrier)->prev)->op, CT_OP_CP_WAIT,
         "a wait is implied at the barrier");
  ct_ir_clear(ir);
}

static void test_copy_width(void) {
  static const struct {
    const char *src, *dst;
    int64_t offset;
    int width;
  } rows[] = {
      {"8:1", "8:1", 0, 4},         {"8:1", "8:1", 2, 2},
      {"8:1", "8:1", 1, 1},         {"8:2", "8:1", 0, 1},
      {"(4,2):(1,6)", "8:1", 0, 2}, {"(4,2):(1,8)", "(4,2):(1,4)", 0, 4},
      {"(2,4):(1,2)", "8:1", 0, 4}, {"6:1", "6:1", 0, 2},
      {"7:1", "7:1", 0, 1},         {"(2,4):(4,1)", "(2,4):(4,1)", 0, 1},
  };
  for (size_t i = 0; i < CT_ARRAY_LEN(rows); i++) {
    CtIr *ir = open_ir();
    CtErr err;
    CtLayout src, dst;
    CtView t = tensor_of(ir, "t", 64);
    CtView u = tensor_of(ir, "u", 64);
    (void)!ct_layout_parse(&ir->arena, rows[i].src, strlen(rows[i].src), &src, &err);
    (void)!ct_layout_parse(&ir->arena, rows[i].dst, strlen(rows[i].dst), &dst, &err);
    t.layout = src;
    t.offset = ct_int(rows[i].offset);
    u.layout = dst;
    IS_INT(ct_ir_copy(ir, t, u, &err), CT_OK, "copy %s to %s", rows[i].src, rows[i].dst);
    IS_INT(ct_inst(ir, ir->regions[1].last)->u.tile->vec, rows[i].width, "... width from offset %d",
           (int)rows[i].offset);
    ct_ir_clear(ir);
  }
}

/* --- verifier ---------------------------------------------------------------------------------------- */

static void test_check(void) {
  CtIr *ir = open_ir();
  CtErr err;
  CtView t = tensor_of(ir, "t", 64);
  CtVal zero = ct_ir_const_int(ir, CT_i32, 0);
  CtVal x = ct_ir_load(ir, t.buf, zero);
  CtVal op = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_LT, x, ct_ir_const_float(ir, CT_f32, 1)));
  CtVal inner = ct_ir_load(ir, t.buf, zero);
  ct_ir_store(ir, t.buf, zero, inner);
  ct_ir_end(ir, op);
  ct_ir_store(ir, t.buf, zero, inner);
  IS_INT(ct_ir_finish(ir, &err), CT_EINVAL, "a value of a region that has ended is found");
  HAS_STR(err.msg, "uses a value of a region that has ended", "... and said");
  ct_ir_clear(ir);

  ir = open_ir();
  t = tensor_of(ir, "t", 64);
  CtVal n = number(ir, "n", (CtFacts){0, 9, 1});
  CtCx cx = ct_ir_cx(ir);
  CtLayout l;
  (void)!ct_layout_make(&cx, ct_leaf(cx.arena, ct_int(8)), NULL, &l, &err);
  CtView r = ct_ir_fragment(ir, "r", CT_f32, l);
  ct_ir_store(ir, r.buf, n, ct_ir_const_float(ir, CT_f32, 1));
  ct_ir_store(ir, t.buf, ct_ir_const_int(ir, CT_i32, 0),
              ct_ir_load(ir, r.buf, ct_ir_const_int(ir, CT_i32, 0)));
  IS_INT(ct_ir_finish(ir, &err), CT_EINVAL, "a run-time index of registers is refused");
  HAS_STR(err.msg, "register tensor 'r' is indexed by a run-time value", "... and said");
  IS_INT(err.line, 1, "... at its line");
  ct_ir_clear(ir);
}

/* --- wrapping ------------------------------------------------------------------------------------------ */

static void test_blocks(void) {
  CtIr *ir = open_ir();
  CtErr err;
  CtView t = tensor_of(ir, "t", 64);
  CtVal zero = ct_ir_const_int(ir, CT_i32, 0);
  CtVal block = ct_ir_block_begin(ir);
  CtVal x = ct_ir_load(ir, t.buf, zero);
  CtVal op = ct_ir_if(ir, ct_ir_binary(ir, CT_OP_LT, x, ct_ir_const_float(ir, CT_f32, 1)));
  ct_ir_break(ir, block);
  ct_ir_end(ir, op);
  ct_ir_store(ir, t.buf, zero, x);
  ct_ir_block_end(ir, block, true);
  IS_INT(ct_ir_finish(ir, &err), CT_OK, "a block around what was recorded");
  OK(ct_inst(ir, block)->region == 1 && ct_inst(ir, x)->region == ct_inst(ir, block)->u.regions[0],
     "... holds it");
  CtVal unused = ct_ir_block_begin(ir);
  ct_ir_block_end(ir, unused, false);
  OK(ct_inst(ir, unused)->region == 0, "a block without an exit is none");
  ct_ir_clear(ir);
}

/* Every allocation in turn fails: an error comes back, nothing crashes or leaks. */
typedef struct Failing {
  int left;
} Failing;

static void *failing_alloc(void *ud, void *p, size_t old_bytes, size_t new_bytes) {
  Failing *f = ud;
  if (new_bytes != 0 && f->left-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(NULL, p, old_bytes, new_bytes);
}

static void test_out_of_memory(void) {
  int n = 0;
  for (;; n++) {
    Failing f = {n};
    CtIr ir;
    CtErr err;
    ct_ir_init(&ir, (CtAlloc){failing_alloc, &f}, (CtTarget){.name = "test"}, one_block);
    bool done = false;
    if (!ir.failed) {
      CtVal x = ct_ir_number(&ir, "x", CT_i32, (CtFacts){0, 9, 1});
      for (int i = 1; i < 200 && !ir.failed; i++) {
        CtVal c = ct_ir_const_int(&ir, CT_i32, i);
        x = ir.failed ? 0 : ct_ir_binary(&ir, CT_OP_XOR, x, c);
      }
      done = ct_ir_finish(&ir, &err) == CT_OK;
    }
    ct_ir_clear(&ir);
    if (done) {
      break;
    }
  }
  OK(n > 5, "out of memory at each of %d allocations is an error", n);
}

int main(void) {
  test_facts();
  test_folding();
  test_sharing();
  test_contract();
  test_early(false);
  test_early(true);
  test_dead_code();
  test_requires_and_async();
  test_copy_width();
  test_check();
  test_blocks();
  test_out_of_memory();
  return done_testing();
}
