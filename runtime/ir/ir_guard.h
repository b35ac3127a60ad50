/* ir_guard.h: guards of views: what each part of a guarded tensor must keep to, and tests of it. */
#ifndef CT_IR_GUARD_H
#define CT_IR_GUARD_H

#include "ir.h"

/* Adds an axis unless it is known to hold, or is there. `shape` is that of the view. */
CtStatus ct_ir_guard_add(CtIr *ir, CtGuard *g, CtTuple shape, CtGuardAxis axis,
                         CtErr *err) CT_NODISCARD;
/* Adds what a coordinate that is fixed in a mode of `size` must keep to. `shape`: of what is left. */
CtStatus ct_ir_guard_fix(CtIr *ir, CtGuard *guard, CtTuple shape, CtInt crd, CtInt size,
                         CtErr *err) CT_NODISCARD;
/* The guard of the part of a view at a coordinate whose `_` leave the modes of `rest`. `fixes`: the
   coordinate may lie outside the view's shape. */
CtStatus ct_ir_guard_slice(CtIr *ir, const CtView *v, CtTuple crd, CtTuple rest, bool fixes,
                           CtGuard *out, CtErr *err) CT_NODISCARD;
/* Is the element at a coordinate inside? `fix`: `fixes` as above. */
CtStatus ct_ir_guard_test(CtIr *ir, CtView v, CtTuple crd, bool fix, CtVal *out,
                          CtErr *err) CT_NODISCARD;
/* Every entry of a is less than b's, as ct_elem_less. */
CtStatus ct_ir_elem_less(CtIr *ir, CtTuple a, CtTuple b, CtVal *out, CtErr *err) CT_NODISCARD;

/* A linear function of coordinates, given by its strides over some shape, along a layout whose values
   are coordinates of that shape and begin at `at`: its strides over that layout, and its start. */
CtStatus ct_guard_along(const CtCx *cx, CtTuple stride, CtLayout coords, CtTuple at, CtTuple *out,
                        CtInt *start, CtErr *err) CT_NODISCARD;
CtTuple ct_guard_zero(const CtCx *cx, CtTuple shape); /* zeros, as many; NULL: no memory */
/* The strides of the linear coordinate within the part of a shape that begins at node `from`; 0 of
   the other modes. */
CtStatus ct_guard_linear(const CtCx *cx, CtTuple shape, uint32_t from, CtTuple *out,
                         CtErr *err) CT_NODISCARD;

#endif
