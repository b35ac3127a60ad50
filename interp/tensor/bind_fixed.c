/* bind_fixed.c: static_mode(t, mode...): a tensor some of whose extents are constants of the kernels that
   it is passed to. launch_key.c puts them into the key of a specialisation. */
#include <lauxlib.h>

#include "interp/algebra/bind.h"
#include "interp/openers.h"
#include "interp/state/diag.h"
#include "tensor.h"

static int count_leaves(CtTuple from, CtTuple end) {
  int n = 0;
  for (; from < end; from++) {
    n += from->rank == CT_LEAF;
  }
  return n;
}

/* The bits of the mode in argument `idx`: a number, a name or a path. */
static uint64_t bits_of_mode(lua_State *L, const Tensor *t, int idx) {
  CtCx cx = bind_enter(L);
  CtLayout mode;
  int path[CT_MAX_DEPTH];
  lua_pushvalue(L, idx);
  int n = bind_to_mode_path(L, lua_gettop(L), t->layout, path, "static_mode");
  lua_pop(L, 1);
  diag_try(L, ct_mode_at(&cx, "static_mode", t->layout, n, path, &mode, diag_err(L)));
  CtTuple node = t->layout.shape;
  for (int i = 0; i < n; i++) {
    node = ct_child(node, path[i]);
  }
  int first = count_leaves(t->layout.shape, node),
      end = count_leaves(node, node + node->len) + first;
  if (end > TENSOR_MAX_FIXED) {
    diag_error(L,
               "static_mode: the mode has extent %d of %s, but only the first %d can be chosen; "
               "static_mode(t) makes all of them static",
               end, tensor_push_title(L, 1), TENSOR_MAX_FIXED);
  }
  uint64_t upto = end == TENSOR_MAX_FIXED ? UINT64_MAX : ((uint64_t)1 << end) - 1;
  return upto & ~(((uint64_t)1 << first) - 1);
}

static int static_mode(lua_State *L) { /* tensor, mode... */
  int n = lua_gettop(L);
  const Tensor *t = tensor_check(L, 1, "static_mode");
  if (t->in_kernel) {
    return diag_error(L,
                      "static_mode: %s is a tensor of the kernel, whose launch has said what is "
                      "static; pass static_mode(t, mode) to the launch, or tile the tensor",
                      tensor_push_title(L, 1));
  }
  t = tensor_check_recordable(L, 1, "static_mode");
  uint64_t fixed = t->fixed;
  for (int i = 2; i <= n; i++) {
    fixed |= bits_of_mode(L, t, i);
  }
  Tensor *made = tensor_push_part(L, t, t->layout, t->offset, NULL);
  made->fixed = fixed;
  made->is_fixed = t->is_fixed || n == 1;
  return 1;
}

void bind_open_fixed(lua_State *L) { /* language table on top */
  lua_pushcfunction(L, static_mode);
  lua_setfield(L, -2, "static_mode");
}
