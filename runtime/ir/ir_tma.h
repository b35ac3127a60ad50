/* ir_tma.h: copies of boxes by the tensor memory accelerator (PTX ISA, cp.async.bulk.tensor).

   A tensor map says how a tensor lies in global memory and which box of it an instruction takes; the
   launch fills it in. One call of tma_load or tma_store is one TMA_LOAD or TMA_STORE of the IR for each
   instruction. A box lies densely in shared memory, its dimension 0 fastest, from the address of the
   instruction on; then the map's swizzle permutes the 16 bytes by the bits of their addresses. Elements
   outside the tensor are loaded as 0 and not stored. */
#ifndef CT_IR_TMA_H
#define CT_IR_TMA_H

#include "ir.h"

enum {
  CT_TMA_DIMS = 5,
  CT_TMA_BOX = 256,
  CT_TMA_ALIGN = 128,
  CT_TMA_UNIT = 16,
  CT_TMA_MOST_BYTES = 1 << 18
};

/* A dimension of a map: a mode of the tensor, or a part of one: `extent / div` steps, `stride * mul`
   elements apart. The values are constants or depend on the launch only. */
typedef struct CtTmaDim {
  CtVal extent, stride;
  int64_t div, mul;
  uint32_t box; /* elements of the box */
} CtTmaDim;

typedef struct CtTmaMap {
  const char *name;
  uint32_t buf; /* global */
  CtVal offset; /* of the tensor's first element in it */
  CtDtype dtype;
  uint8_t swizzle; /* B of Sw<B,4,3> on bytes: 0 (none) to 3 (128 bytes) */
  /* bytes that are fetched into the L2 cache at once: 0 (no more), 64, 128, 256 */
  uint16_t promotion;
  int n;
  CtTmaDim dim[CT_TMA_DIMS];
} CtTmaMap;

/* Reductions of stores; X(NAME, text, instruction). */
#define CT_TMA_REDUCTIONS(X)                                                                       \
  X(NONE, "", "")                                                                                  \
  X(ADD, "add", "add")                                                                             \
  X(MIN, "min", "min")                                                                             \
  X(MAX, "max", "max")                                                                             \
  X(AND, "and", "and")                                                                             \
  X(OR, "or", "or")                                                                                \
  X(XOR, "xor", "xor")
typedef enum CtTmaReduce {
#define X(name, text, ptx) CT_TMA_##name,
  CT_TMA_REDUCTIONS(X)
#undef X
      CT_TMA_REDUCE_COUNT
} CtTmaReduce;
extern const char *const ct_tma_reductions[CT_TMA_REDUCE_COUNT];

/* A call as boxes: how many, and the fewest that its tile could be, with the elements of one of those, those
   that lie together first. 0: not known, as under a swizzle, whose rows are as long as it. */
typedef struct CtTmaBoxes {
  uint8_t n, fewest, n_dims;
  uint16_t box[CT_TMA_DIMS];
} CtTmaBoxes;

/* One instruction. */
typedef struct CtTma {
  uint32_t map; /* in CtIr.maps */
  uint32_t buf; /* shared */
  /* of the box, in elements; a multiple of 128 bytes, to which no swizzle is applied */
  CtVal offset;
  CtVal crd[CT_TMA_DIMS]; /* i32: of the box's first element in the map's dimensions */
  uint32_t bar;           /* TMA_LOAD: the buffer of barriers, and which one (i32) */
  CtVal slot;
  CtVal
      mask; /* i32. TMA_LOAD: blocks of the cluster that get the box; 0: this one. TMA_SEND: the rank of the one that does */
  bool is_of_pair; /* TMA_LOAD: its bytes complete on the barrier of the pair's even block */
  bool
      is_cancel; /* CLC_TRY_CANCEL: 16 bytes at `offset` of `buf` are the answer; it has no map and no coordinates */
  uint32_t from;  /* TMA_SEND: what is read, shared; crd[0]: from which element on; it has no map */
  uint32_t count; /* TMA_SEND: elements */
  CtTmaReduce reduce;
  CtCacheHint cache; /* of the tensor */
  CtTmaBoxes boxes;  /* of its call */
} CtTma;

/* The tensor that a tensor of coordinates (tma_tensor) is of. */
typedef struct CtTmaSource {
  CtView view;
  int promotion; /* as CtTmaMap; -1: the script does not say */
} CtTmaSource;

/* Notes a tensor whose coordinates a script asks for: the number of its source. */
uint32_t ct_ir_tma_source(CtIr *ir, const CtTmaSource *source);

/* A call: the box of the tensor `source` whose elements have the coordinates at + coords(...), and a view
   of shared memory of as many elements, in the same order. Fails where the instructions cannot do it,
   with the rule. */
typedef struct CtTmaCall {
  const char *op; /* "tma_load" */
  uint32_t source;
  CtLayout coords;
  CtTuple at;
  const char *name; /* of the tile of coordinates, or NULL */
  CtView shared;
  uint32_t bar;
  CtVal slot, mask;
  bool is_of_pair;
  CtTmaReduce reduce;
} CtTmaCall;
CtStatus ct_ir_tma_load(CtIr *ir, const CtTmaCall *call, CtErr *err) CT_NODISCARD;
/* Nobody waits for a store: bar, slot and mask are not read. */
CtStatus ct_ir_tma_store(CtIr *ir, const CtTmaCall *call, CtErr *err) CT_NODISCARD;
/* Copies `from` to the same elements of `to` as another block of the cluster has it; the bytes complete on that block's
   barrier (PTX ISA, cp.async.bulk.shared::cluster.shared::cta). Elements lie side by side, from a multiple of 16 bytes on. */
CtStatus ct_ir_tma_send(CtIr *ir, const CtView *from, const CtView *to, uint32_t bar, CtVal slot,
                        CtVal rank, CtErr *err) CT_NODISCARD;
/* Asks for a cluster's work (PTX ISA, clusterlaunchcontrol.try_cancel). The answer goes to `response`, two u64 side by
   side in shared memory; mask: 0, or all blocks of the cluster get it, each at its own barrier. */
CtStatus ct_ir_try_cancel(CtIr *ir, const CtView *response, uint32_t bar, CtVal slot, CtVal mask,
                          CtErr *err) CT_NODISCARD;
void ct_ir_load_response(CtIr *ir, const CtView *response, CtVal words[2]);
/* The answer: CT_OP_CLC_IS_CANCELED, or CT_OP_CLC_FIRST_CTAID along an axis. */
CtVal ct_ir_query_cancel(CtIr *ir, CtOp op, const CtVal words[2], int axis);
/* Has the device a reduction of this type? */
bool ct_tma_can_reduce(CtTmaReduce reduce, CtDtype type);
/* Has the target what `op` needs? */
CtStatus ct_ir_check_tma(const CtIr *ir, const char *op, CtErr *err) CT_NODISCARD;

/* The values that an instruction uses; on the CPU engine those of its map too. */
void ct_tma_each_operand(const CtIr *ir, const CtTma *tma, void (*fn)(void *ud, CtVal operand),
                         void *ud);

#endif
