/* capture_slots.c: what a file of slots says, as a launch: the layouts come from the IR, whose dynamic extents and
   strides are slots. */
#include "capture_slots.h"

#include <string.h>

#include "runtime/ir/ir_make.h"

#define MAGIC "CUTTLESL"
enum { VERSION = 2, NUMBERS = 10 /* after the magic */, HEADER = 8 + 8 * NUMBERS };
enum { N_VERSION, N_IR, N_SLOTS, N_GRID, N_FLAGS = N_GRID + 3, N_SHARED, N_DEVICE, N_DATA };

typedef struct Slots {
  CtArena *arena;
  CtIr ir;
  uint64_t number[NUMBERS];
  const unsigned char *values, *bytes;
  CtCapture *out;
  CtCaptureSpan *spans;
  bool failed;
} Slots;

static uint64_t number_at(const unsigned char *p, uint64_t i) {
  uint64_t v = 0;
  for (int k = 7; k >= 0; k--) {
    v = v << 8 | p[8 * i + (uint64_t)k];
  }
  return v;
}

static void *get(Slots *s, size_t n, size_t bytes) {
  void *p = ct_arena_alloc(s->arena, (n + 1) * bytes);
  s->failed = s->failed || p == NULL;
  return p;
}

static const char *get_text(Slots *s, const char *text, size_t n) {
  char *own = ct_arena_strdup(s->arena, text, n);
  s->failed = s->failed || own == NULL;
  if (own != NULL) {
    ct_text_disarm(own);
  }
  return own;
}

/* The tuple with the launch's values for what is a slot. */
static CtTuple settle(Slots *s, CtTuple t) {
  CtNode *nodes = get(s, t->len, sizeof *nodes);
  for (uint32_t i = 0; nodes != NULL && i < t->len; i++) {
    nodes[i] = t[i];
    if (t[i].rank == CT_LEAF && t[i].i.kind == CT_DYNAMIC) {
      const CtInst *inst = ct_inst(&s->ir, t[i].i.id);
      nodes[i].i = inst->op == CT_OP_PARAM
                       ? ct_int((int64_t)number_at(s->values, (uint64_t)inst->imm.i))
                       : ct_any();
    }
  }
  return nodes;
}

static uint64_t fixed_extents(CtTuple shape) {
  uint64_t fixed = 0;
  int leaf = 0;
  for (uint32_t i = 0; i < shape->len; i++) {
    if (shape[i].rank == CT_LEAF) {
      fixed |= leaf < 64 && ct_is_static(shape[i].i) ? (uint64_t)1 << leaf : 0;
      leaf++;
    }
  }
  return fixed;
}

static void add_tensor(Slots *s, const CtParam *p, CtCaptureArg *arg) {
  const CtBuf *b = &s->ir.bufs[p->buf];
  CtCaptureTensor *t = get(s, 1, sizeof *t);
  uint64_t address = number_at(s->values, p->first_slot);
  uint64_t lead = address % CT_CAPTURE_ALIGN;
  if (t == NULL) {
    return;
  }
  s->spans[s->out->n_spans] = (CtCaptureSpan){.bytes = lead + number_at(s->bytes, p->first_slot),
                                              .lead = lead,
                                              .has_data = s->number[N_DATA] == 1};
  *t = (CtCaptureTensor){.dtype = b->dtype,
                         .span = s->out->n_spans++,
                         .at = lead,
                         .shape = settle(s, b->layout.shape),
                         .stride = settle(s, b->layout.stride),
                         .is_fixed =
                             ct_all_static(b->layout.shape) && ct_all_static(b->layout.stride),
                         .fixed = fixed_extents(b->layout.shape)};
  arg->kind = CT_CAPTURE_TENSOR;
  arg->n = 1;
  arg->tensors = t;
}

static void add_args(Slots *s) {
  CtCaptureArg *args = get(s, s->ir.n_params, sizeof *args);
  s->spans = get(s, s->ir.n_params, sizeof *s->spans);
  for (size_t i = 0; i < s->ir.n_params && !s->failed; i++) {
    const CtParam *p = &s->ir.params[i];
    args[i].name = get_text(s, p->name, strlen(p->name));
    if (p->is_tensor) {
      add_tensor(s, p, &args[i]);
    } else {
      args[i].kind = CT_CAPTURE_NUMBER;
      args[i].dtype = p->dtype;
      args[i].number = (int64_t)number_at(s->values, p->first_slot);
    }
  }
  s->out->args = args;
  s->out->n_args = (uint32_t)s->ir.n_params;
  s->out->spans = s->spans;
}

static bool has_lists(const CtIr *ir) {
  for (size_t i = 0; i < ir->n_params; i++) {
    if (ir->params[i].is_tensor && ir->bufs[ir->params[i].buf].members != NULL) {
      return true;
    }
  }
  return false;
}

static void add_launch(Slots *s) {
  const CtIr *ir = &s->ir;
  const char *chunk = ct_ir_chunk(ir, ir->loc);
  CtCapture *c = s->out;
  for (int i = 0; i < 3; i++) {
    c->grid[i] = (uint32_t)s->number[N_GRID + i];
    c->block[i] = (uint32_t)ir->block[i];
    c->cluster[i] = (uint32_t)ir->cluster[i];
  }
  c->kernel = get_text(s, ir->name, strlen(ir->name));
  c->chunk = get_text(s, chunk, strlen(chunk));
  c->line = ir->loc.line;
  c->why = "an exported kernel";
  c->shared_bytes = (uint32_t)s->number[N_SHARED];
  c->pdl = (s->number[N_FLAGS] & 1) != 0;
  c->cooperative = (s->number[N_FLAGS] & 2) != 0;
  c->deterministic = (s->number[N_FLAGS] & 4) != 0;
  c->contract = ir->contract;
  c->min_blocks = ir->min_blocks;
}

static CtStatus fail(CtErr *err, const char *what) {
  return ct_fail(err, CT_EINVAL, "replay: the file of an exported kernel %s", what);
}

/* Places of what follows the header, in order; false: the file ends before. */
static bool divide(Slots *s, const unsigned char *p, size_t n) {
  size_t left = n - HEADER;
  const uint64_t *number = s->number;
  if (number[N_SLOTS] > left / 16) {
    return false;
  }
  s->values = p + HEADER;
  s->bytes = s->values + 8 * number[N_SLOTS];
  left -= (size_t)(16 * number[N_SLOTS]);
  if (number[N_DEVICE] > left || number[N_IR] > left - number[N_DEVICE]) {
    return false;
  }
  const unsigned char *device = s->bytes + 8 * number[N_SLOTS];
  s->out->device = get_text(s, (const char *)device, (size_t)number[N_DEVICE]);
  s->out->ir = device + number[N_DEVICE];
  s->out->ir_bytes = (size_t)number[N_IR];
  s->out->data = device + number[N_DEVICE] + number[N_IR];
  s->out->data_bytes = left - (size_t)(number[N_DEVICE] + number[N_IR]);
  return true;
}

static CtStatus read_ir(Slots *s, CtErr *err) {
  CtStatus status = ct_ir_read_shown(s->arena->alloc, s->out->ir, s->out->ir_bytes, &s->ir, err);
  if (status != CT_OK) {
    return status;
  }
  s->ir.dyn.ud = &s->ir;
  if (s->ir.n_slots != s->number[N_SLOTS]) {
    status = fail(err, "has other values than its kernel expects");
  } else if (has_lists(&s->ir)) {
    status = fail(err, "is of a kernel with a list of tensors; capture it in a script");
  } else {
    add_launch(s);
    add_args(s);
    status = s->failed ? ct_fail_nomem(err) : CT_OK;
  }
  ct_ir_read_clear(&s->ir);
  return status;
}

bool ct_capture_is_slots(const void *bytes, size_t n) {
  return n >= strlen(MAGIC) && memcmp(bytes, MAGIC, strlen(MAGIC)) == 0;
}

CtStatus ct_capture_check_slots(const void *bytes, size_t n, CtErr *err) {
  uint64_t version = n < HEADER ? 0 : number_at((const unsigned char *)bytes + 8, N_VERSION);
  if (n < HEADER) {
    return fail(err, "ends too early");
  }
  return version == VERSION
             ? CT_OK
             : ct_fail(err, CT_EUNSUPPORTED,
                       "replay: file of an exported kernel of version %llu; this library reads %d",
                       (unsigned long long)version, VERSION);
}

CtStatus ct_capture_read_slots(CtArena *a, const void *bytes, size_t n, CtCapture *out,
                               CtErr *err) {
  Slots s = {.arena = a, .out = out};
  const unsigned char *p = bytes;
  memset(out, 0, sizeof *out);
  if (n < HEADER) {
    return fail(err, "ends too early");
  }
  for (int i = 0; i < NUMBERS; i++) {
    s.number[i] = number_at(p + 8, (uint64_t)i);
  }
  return divide(&s, p, n) ? read_ir(&s, err) : fail(err, "ends too early");
}
