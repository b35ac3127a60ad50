/* launch_replay.c: kernels whose IR comes from a file. They are launched as others are, with tensors that are
   made anew; what else differs is that spec_trace reads where it would trace. */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/state/fields.h"
#include "interp/state/source_load.h"
#include "interp/trace/front.h"
#include "launch_capture.h"
#include "runtime/ir/ir_file.h"
#include "runtime/ir/ir_make.h"

enum { IR = 5 }; /* user value of a kernel of a file: the IR's bytes */

/* {====== Specialisations ====== */

/* Do the arguments fit what the IR takes? */
static CtStatus check_fit(const CtIr *ir, int min_blocks, const LaunchConfig *config,
                          const LaunchArgs *args, CtErr *err) {
  const int64_t block[3] = {config->block.x, config->block.y, config->block.z};
  const int64_t cluster[3] = {config->cluster.x, config->cluster.y, config->cluster.z};
  bool fits = (int)ir->n_params == args->n_ir_params && (int)ir->n_slots == args->n_slots &&
              memcmp(ir->block, block, sizeof block) == 0 &&
              memcmp(ir->cluster, cluster, sizeof cluster) == 0 &&
              ir->smem == config->shared_bytes && ir->min_blocks == min_blocks;
  size_t p = 0;
  for (int i = 0; fits && i < args->n; i++) {
    const Arg *a = &args->args[i];
    const CtParam *param = &ir->params[p++];
    CtDtype type = a->kind == ARG_LIST ? CT_i64 : a->dtype;
    fits = param->is_tensor == (a->kind != ARG_NUMBER) && param->dtype == type &&
           (int)param->first_slot == a->first_slot;
  }
  return fits ? CT_OK
              : ct_fail(err, CT_EINVAL,
                        "replay: %s is launched with arguments or a block that its "
                        "file does not have",
                        ir->name);
}

/* What a file says reaches NVRTC as numbers and as names of this library's making; a text of CUDA C or PTX would
   reach it as it is, and could name the user's files. */
static CtStatus check_trust(const Kernel *k, const CtIr *ir, CtErr *err) {
  for (CtVal v = 1; ir->target.is_cuda && !k->is_trusted && v < ir->n_insts; v++) {
    if (ct_inst(ir, v)->op == CT_OP_ESCAPE) {
      return ct_fail(err, CT_EUNSUPPORTED,
                     "replay: the file of %s contains CUDA C or PTX, which "
                     "the compiler would get unchanged; if you trust who made the file, replay it "
                     "with --trust, or replay(file, {trust = true})",
                     ir->name);
    }
  }
  return CT_OK;
}

/* Messages show no lines of a script that the file names and does not hold: the name may be that of any file. */
static void show_chunks(lua_State *L, const CtIr *ir) {
  for (size_t i = 1; i < ir->n_chunks; i++) {
    if (src_push_shown(L, ir->chunks[i])) {
      lua_pop(L, 1);
    } else {
      src_show(L, ir->chunks[i], "", 0);
    }
  }
}

Spec *launch_file_spec(lua_State *L, int kernel, const LaunchConfig *config, const LaunchArgs *args,
                       CtTarget target, CtErr *err) {
  const Kernel *k = lua_touserdata(L, kernel);
  Spec *spec = spec_new(k->state, config, args, target);
  size_t n;
  lua_getiuservalue(L, kernel, IR);
  const char *bytes = lua_tolstring(L, -1, &n);
  lua_pop(L, 1);
  if (spec == NULL) {
    (void)ct_fail_nomem(err);
    return NULL;
  }
  CtIr made;
  CtStatus status = k->is_trusted ? ct_ir_read(k->state->alloc, bytes, n, &made, err)
                                  : ct_ir_read_shown(k->state->alloc, bytes, n, &made, err);
  if (status == CT_OK) {
    ct_ir_clear(&spec->ir);
    spec->ir = made;
    spec->ir.dyn.ud = &spec->ir;
    spec->ir.target = target;
    status = check_fit(&spec->ir, k->min_blocks, config, args, err);
    status = status == CT_OK ? check_trust(k, &spec->ir, err) : status;
  }
  if (status == CT_OK) {
    show_chunks(L, &spec->ir);
  }
  if (status != CT_OK) {
    spec_free(k->state, spec);
    return NULL;
  }
  return spec;
}

/* {====== Kernels ====== */

/* The text of a field of the table at 1; it stays on the stack. */
static const char *push_text(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  return luaL_checkstring(L, -1);
}

static bool has_flag(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  bool has = lua_toboolean(L, -1) != 0;
  lua_pop(L, 1);
  return has;
}

static int count_of(lua_State *L, const char *name) {
  lua_getfield(L, 1, name);
  int n = (int)luaL_len(L, -1);
  lua_pop(L, 1);
  return n;
}

static void read_options(lua_State *L, Kernel *k) {
  size_t at = 0;
  int n = count_of(L, "options");
  lua_getfield(L, 1, "options");
  for (int i = 1; i <= n && i <= LAUNCH_MAX_OPTIONS; i++) {
    size_t len;
    lua_rawgeti(L, -1, i);
    const char *option = luaL_checklstring(L, -1, &len);
    if (len > 0 && at + len + 2 <= sizeof k->options) {
      memcpy(k->options + at, option, len + 1);
      at += len + 1;
    }
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

void launch_file_push_kernel(lua_State *L, bool trusts) {
  Kernel *k = lua_newuserdatauv(L, sizeof *k, IR);
  memset(k, 0, sizeof *k);
  luaL_setmetatable(L, KERNEL_TYPE);
  k->state = state_of(L);
  k->front = front_find(L);
  k->is_replayed = true;
  k->is_trusted = trusts;
  k->n_params = count_of(L, "args");
  k->line = (int)field_to_integer(L, 1, "line", 0);
  k->static_shapes = has_flag(L, "static_shapes");
  k->contract = has_flag(L, "contract");
  k->min_blocks = (int)field_to_integer(L, 1, "min_blocks", 0);
  snprintf(k->chunk, sizeof k->chunk, "%s", push_text(L, "chunk"));
  lua_pop(L, 1);
  if (trusts) {
    read_options(L, k);
  }
  k->name = push_text(L, "kernel");
  lua_setiuservalue(L, -2, 3);
  lua_pushvalue(L, 3);
  lua_setiuservalue(L, -2, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, -2, IR);
}

/* {====== What an exported program wrote: slots and an IR ====== */

static int64_t slot_value(lua_State *L, uint64_t slot) {
  lua_rawgeti(L, 2, (lua_Integer)slot + 1);
  int64_t v = (int64_t)lua_tointeger(L, -1);
  lua_pop(L, 1);
  return v;
}

/* The tuple with the launch's values for what is a slot. */
static CtTuple settle(lua_State *L, const CtIr *ir, CtArena *arena, CtTuple t) {
  CtNode *nodes = ct_arena_alloc(arena, t->len * sizeof *nodes);
  for (uint32_t i = 0; nodes != NULL && i < t->len; i++) {
    nodes[i] = t[i];
    if (t[i].rank == CT_LEAF && t[i].i.kind == CT_DYNAMIC) {
      const CtInst *inst = ct_inst(ir, t[i].i.id);
      nodes[i].i =
          inst->op == CT_OP_PARAM ? ct_int(slot_value(L, (uint64_t)inst->imm.i)) : ct_any();
    }
  }
  if (nodes == NULL) {
    luaL_error(L, "not enough memory");
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

/* Into the table at the top. */
static void set_tensor(lua_State *L, const CtIr *ir, const CtBuf *b) {
  CtCx cx = bind_enter(L);
  CtLayout l = b->layout;
  bool is_fixed = ct_all_static(l.shape) && ct_all_static(l.stride);
  CtLayout settled = {settle(L, ir, cx.arena, l.shape), settle(L, ir, cx.arena, l.stride)};
  if (b->members != NULL) {
    diag_error(L, "replay: the file of an exported kernel is of a kernel with a list of tensors; "
                  "capture it in a script");
  }
  field_text(L, "layout", bind_layout_text(&cx, settled));
  field_bool(L, "is_fixed", is_fixed);
  field_integer(L, "fixed", (int64_t)fixed_extents(l.shape));
}

static const Field ir_fields[] = {FIELD_AS("kernel", CtIr, name), FIELD(CtIr, block),
                                  FIELD(CtIr, cluster), FIELD(CtIr, contract),
                                  FIELD(CtIr, min_blocks)};

/* Stack: the IR's bytes, values, the IR. */
static int push_facts(lua_State *L) {
  const CtIr *ir = lua_touserdata(L, 3);
  if ((lua_Integer)ir->n_slots != luaL_len(L, 2)) {
    return diag_error(L, "replay: the file of an exported kernel has other values than its kernel "
                         "expects");
  }
  FIELDS_PUSH(L, ir_fields, ir);
  field_text(L, "chunk", ct_ir_chunk(ir, ir->loc));
  field_integer(L, "line", ir->loc.line);
  lua_createtable(L, (int)ir->n_params, 0);
  for (size_t i = 0; i < ir->n_params; i++) {
    const CtParam *p = &ir->params[i];
    lua_createtable(L, 0, 6);
    field_text(L, "name", p->name);
    field_text(L, "dtype", ct_dtypes[p->is_tensor ? ir->bufs[p->buf].dtype : p->dtype].name);
    field_integer(L, "slot", (int64_t)p->first_slot + 1);
    if (p->is_tensor) {
      set_tensor(L, ir, &ir->bufs[p->buf]);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "args");
  return 1;
}

void launch_file_push_facts(lua_State *L) {
  CtIr ir;
  CtErr err;
  size_t n;
  const char *bytes = luaL_checklstring(L, 1, &n);
  luaL_checktype(L, 2, LUA_TTABLE);
  diag_check(L, ct_ir_read_shown(state_of(L)->alloc, bytes, n, &ir, &err), &err);
  ir.dyn.ud = &ir;
  lua_pushcfunction(L, push_facts);
  lua_pushvalue(L, 1);
  lua_pushvalue(L, 2);
  lua_pushlightuserdata(L, &ir);
  int status = lua_pcall(L, 3, 1, 0);
  ct_ir_read_clear(&ir);
  if (status != LUA_OK) {
    lua_error(L);
  }
}
