/* layout_flat.h: what the files of the algebra share: coalescing lists of modes, builders of
   layouts, and values as text for error messages. Internal to the algebra. */
#ifndef CT_LAYOUT_FLAT_H
#define CT_LAYOUT_FLAT_H

#include "layout.h"
#include "tuple_build.h"

/* --- a list of flat modes, each coalesced with the one before it where that is possible ------- */

typedef struct CtFlatMode {
  CtInt shape, stride;
  CtModeName name; /* of all that was merged into it; 0 where that differs */
} CtFlatMode;

enum { CT_FLAT_INLINE = 12 };

typedef struct CtFlat {
  CtFlatMode *mode;
  int n, cap;
  bool has_names; /* some mode pushed had one */
  CtFlatMode inline_modes[CT_FLAT_INLINE];
} CtFlat;

void ct_flat_init(CtFlat *f);
/* Drops size 1; merges s:d, t:(s*d) to (s*t):d; else appends. */
CtStatus ct_flat_push_named(CtFlat *f, const CtCx *cx, CtModeName name, CtInt shape, CtInt stride,
                            CtErr *err) CT_NODISCARD;
static inline CtStatus ct_flat_push(CtFlat *f, const CtCx *cx, CtInt shape, CtInt stride,
                                    CtErr *err) {
  return ct_flat_push_named(f, cx, 0, shape, stride, err);
}
/* Pushes all modes of l. unbounded: keeps the function past the end too: a last mode of size 1
   stays, with its stride and an extent of 2 (the extent of the last mode never matters then). */
CtStatus ct_flat_push_layout(CtFlat *f, const CtCx *cx, CtLayout l, bool unbounded,
                             CtErr *err) CT_NODISCARD;
/* Likewise with the size of stride-0 modes taken as 1. */
CtStatus ct_flat_push_filtered(CtFlat *f, const CtCx *cx, CtLayout l, CtErr *err) CT_NODISCARD;
/* 1:0, one mode s:d, or a tuple of modes; called `name` where its modes differ in theirs. */
void ct_flat_emit(const CtFlat *f, CtBuild *b, CtModeName name);
CtStatus ct_flat_finish(const CtFlat *f, const CtCx *cx, const char *op, CtLayout *out,
                        CtErr *err) CT_NODISCARD;

/* --- building layouts ------------------------------------------------------------------------- */

static inline void ct_build_init_layout(CtBuild *b, const CtCx *cx, const char *op, CtErr *err) {
  ct_build_init(b, cx->arena, op, true, err);
}
static inline void ct_build_layout(CtBuild *b, CtLayout l) { ct_build_copy(b, l.shape, l.stride); }
CtStatus ct_build_finish_layout(CtBuild *b, CtLayout *out) CT_NODISCARD;

/* The name of a tuple of modes as a whole, for another one of the same modes. */
static inline CtModeName ct_whole_name(CtLayout l) {
  return ct_is_leaf(l.shape) ? 0 : l.shape->name;
}

/* s:d as a layout without an arena: the nodes belong to the caller. */
typedef struct CtLeafLayout {
  CtNode shape, stride;
} CtLeafLayout;
static inline CtLayout ct_leaf_layout(CtLeafLayout *n, CtInt shape, CtInt stride) {
  n->shape = (CtNode){.rank = CT_LEAF, .len = 1, .i = shape};
  n->stride = (CtNode){.rank = CT_LEAF, .len = 1, .i = stride};
  return (CtLayout){&n->shape, &n->stride};
}

struct CtParse; /* tuple_parse.h */
CtStatus ct_parse_layout(struct CtParse *p, CtLayout *out) CT_NODISCARD;

/* Fails of a layout with basis strides, for operations on indices. */
CtStatus ct_check_numbers(const CtCx *cx, const char *op, CtLayout a, CtErr *err) CT_NODISCARD;

/* --- parts of operations that others are made of; op names the operation in errors ------------- */

CtStatus ct_complement_as(const CtCx *cx, const char *op, CtLayout a, CtTuple cotarget,
                          CtLayout *out, CtErr *err) CT_NODISCARD;
/* Builds composition(a, part) for each part; all parts together must stay within a's modes. */
void ct_build_compositions(CtBuild *b, const CtCx *cx, CtLayout a, int n, const CtLayout *parts);
CtStatus ct_zipped_divide_as(const CtCx *cx, const char *op, CtLayout a, CtTiler t, CtLayout *out,
                             CtErr *err) CT_NODISCARD;

/* --- texts for messages, in the arena of cx; long ones are cut --------------------------------- */

const char *ct_keep_text(const CtCx *cx, CtText *t); /* moves it to the arena */
const char *ct_show_int(const CtCx *cx, CtInt i);
const char *ct_show_tuple(const CtCx *cx, CtTuple t);
const char *ct_show_layout(const CtCx *cx, CtLayout l);
const char *ct_show_tiler(const CtCx *cx, CtTiler t);

#endif
