/* bind_profile.c: counting what launches do, for stdlib/microscope/profile.lua: a session that watches the launches on
   the CPU engine and gives what it counted as tables. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/launch/launch.h"
#include "runtime/emit/emit_cuda.h"
#include "runtime/device/nvrtc.h"
#include "runtime/device/nvrtc_cubin.h"
#include "runtime/watch/profile.h"
#include "interp/openers.h"

#define SESSION_TYPE "profile session"

static const char session_key = 0; /* its address names the session that watches, in the registry */

/* User value 1: what is known of each program, by tag: {source, options, symbol, ...}. */
typedef struct Session {
  CuttleState *state;
  CtProfile *profile;  /* NULL: closed */
  int sm;              /* whose CUDA C is kept; 0: none */
  StateOnLaunch outer; /* who was told of launches before */
} Session;

/* --- watching ------------------------------------------------------------------------------------------- */

static void set_text(lua_State *L, const char *name, const char *text) {
  lua_pushstring(L, text);
  lua_setfield(L, -2, name);
}
static void set_count(lua_State *L, const char *name, uint64_t n) {
  lua_pushinteger(L, (lua_Integer)n);
  lua_setfield(L, -2, name);
}
static void set_flag(lua_State *L, const char *name, bool v) {
  lua_pushboolean(L, v);
  lua_setfield(L, -2, name);
}

/* The CUDA C that this launch would run on a device of the session's capability, for its registers. What
   keeps it from being made is kept instead. */
static void keep_source(lua_State *L, const Session *h, int kernel, const LaunchConfig *config,
                        LaunchArgs *args) {
  const Kernel *k = lua_touserdata(L, kernel);
  CtErr err = {0};
  CtText text;
  Spec *spec = spec_trace(L, kernel, config, args, launch_cuda_target(h->sm), false, &err);
  if (spec == NULL) {
    set_text(L, "why", err.msg);
    return;
  }
  char symbol[CT_EMIT_NAME_MAX];
  ct_emit_kernel_name(&spec->ir, symbol);
  ct_text_init(&text, h->state->alloc);
  CtStatus status = spec_emit(spec, true, &text, &err); /* the PTX is to know the script's lines */
  spec_free(h->state, spec);
  if (status != CT_OK) {
    ct_text_clear(&text);
    set_text(L, "why", err.msg);
    return;
  }
  bind_push_text(L, &text);
  lua_setfield(L, -2, "source");
  set_text(L, "symbol", symbol);
  const char *options[LAUNCH_MAX_OPTIONS];
  int n = kernel_options(k, options);
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushstring(L, options[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, "options");
}

/* What the tensors in shared memory are, by number of the buffer: their layouts, whole, and where they
   begin. Aliases under another type have the same place. */
static void push_shared(lua_State *L, const CtSimtProgram *p) {
  lua_newtable(L);
  for (uint32_t i = 1; i < p->n_bufs; i++) {
    const CtSimtBuf *b = &p->bufs[i];
    if (b->space != CT_SHARED) {
      continue;
    }
    lua_createtable(L, 0, 7);
    set_text(L, "name", b->name);
    set_text(L, "dtype", ct_dtypes[b->dtype].name);
    set_count(L, "bytes", ct_dtype_bytes(b->dtype));
    set_count(L, "at", b->at);
    set_count(L, "elements", (uint64_t)b->n);
    set_flag(L, "alias", b->of != b->dtype);
    bind_push_layout(L, b->layout);
    lua_setfield(L, -2, "layout");
    if (b->swizzle.bits != 0) {
      bind_push_swizzle(L, b->swizzle);
      lua_setfield(L, -2, "swizzle");
    }
    lua_rawseti(L, -2, (lua_Integer)i);
  }
}

static void on_launch(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                      const Spec *spec) {
  int top = lua_gettop(L);
  lua_rawgetp(L, LUA_REGISTRYINDEX, &session_key);
  const Session *h = luaL_checkudata(L, -1, SESSION_TYPE);
  ct_profile_tag(h->profile, spec->id);
  if (!ct_profile_knows(h->profile, spec->id)) {
    const Kernel *k = lua_touserdata(L, kernel);
    lua_getiuservalue(L, -1, 1);
    lua_newtable(L);
    set_count(L, "line", (uint64_t)k->line);
    set_text(L, "chunk", k->chunk);
    set_flag(L, "static_shapes", k->static_shapes);
    set_count(L, "smem", config->shared_bytes);
    push_shared(L, spec->simt);
    lua_setfield(L, -2, "shared");
    if (h->sm != 0) {
      keep_source(L, h, kernel, config, args);
    }
    lua_rawseti(L, -2, (lua_Integer)spec->id);
  }
  lua_settop(L, top);
}

static int to_limit(lua_State *L, int idx, const char *name) {
  return lua_isnoneornil(L, idx) ? 0 : bind_to_option(L, idx, 1, INT32_MAX, "profile", name);
}

/* _profile_begin(sm[, blocks, patterns]) -> session: from now on launches on the CPU engine are counted.
   sm 0: their CUDA C is not kept; blocks, patterns: see ct_profile_limit. */
static int profile_begin(lua_State *L) {
  CtErr err;
  CuttleState *s = state_of(L);
  if (front_is_tracing(L)) {
    return diag_error(L, "profile: a kernel cannot count its own launches; call it outside");
  }
  if (s->watch != NULL) {
    return diag_error(L, "profile: launches are being watched already, by check, trace or another "
                         "profile; end that first");
  }
  int sm = (int)bind_to_option(L, 1, 0, 999, "profile", "sm");
  int n_blocks = to_limit(L, 2, "blocks");
  uint32_t n_patterns = (uint32_t)to_limit(L, 3, "patterns");
  Session *h = lua_newuserdatauv(L, sizeof *h, 1);
  *h = (Session){.state = s, .sm = sm, .outer = s->on_launch};
  luaL_setmetatable(L, SESSION_TYPE);
  lua_newtable(L);
  lua_setiuservalue(L, -2, 1);
  diag_check(L, ct_profile_open(s->alloc, &h->profile, &err), &err);
  ct_profile_limit(h->profile, n_blocks, n_patterns);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
  s->watch = ct_profile_watch(h->profile);
  s->on_launch = on_launch;
  return 1;
}

static void stop(lua_State *L, Session *h) {
  if (h->profile != NULL && h->state->watch == ct_profile_watch(h->profile)) {
    h->state->watch = NULL;
    h->state->on_launch = h->outer;
    lua_pushnil(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &session_key);
  }
}

static int session_close(lua_State *L) {
  Session *h = luaL_checkudata(L, 1, SESSION_TYPE);
  stop(L, h);
  ct_profile_close(h->profile);
  h->profile = NULL;
  return 0;
}

/* --- what was counted ------------------------------------------------------------------------------------ */

static const char *const roles[] = {
    [CT_ACCESS_DST] = "dst", [CT_ACCESS_A] = "a", [CT_ACCESS_B] = "b"};
static const char *const works[] = {
    [CT_WORK_NONE] = NULL,         [CT_WORK_FMA] = "fma", [CT_WORK_FLOP] = "flop",
    [CT_WORK_SPECIAL] = "special", [CT_WORK_INT] = "int", [CT_WORK_MMA] = "mma"};
static const char *const spaces[] = {
    [CT_GLOBAL] = "global", [CT_SHARED] = "shared", [CT_REGISTER] = "register"};

/* Offsets by lane from 1 on; false of a lane that is not active. */
static void push_pattern(lua_State *L, const CtProfilePattern *p) {
  lua_createtable(L, CT_LANES, 5);
  set_count(L, "count", p->n);
  set_count(L, "warp", (uint64_t)p->warp);
  set_count(L, "cost", (uint64_t)p->cost);
  set_count(L, "ideal", (uint64_t)p->ideal);
  for (int i = 0; i < CT_LANES; i++) {
    if ((p->mask >> i & 1) != 0) {
      lua_pushinteger(L, p->off[i]);
    } else {
      lua_pushboolean(L, false);
    }
    lua_rawseti(L, -2, i + 1);
  }
}

static void push_patterns(lua_State *L, const CtProfileProgram *p, uint32_t site) {
  int n = 0;
  lua_newtable(L);
  for (uint32_t i = 0; i < p->n_patterns; i++) {
    if (p->patterns[i].site == site) {
      push_pattern(L, &p->patterns[i]);
      lua_rawseti(L, -2, ++n);
    }
  }
}

static void set_extents(lua_State *L, const char *name, const uint16_t *extent, int n) {
  lua_createtable(L, n, 0);
  for (int i = 0; i < n; i++) {
    lua_pushinteger(L, extent[i]);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -2, name);
}

/* Fields of an operand of tma_load or tma_store. */
static void push_box(lua_State *L, const CtProfileSite *s, const CtProfileMem *m) {
  set_extents(L, "box", s->box, s->n_box);
  set_count(L, "swizzle", s->swizzle == 0 ? 0 : UINT64_C(16) << s->swizzle);
  set_flag(L, "reduces", s->reduces);
  set_count(L, "delivered", m->delivered);
  set_count(L, "map", s->map);
  set_count(L, "call", s->n_call);
  set_count(L, "n_fewest", s->n_fewest);
  int n = 0;
  while (n < 5 && s->fewest[n] > 0) {
    n++;
  }
  set_extents(L, "fewest", s->fewest, n);
}

static void push_mem(lua_State *L, const CtProfileProgram *p, uint32_t site) {
  static const char *const blamed[] = {"dst", "a", "b"};
  const CtProfileSite *s = &p->sites[site];
  const CtProfileMem *m = &p->mems[site];
  const CtProfileBuf *b = &p->bufs[s->buf];
  lua_createtable(L, 0, 20);
  set_text(L, "tensor", b->name);
  set_count(L, "buf", s->buf);
  set_text(L, "space", spaces[b->space]);
  set_text(L, "dtype", ct_dtypes[b->dtype].name);
  set_count(L, "element_bytes", ct_dtype_bytes(b->dtype));
  set_text(L, "role", roles[s->role]);
  set_flag(L, "reads", s->reads);
  set_flag(L, "writes", s->writes);
  set_flag(L, "atomic", s->is_atomic);
  set_flag(L, "async", s->is_async);
  set_count(L, "vec", s->width.vec);
  set_text(L, "why", ct_width_whys[s->width.why]);
  set_text(L, "blamed", blamed[s->width.of]);
  if (s->mma != CT_PROFILE_MMA_NONE) {
    set_text(L, "mma", s->mma == CT_PROFILE_MMA_SUM ? "sum" : "operand");
  }
  set_count(L, "requests", m->requests);
  set_count(L, "lanes", m->lanes);
  set_count(L, "bytes", m->bytes);
  set_count(L, "used", m->used);
  set_count(L, "sectors", m->sectors);
  set_count(L, "wavefronts", m->wavefronts);
  set_count(L, "ideal", m->ideal);
  if (s->is_box) {
    push_box(L, s, m);
  }
  push_patterns(L, p, site);
  lua_setfield(L, -2, "patterns");
}

static void push_row(lua_State *L, const CtProfileProgram *p, uint32_t row, uint32_t *site) {
  const CtProfileIn *in = &p->rows[row];
  const CtProfileCount *c = &p->counts[row];
  lua_createtable(L, 0, 14);
  set_text(L, "chunk", p->chunks[in->loc.chunk]);
  set_count(L, "line", (uint64_t)in->loc.line);
  set_text(L, "op", ct_simt_names[in->op]);
  set_text(L, "work", works[in->work]);
  set_count(L, "amount", c->work);
  if (in->wgmma_n > 0) {
    lua_pushfstring(L, "64x%dx%d", (int)in->wgmma_n, (int)in->wgmma_k);
    lua_setfield(L, -2, "wgmma");
  }
  set_flag(L, "f64", in->is_f64);
  set_flag(L, "branch", in->is_branch);
  set_flag(L, "barrier", in->is_barrier);
  set_count(L, "shuffles", in->n_shuffles * c->n);
  set_count(L, "votes", in->n_votes * c->n);
  set_count(L, "n", c->n);
  set_count(L, "lanes", c->lanes);
  set_count(L, "partial", c->partial);
  set_count(L, "splits", c->splits);
  lua_newtable(L);
  for (int n = 0; *site < p->n_sites && p->sites[*site].in == row; ++*site) {
    push_mem(L, p, *site);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "mem");
}

static void push_tensor(lua_State *L, const CtProfileBuf *b) {
  lua_createtable(L, 0, 9);
  set_text(L, "name", b->name);
  set_text(L, "space", spaces[b->space]);
  set_text(L, "dtype", ct_dtypes[b->dtype].name);
  set_count(L, "element_bytes", ct_dtype_bytes(b->dtype));
  set_count(L, "elements", (uint64_t)b->n_elems);
  if (b->is_known) {
    set_count(L, "read_once", b->read_once);
    set_count(L, "written_once", b->written_once);
    set_count(L, "read_by_block", b->read_block);
    set_count(L, "written_by_block", b->written_block);
  }
}

static void push_sizes(lua_State *L, const int64_t v[3]) {
  lua_createtable(L, 3, 0);
  for (int i = 0; i < 3; i++) {
    lua_pushinteger(L, v[i]);
    lua_rawseti(L, -2, i + 1);
  }
}

/* One program's counts, and what on_launch kept of it, which the table at `kept` has by tag. */
static void push_program(lua_State *L, const CtProfileProgram *p, int kept) {
  uint32_t site = 0;
  lua_rawgeti(L, kept, (lua_Integer)p->tag);
  set_text(L, "name", p->name);
  push_sizes(L, p->block);
  lua_setfield(L, -2, "block");
  push_sizes(L, p->grid);
  lua_setfield(L, -2, "grid");
  set_count(L, "launches", p->n_launches);
  set_count(L, "shared_bytes", p->shared_bytes);
  lua_createtable(L, (int)p->n_rows, 0);
  for (uint32_t i = 0; i < p->n_rows; i++) {
    push_row(L, p, i, &site);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  int n = 0;
  lua_newtable(L);
  for (uint32_t i = 1; i < p->n_bufs; i++) {
    if (p->bufs[i].space != CT_REGISTER) {
      push_tensor(L, &p->bufs[i]);
      lua_rawseti(L, -2, ++n);
    }
  }
  lua_setfield(L, -2, "tensors");
}

/* session:finish() -> a list of programs, in the order of their first launches; the session is over. */
static int session_finish(lua_State *L) {
  Session *h = luaL_checkudata(L, 1, SESSION_TYPE);
  if (h->profile == NULL) {
    return diag_error(L, "profile: the session is over");
  }
  stop(L, h);
  if (ct_profile_is_partial(h->profile)) {
    return luaL_error(L, "not enough memory");
  }
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, 1); /* stack: session, kept */
  lua_newtable(L);
  for (uint32_t i = 0; i < ct_profile_size(h->profile); i++) {
    push_program(L, ct_profile_program(h->profile, i), 2);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  return 1;
}

/* session:waves(i, n) -> {[map] = {unique =, together =}}, nil where there were too many boxes: of program i's boxes
   in waves of n blocks; see ct_profile_waves. After finish, until the session is closed. */
static int session_waves(lua_State *L) {
  Session *h = luaL_checkudata(L, 1, SESSION_TYPE);
  lua_Integer i = luaL_checkinteger(L, 2), n = luaL_checkinteger(L, 3);
  if (h->profile == NULL || i < 1 || i > (lua_Integer)ct_profile_size(h->profile) || n < 1) {
    return diag_error(L, "profile: no such program, or the session is closed");
  }
  const CtProfileProgram *p = ct_profile_program(h->profile, (uint32_t)i - 1);
  if (p->lacks_boxes) {
    return 0;
  }
  CtProfileWave *waves = lua_newuserdatauv(L, (p->n_sites + 1) * sizeof *waves, 0);
  ct_profile_waves(h->profile, (uint32_t)i - 1, n, waves);
  lua_newtable(L);
  for (uint32_t site = 0; site < p->n_sites; site++) {
    if (waves[site].unique > 0) {
      lua_createtable(L, 0, 2);
      set_count(L, "unique", waves[site].unique);
      set_count(L, "together", waves[site].together);
      lua_rawseti(L, -2, (lua_Integer)site);
    }
  }
  return 1;
}

/* --- registers ------------------------------------------------------------------------------------------- */

/* Compiles the arguments (source, sm, symbol, options), through the cache. False: nil and why were pushed. */
static bool compile(lua_State *L, bool ptx, CtNvrtcOutput *output) {
  const char *options[LAUNCH_MAX_OPTIONS];
  char arch[16];
  int n = 0;
  CtErr err;
  ct_nvrtc_arch((int)bind_to_option(L, 2, 10, 999, "profile", "sm"), arch);
  luaL_checktype(L, 4, LUA_TTABLE);
  for (; n < LAUNCH_MAX_OPTIONS && lua_rawgeti(L, 4, n + 1) == LUA_TSTRING; n++) {
    options[n] = lua_tostring(L, -1); /* the table holds it */
  }
  CtNvrtcJob job = {.alloc = state_of(L)->alloc,
                    .source = luaL_checkstring(L, 1),
                    .name = luaL_checkstring(L, 3),
                    .arch = arch,
                    .options = options,
                    .n_options = n,
                    .ptx = ptx};
  if (state_compile(state_of(L), &job, true, output, &err) == CT_OK) {
    return true;
  }
  luaL_pushfail(L);
  lua_pushstring(L, err.msg);
  return false;
}

static int push_image(lua_State *L, bool ptx) {
  CtNvrtcOutput output;
  if (!compile(L, ptx, &output)) {
    return 2;
  }
  ct_text_clear(&output.log);
  bind_push_text(L, &output.image);
  return 1;
}

/* _profile_ptx(source, sm, symbol, options) -> the PTX, or nil and why. */
static int profile_ptx(lua_State *L) { return push_image(L, true); }

/* _profile_cubin(source, sm, symbol, options) -> the bytes of the cubin, or nil and why. */
static int profile_cubin(lua_State *L) { return push_image(L, false); }

/* _profile_registers(source, sm, symbol, options) -> registers, bytes of stack; or nil and why. */
static int profile_registers(lua_State *L) {
  CtNvrtcOutput output;
  CtCubinInfo info;
  if (!compile(L, false, &output)) {
    return 2;
  }
  bool known = ct_cubin_info(output.image.s, output.image.len, lua_tostring(L, 3), &info);
  ct_nvrtc_output_clear(&output);
  if (!known) {
    luaL_pushfail(L);
    lua_pushliteral(L, "the cubin does not say");
    return 2;
  }
  lua_pushinteger(L, info.registers);
  lua_pushinteger(L, info.stack_bytes);
  return 2;
}

/* --- opening --------------------------------------------------------------------------------------------- */

static const luaL_Reg session_meta[] = {
    {"__gc", session_close}, {"__close", session_close}, {NULL, NULL}};
static const luaL_Reg session_methods[] = {
    {"finish", session_finish}, {"waves", session_waves}, {"close", session_close}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_profile_begin", profile_begin},
                                     {"_profile_registers", profile_registers},
                                     {"_profile_ptx", profile_ptx},
                                     {"_profile_cubin", profile_cubin},
                                     {NULL, NULL}};

void bind_open_profile(lua_State *L) {
  bind_new_type(L, SESSION_TYPE, session_meta, session_methods);
  luaL_setfuncs(L, functions, 0);
}
