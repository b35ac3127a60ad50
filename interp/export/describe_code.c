/* describe_code.c: the code of a launch for one compute capability; see describe.h. */
#include <lauxlib.h>
#include <string.h>

#include "describe.h"
#include "interp/algebra/bind.h"
#include "interp/state/diag.h"
#include "interp/state/fields.h"
#include "runtime/device/nvrtc.h"
#include "runtime/emit/emit_cuda.h"
#include "runtime/ir/ir_tma.h"

/* --- compiling ---------------------------------------------------------------------------------------- */

/* Pushes the cubin or PTX. */
static CtStatus push_image(lua_State *L, const Kernel *k, const char *source, const char *arch,
                           bool ptx, CtErr *err) {
  const char *options[LAUNCH_MAX_OPTIONS];
  CtNvrtcOutput output;
  CtNvrtcJob job = kernel_job(k, source, arch, options);
  job.no_lines = true;
  job.ptx = ptx;
  CtStatus status = state_compile(k->state, &job, true, &output, err);
  if (status == CT_OK) {
    lua_pushlstring(L, output.image.s, output.image.len);
    ct_nvrtc_output_clear(&output);
  }
  return status;
}

/* Instructions that devices of one architecture have. */
static bool is_specific(const char *source) {
  static const char *const words[] = {"wgmma", "setmaxnreg", "tcgen05"};
  bool found = false;
  for (size_t i = 0; i < CT_ARRAY_LEN(words); i++) {
    found = found || strstr(source, words[i]) != NULL;
  }
  return found;
}

/* PTX is for later devices, so it is made for the capability without a suffix. A kernel that needs the features of
   one architecture has none: NVRTC writes such PTX, but its assembler refuses it. */
static void set_ptx(lua_State *L, const Kernel *k, const char *source, const ExportTarget *target) {
  CtErr refused;
  char plain[16];
  if (is_specific(source)) {
    return;
  }
  snprintf(plain, sizeof plain, "sm_%d", target->sm);
  if (strcmp(plain, target->arch) != 0) {
    if (push_image(L, k, source, plain, false, &refused) != CT_OK) {
      return;
    }
    lua_pop(L, 1);
  }
  if (push_image(L, k, source, plain, true, &refused) == CT_OK) {
    lua_setfield(L, -2, "ptx");
  }
}

static CtStatus set_images(lua_State *L, const Kernel *k, const char *source,
                           const ExportTarget *target, CtErr *err) {
  field_text(L, "text", source);
  field_text(L, "ptx", "");
  CtStatus status = push_image(L, k, source, target->arch, false, err);
  if (status == CT_OK) {
    lua_setfield(L, -2, "image");
  }
  if (status == CT_OK && target->wants_ptx) {
    set_ptx(L, k, source, target);
  }
  return status;
}

/* --- parameters --------------------------------------------------------------------------------------- */

static const Field pack_fields[] = {FIELD(Pack, slot), FIELD(Pack, offset), FIELD(Pack, bytes)};

static void set_packs(lua_State *L, const Spec *spec) {
  lua_createtable(L, spec->n_packs, 0);
  for (int i = 0; i < spec->n_packs; i++) {
    FIELDS_PUSH(L, pack_fields, &spec->packs[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "packs");
  bool has_barrier = ct_ir_has_grid_barrier(&spec->ir);
  field_integer(L, "bytes", (int64_t)spec->params_bytes);
  field_integer(L, "maps_at", (int64_t)spec->maps_at);
  field_integer(L, "grid_at", has_barrier ? (int64_t)spec->grid_at : -1);
  field_integer(L, "fault_at", (int64_t)spec->fault_at);
}

/* Sets the field to an expression. */
static CtStatus set_expression(lua_State *L, const CtIr *ir, const char *name, CtVal v,
                               CtErr *err) {
  CtText text;
  ct_text_init(&text, ir->arena.alloc);
  CtStatus status = export_expression(ir, v, &text, err);
  if (status == CT_OK) {
    field_text(L, name, ct_text_str(&text));
  }
  ct_text_clear(&text);
  return status;
}

/* --- tensor maps -------------------------------------------------------------------------------------- */

static const Field dim_fields[] = {FIELD(CtTmaDim, div), FIELD(CtTmaDim, mul),
                                   FIELD(CtTmaDim, box)};
static const Field map_fields[] = {FIELD(CtTmaMap, name), FIELD(CtTmaMap, swizzle),
                                   FIELD(CtTmaMap, promotion)};

static CtStatus push_dims(lua_State *L, const CtIr *ir, const CtTmaMap *map, CtErr *err) {
  CtStatus status = CT_OK;
  lua_createtable(L, map->n, 0);
  for (int i = 0; i < map->n && status == CT_OK; i++) {
    FIELDS_PUSH(L, dim_fields, &map->dim[i]);
    status = set_expression(L, ir, "extent", map->dim[i].extent, err);
    status = status == CT_OK ? set_expression(L, ir, "stride", map->dim[i].stride, err) : status;
    lua_rawseti(L, -2, i + 1);
  }
  return status;
}

static CtStatus set_maps(lua_State *L, const CtIr *ir, CtErr *err) {
  CtStatus status = CT_OK;
  lua_createtable(L, (int)ir->n_maps, 0);
  for (size_t i = 0; i < ir->n_maps && status == CT_OK; i++) {
    const CtTmaMap *map = &ir->maps[i];
    FIELDS_PUSH(L, map_fields, map);
    field_text(L, "dtype", ct_dtypes[map->dtype].name);
    field_integer(L, "slot", ir->params[ir->bufs[map->buf].param].first_slot);
    status = set_expression(L, ir, "offset", map->offset, err);
    status = status == CT_OK ? push_dims(L, ir, map, err) : status;
    if (status == CT_OK) {
      lua_setfield(L, -2, "dims");
      lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
  }
  if (status == CT_OK) {
    lua_setfield(L, -2, "maps");
  }
  return status;
}

/* --- what launches check ------------------------------------------------------------------------------ */

static const Field require_fields[] = {FIELD(CtRequire, modulus),
                                       FIELD(CtRequire, most),
                                       FIELD(CtRequire, op),
                                       FIELD(CtRequire, mode),
                                       FIELD(CtRequire, name),
                                       FIELD(CtRequire, divisor),
                                       FIELD_AS("line", CtRequire, loc.line)};

static CtStatus set_requires(lua_State *L, const CtIr *ir, CtErr *err) {
  CtStatus status = CT_OK;
  lua_createtable(L, (int)ir->n_requires, 0);
  for (size_t i = 0; i < ir->n_requires && status == CT_OK; i++) {
    FIELDS_PUSH(L, require_fields, &ir->requires_[i]);
    status = set_expression(L, ir, "expression", ir->requires_[i].value, err);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  if (status == CT_OK) {
    lua_setfield(L, -2, "requires");
  }
  return status;
}

static void set_asserts(lua_State *L, const CtIr *ir) {
  lua_newtable(L);
  for (CtVal v = 1; v < ir->n_insts && ct_emit_has_asserts(ir); v++) {
    const CtInst *inst = ct_inst(ir, v);
    if (inst->op == CT_OP_ASSERT) {
      lua_createtable(L, 0, 2);
      field_text(L, "text", inst->u.escape->text);
      field_integer(L, "line", inst->loc.line);
      lua_rawseti(L, -2, inst->imm.i + 1);
    }
  }
  lua_setfield(L, -2, "asserts");
}

/* --- all of it ---------------------------------------------------------------------------------------- */

static CtStatus set_all(lua_State *L, const Kernel *k, Spec *spec, const LaunchConfig *config,
                        const ExportTarget *target, CtText *source, CtErr *err) {
  char symbol[CT_EMIT_NAME_MAX];
  const CtEmitOpts opts = {.line_directives = false};
  CtStatus status = spec_check_shared(k, spec, err);
  status = status == CT_OK ? ct_emit_cuda(&spec->ir, &opts, source, err) : status;
  status = status == CT_OK ? ct_text_status(source, err) : status;
  status = status == CT_OK ? spec_plan(spec, false, err) : status;
  status = status == CT_OK ? set_images(L, k, ct_text_str(source), target, err) : status;
  if (status != CT_OK) {
    return status;
  }
  ct_emit_kernel_name(&spec->ir, symbol);
  field_text(L, "symbol", symbol);
  field_integer(L, "smem", ct_emit_dynamic_shared(&spec->ir) + (int64_t)config->shared_bytes);
  field_bool(L, "waits", spec->ir.waits_for_grids);
  set_packs(L, spec);
  set_asserts(L, &spec->ir);
  status = set_maps(L, &spec->ir, err);
  return status == CT_OK ? set_requires(L, &spec->ir, err) : status;
}

void export_push_code(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      const ExportTarget *target) {
  Kernel *k = lua_touserdata(L, kernel);
  CtErr err;
  CtText source;
  luaL_checkstack(L, 16, NULL);
  lua_newtable(L);
  int table = lua_gettop(L);
  Spec *spec = spec_trace(L, kernel, config, args, launch_cuda_target(target->sm), false, &err);
  CtStatus status = spec == NULL ? CT_EINVAL : CT_OK;
  ct_text_init(&source, k->state->alloc);
  if (spec != NULL) {
    status = set_all(L, k, spec, config, target, &source, &err);
  }
  ct_text_clear(&source);
  spec_free(k->state, spec);
  lua_settop(L, table);
  if (status != CT_OK) {
    lua_pushfstring(L, "line %d: %s", err.line, err.msg);
    lua_setfield(L, table, "why");
  }
}
