/* launch.c: where the launches of all hosts come together: finds the specialisation for the arguments, and checks that
   the launch fits it. Then launch_tap.c has the launch. */
#include "interp/state/diag.h"
#include "launch_collect.h"
#include "launch_key.h"
#include "launch_list.h"
#include "launch_tap.h"

/* Of a tensor, or of a list's i-th one. */
static void write_tensor(lua_State *L, int kernel, LaunchArgs *args, const Arg *arg,
                         const Tensor *t) {
  enum { LAST_BIT = 63 };
  if (t->storage->is_lent) {
    int bit = arg->place - 1 < LAST_BIT ? arg->place - 1 : LAST_BIT;
    args->written |= UINT64_C(1) << bit;
  }
  if (ct_storage_may_write(t->storage, NULL) != CT_OK) {
    diag_error(L, "%s is read-only memory of the host, and the kernel writes it; pass a copy",
               launch_push_title(L, kernel, args, arg));
  }
}

/* Does the kernel write the argument's memory? Members of a list are buffers of their own. */
static bool is_written(const CtIr *ir, const Arg *arg) {
  uint32_t table = ir->params[arg->param].buf;
  bool is = arg->kind == ARG_TENSOR && ir->bufs[table].is_written;
  for (size_t i = 0; i < ir->n_bufs && arg->kind == ARG_LIST && !is; i++) {
    is = ir->bufs[i].list == table && ir->bufs[i].is_written;
  }
  return is;
}

/* Lent memory that the kernel writes: it must not be read-only, and the host may ask what was written. */
static void write_lent(lua_State *L, int kernel, LaunchArgs *args, const Spec *spec) {
  for (int i = 0; i < args->n && args->has_lent; i++) {
    const Arg *arg = &args->args[i];
    if ((arg->kind != ARG_TENSOR && arg->kind != ARG_LIST) || !is_written(&spec->ir, arg)) {
      continue;
    }
    int64_t n = arg->kind == ARG_LIST ? launch_list_size(arg->list) : 1;
    for (int64_t j = 0; j < n; j++) {
      const Tensor *t = arg->kind == ARG_LIST ? launch_list_tensor(arg->list, j) : arg->tensor;
      write_tensor(L, kernel, args, arg, t);
    }
  }
}

/* In place of a launch: adds its text if it is new. */
static void collect(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args) {
  LaunchCollection *c = args->of->state->taps.collection;
  size_t before = launch_n_collected(c);
  CtErr err;
  if (launch_is_collected(c, args) || launch_try_spec(L, kernel, config, args, &err) != NULL) {
    diag_check(L, launch_collect_again(c, &err), &err);
  } else if (launch_n_collected(c) == before) {
    diag_raise(L, &err);
  }
}

void launch_kernel(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                   int64_t n) {
  const Kernel *k = args->of;
  if (k->state->taps.collection != NULL && args->device != NULL) {
    collect(L, kernel, config, args);
    return;
  }
  Spec *spec = launch_spec(L, kernel, config, args);
  launch_check_args(L, k, config, args, spec);
  args->written = 0;
  if (config->grid.x == 0 || config->grid.y == 0 || config->grid.z == 0) {
    return; /* nothing to do */
  }
  write_lent(L, kernel, args, spec);
  Launch l;
  launch_set(&l, L, kernel, config, args, spec, n);
  launch_run(&l);
}
