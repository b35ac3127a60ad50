/* bind_profile.c: counting what launches do, for stdlib/microscope/profile.lua: a session that watches the launches on
   the CPU engine and gives what it counted as tables. */
#include <lauxlib.h>
#include <string.h>

#include "interp/algebra/bind.h"
#include "interp/trace/front.h"
#include "interp/launch/launch.h"
#include "interp/launch/launch_collect.h"
#include "interp/launch/watcher.h"
#include "interp/state/fields.h"
#include "runtime/device/nvrtc.h"
#include "runtime/watch/profile.h"
#include "runtime/watch/profile_merge.h"
#include "watch_source.h"
#include "interp/openers.h"

/* User value 1: what is known of each program, by tag: {source, options, symbol, ...}; 2: the capability that
   CUDA C is kept for, times 10; 0: none is. */
enum { KNOWN = 1, SM };

static void close_profile(void *profile) { ct_profile_close(profile); }

static const WatcherKind kind = {
    "profile session",
    "profile: launches are already being watched, by check, trace or another profile; end that "
    "first",
    close_profile};

/* --- watching ------------------------------------------------------------------------------------------- */

static const Field shared_fields[] = {FIELD(CtSimtBuf, name), FIELD(CtSimtBuf, at),
                                      FIELD_AS("elements", CtSimtBuf, n)};

/* What the tensors in shared memory are, by number of the buffer: their layouts, whole, and where they
   begin. Aliases under another type have the same place. */
static void push_shared(lua_State *L, const CtSimtProgram *p) {
  lua_newtable(L);
  for (uint32_t i = 1; i < p->n_bufs; i++) {
    const CtSimtBuf *b = &p->bufs[i];
    if (b->space != CT_SHARED) {
      continue;
    }
    FIELDS_PUSH(L, shared_fields, b);
    field_text(L, "dtype", ct_dtypes[b->dtype].name);
    field_integer(L, "bytes", (int64_t)ct_value_bytes(b->dtype));
    field_bool(L, "alias", b->of != b->dtype);
    bind_push_layout(L, b->layout);
    lua_setfield(L, -2, "layout");
    if (b->swizzle.bits != 0) {
      bind_push_swizzle(L, b->swizzle);
      lua_setfield(L, -2, "swizzle");
    }
    lua_rawseti(L, -2, (lua_Integer)i);
  }
}

static const Field kernel_fields[] = {FIELD(Kernel, line), FIELD(Kernel, chunk),
                                      FIELD(Kernel, static_shapes)};

static void on_launch(Launch *l) {
  lua_State *L = l->L;
  const Spec *spec = l->spec;
  int top = lua_gettop(L);
  const Watcher *w = watcher_push_told(L, &kind);
  ct_profile_tag(w->tool, spec->id);
  if (!ct_profile_knows(w->tool, spec->id)) {
    lua_getiuservalue(L, -1, SM);
    int sm = (int)lua_tointeger(L, -1);
    lua_getiuservalue(L, -2, KNOWN);
    FIELDS_PUSH(L, kernel_fields, l->args->of);
    field_integer(L, "smem", l->config->shared_bytes);
    push_shared(L, spec->simt);
    lua_setfield(L, -2, "shared");
    if (sm != 0) {
      watch_keep_source(L, sm, l->kernel, l->config, l->args);
    }
    lua_rawseti(L, -2, (lua_Integer)spec->id);
  }
  lua_settop(L, top);
}

static const WatcherCalls calls = {.before = on_launch};

static int to_limit(lua_State *L, int idx, const char *name) {
  return lua_isnoneornil(L, idx) ? 0 : bind_to_option(L, idx, 1, INT32_MAX, "profile", name);
}

/* _watch.profile_begin(sm[, blocks, patterns, spread]) -> session: from now on launches on the CPU engine are counted.
   sm 0: their CUDA C is not kept, and what merging makes of requests is not counted; blocks, patterns: see ct_profile_limit; spread: see ct_profile_spread. */
static int profile_begin(lua_State *L) {
  CtProfile *profile;
  if (front_is_tracing(L)) {
    return diag_error(L, "profile: a kernel cannot count its own launches; call it outside");
  }
  lua_settop(L, 4);
  Watcher *w = watcher_push(L, &kind, SM);
  lua_pushinteger(L, bind_to_option(L, 1, 0, 999, "profile", "sm"));
  lua_setiuservalue(L, -2, SM);
  int n_blocks = to_limit(L, 2, "blocks");
  uint32_t n_patterns = (uint32_t)to_limit(L, 3, "patterns");
  lua_newtable(L);
  lua_setiuservalue(L, -2, KNOWN);
  diag_try(L, ct_profile_open(w->state->alloc, &profile, diag_err(L)));
  w->tool = profile;
  ct_profile_limit(profile, n_blocks, n_patterns);
  if (lua_tointeger(L, 1) != 0) {
    ct_profile_merge(profile);
  }
  if (lua_toboolean(L, 4)) {
    ct_profile_spread(profile);
  }
  watcher_tell(L, w, &calls);
  watcher_start(w, ct_profile_watch(profile));
  return 1;
}

/* --- what was counted ------------------------------------------------------------------------------------ */

static const char *const roles[] = {
    [CT_ACCESS_DST] = "dst", [CT_ACCESS_A] = "a", [CT_ACCESS_B] = "b"};
static const char *const works[] = {
    [CT_WORK_NONE] = NULL,         [CT_WORK_FMA] = "fma", [CT_WORK_FLOP] = "flop",
    [CT_WORK_SPECIAL] = "special", [CT_WORK_INT] = "int", [CT_WORK_MMA] = "mma"};
static const char *const spaces[] = {[CT_GLOBAL] = "global",
                                     [CT_SHARED] = "shared",
                                     [CT_REGISTER] = "register",
                                     [CT_TENSOR] = "tensor",
                                     [CT_CONSTANT] = "constant"};

static const Field pattern_fields[] = {FIELD_AS("count", CtProfilePattern, n),
                                       FIELD(CtProfilePattern, warp), FIELD(CtProfilePattern, cost),
                                       FIELD(CtProfilePattern, ideal)};

/* Offsets by lane from 1 on; false of a lane that is not active. */
static void push_pattern(lua_State *L, const CtProfilePattern *p) {
  lua_createtable(L, CT_LANES, CT_ARRAY_LEN(pattern_fields));
  FIELDS_SET(L, pattern_fields, p);
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

static const Field box_fields[] = {FIELD(CtProfileSite, reduces), FIELD(CtProfileSite, map),
                                   FIELD_AS("call", CtProfileSite, n_call),
                                   FIELD(CtProfileSite, n_fewest)};

/* Fields of an operand of tma_load or tma_store. */
static void push_box(lua_State *L, const CtProfileSite *s, const CtProfileMem *m) {
  FIELDS_SET(L, box_fields, s);
  set_extents(L, "box", s->box, s->n_box);
  field_integer(L, "swizzle", s->swizzle == 0 ? 0 : INT64_C(16) << s->swizzle);
  field_integer(L, "delivered", (int64_t)m->delivered);
  int n = 0;
  while (n < 5 && s->fewest[n] > 0) {
    n++;
  }
  set_extents(L, "fewest", s->fewest, n);
}

static const char *const mmas[] = {[CT_PROFILE_MMA_NONE] = NULL,
                                   [CT_PROFILE_MMA_OPERAND] = "operand",
                                   [CT_PROFILE_MMA_SUM] = "sum"};
static const Field site_fields[] = {FIELD(CtProfileSite, buf),
                                    FIELD_NAMED("role", CtProfileSite, role, roles),
                                    FIELD(CtProfileSite, reads),
                                    FIELD(CtProfileSite, writes),
                                    FIELD_AS("atomic", CtProfileSite, is_atomic),
                                    FIELD_AS("async", CtProfileSite, is_async),
                                    FIELD_AS("matrix", CtProfileSite, is_matrix),
                                    FIELD_NAMED("mma", CtProfileSite, mma, mmas)};
static const Field mem_fields[] = {
    FIELD(CtProfileMem, requests),    FIELD(CtProfileMem, lanes),   FIELD(CtProfileMem, bytes),
    FIELD(CtProfileMem, used),        FIELD(CtProfileMem, sectors), FIELD(CtProfileMem, wavefronts),
    FIELD(CtProfileMem, cache_lines), FIELD(CtProfileMem, ideal),   FIELD(CtProfileMem, slots)};

/* The element type of a tensor in memory. */
static void set_type(lua_State *L, const CtProfileBuf *b) {
  field_text(L, "space", spaces[b->space]);
  field_text(L, "dtype", ct_dtypes[b->dtype].name);
  field_integer(L, "element_bytes", (int64_t)ct_value_bytes(b->dtype));
}

static const Field merged_fields[] = {
    FIELD(CtProfileMem, requests), FIELD(CtProfileMem, lanes),      FIELD(CtProfileMem, bytes),
    FIELD(CtProfileMem, used),     FIELD(CtProfileMem, sectors),    FIELD(CtProfileMem, wavefronts),
    FIELD(CtProfileMem, ideal),    FIELD(CtProfileMem, cache_lines)};

/* By bytes that neighbours are merged up to, the counts; `sizes` of each by bytes of a request. */
static void push_merged(lua_State *L, const CtProfileMerged *m) {
  lua_createtable(L, 0, CT_MERGE_LEVELS);
  for (int level = 0; level < CT_MERGE_LEVELS; level++) {
    FIELDS_PUSH(L, merged_fields, &m->at[level]);
    lua_createtable(L, 0, CT_MERGE_LEVELS);
    for (int size = 0; size < CT_MERGE_LEVELS; size++) {
      if (m->sizes[level][size] > 0) {
        lua_pushinteger(L, (lua_Integer)m->sizes[level][size]);
        lua_rawseti(L, -2, 1 << size);
      }
    }
    lua_setfield(L, -2, "sizes");
    lua_rawseti(L, -2, 1 << level);
  }
}

static void push_mem(lua_State *L, const CtProfileProgram *p, uint32_t site) {
  static const char *const blamed[] = {"dst", "a", "b"};
  const CtProfileSite *s = &p->sites[site];
  const CtProfileMem *m = &p->mems[site];
  const CtProfileBuf *b = &p->bufs[s->buf];
  lua_createtable(L, 0, 20);
  FIELDS_SET(L, site_fields, s);
  FIELDS_SET(L, mem_fields, m);
  field_text(L, "tensor", b->name);
  set_type(L, b);
  field_integer(L, "vec", s->width.vec);
  field_text(L, "why", ct_width_whys[s->width.why]);
  field_text(L, "blamed", blamed[s->width.of]);
  if (s->is_box) {
    push_box(L, s, m);
  }
  if (s->can_merge && p->has_merged) {
    CtProfileMerged merged = p->merged[site];
    ct_merge_settle(&merged, m->requests);
    push_merged(L, &merged);
    lua_setfield(L, -2, "merged");
  }
  push_patterns(L, p, site);
  lua_setfield(L, -2, "patterns");
}

static const Field in_fields[] = {
    FIELD_NAMED("work", CtProfileIn, work, works), FIELD_AS("f64", CtProfileIn, is_f64),
    FIELD_AS("branch", CtProfileIn, is_branch), FIELD_AS("barrier", CtProfileIn, is_barrier),
    FIELD_AS("behind", CtProfileIn, is_behind)};
static const Field count_fields[] = {FIELD_AS("amount", CtProfileCount, work),
                                     FIELD(CtProfileCount, n),
                                     FIELD(CtProfileCount, came),
                                     FIELD(CtProfileCount, lanes),
                                     FIELD(CtProfileCount, partial),
                                     FIELD(CtProfileCount, splits)};

static void push_row(lua_State *L, const CtProfileProgram *p, uint32_t row, uint32_t *site) {
  const CtProfileIn *in = &p->rows[row];
  const CtProfileCount *c = &p->counts[row];
  lua_createtable(L, 0, 14);
  FIELDS_SET(L, in_fields, in);
  FIELDS_SET(L, count_fields, c);
  field_text(L, "chunk", p->chunks[in->loc.chunk]);
  field_integer(L, "line", in->loc.line);
  field_text(L, "op", ct_simt_rows[in->op].name);
  if (in->wgmma_n > 0) {
    lua_pushfstring(L, "64x%dx%d", (int)in->wgmma_n, (int)in->wgmma_k);
    lua_setfield(L, -2, "wgmma");
  }
  if (in->macs > 0) {
    field_integer(L, "macs", in->macs);
    field_integer(L, "mac_bits", in->mac_bits);
  }
  field_integer(L, "shuffles", (int64_t)(in->n_shuffles * c->n));
  field_integer(L, "votes", (int64_t)(in->n_votes * c->n));
  lua_newtable(L);
  for (int n = 0; *site < p->n_sites && p->sites[*site].in == row; ++*site) {
    push_mem(L, p, *site);
    lua_rawseti(L, -2, ++n);
  }
  lua_setfield(L, -2, "mem");
}

static const Field buf_fields[] = {FIELD(CtProfileBuf, name),
                                   FIELD_AS("elements", CtProfileBuf, n_elems)};
static const Field known_fields[] = {FIELD(CtProfileBuf, read_once),
                                     FIELD(CtProfileBuf, written_once),
                                     FIELD_AS("read_by_block", CtProfileBuf, read_block),
                                     FIELD_AS("written_by_block", CtProfileBuf, written_block)};

static void push_tensor(lua_State *L, const CtProfileBuf *b) {
  lua_createtable(L, 0, 9);
  FIELDS_SET(L, buf_fields, b);
  set_type(L, b);
  if (b->is_known) {
    FIELDS_SET(L, known_fields, b);
  }
}

/* A list of the tensors that lie in memory, and one of local arrays. */
static void push_bufs(lua_State *L, const CtProfileProgram *p, bool locals) {
  int n = 0;
  lua_newtable(L);
  for (uint32_t i = 1; i < p->n_bufs; i++) {
    const CtProfileBuf *b = &p->bufs[i];
    if (locals ? b->is_local : b->space != CT_REGISTER) {
      push_tensor(L, b);
      field_integer(L, "line", b->line);
      lua_rawseti(L, -2, ++n);
    }
  }
}

static const Field program_fields[] = {FIELD(CtProfileProgram, name),
                                       FIELD(CtProfileProgram, block),
                                       FIELD(CtProfileProgram, grid),
                                       FIELD_AS("launches", CtProfileProgram, n_launches),
                                       FIELD_AS("failed", CtProfileProgram, n_failed),
                                       FIELD_AS("warps", CtProfileProgram, n_warps),
                                       FIELD_AS("ran", CtProfileProgram, n_ran),
                                       FIELD_AS("counted", CtProfileProgram, n_counted),
                                       FIELD_AS("most", CtProfileProgram, n_most),
                                       FIELD(CtProfileProgram, shared_bytes)};

/* One program's counts, and what on_launch kept of it, which the table at `kept` has by tag. */
static void push_program(lua_State *L, const CtProfileProgram *p, int kept) {
  uint32_t site = 0;
  lua_rawgeti(L, kept, (lua_Integer)p->tag);
  FIELDS_SET(L, program_fields, p);
  lua_createtable(L, (int)p->n_rows, 0);
  for (uint32_t i = 0; i < p->n_rows; i++) {
    push_row(L, p, i, &site);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "rows");
  push_bufs(L, p, false);
  lua_setfield(L, -2, "tensors");
  push_bufs(L, p, true);
  lua_setfield(L, -2, "locals");
}

/* session:finish() -> a list of programs, in the order of their first launches; the session is over. */
static int session_finish(lua_State *L) {
  Watcher *w = watcher_check(L, &kind);
  watcher_stop(L, w);
  if (ct_profile_is_partial(w->tool)) {
    return luaL_error(L, "not enough memory");
  }
  lua_settop(L, 1);
  lua_getiuservalue(L, 1, KNOWN); /* stack: session, kept */
  lua_newtable(L);
  for (uint32_t i = 0; i < ct_profile_size(w->tool); i++) {
    push_program(L, ct_profile_program(w->tool, i), 2);
    lua_rawseti(L, 3, (lua_Integer)i + 1);
  }
  return 1;
}

static const Field wave_fields[] = {FIELD(CtProfileWave, unique), FIELD(CtProfileWave, together)};

/* session:waves(i, n) -> {[map] = {unique =, together =}}, nil where there were too many boxes: of program i's boxes
   in waves of n blocks; see ct_profile_waves. After finish, until the session is closed. */
static int session_waves(lua_State *L) {
  CtProfile *profile = watcher_check(L, &kind)->tool;
  lua_Integer i = luaL_checkinteger(L, 2), n = luaL_checkinteger(L, 3);
  if (i < 1 || i > (lua_Integer)ct_profile_size(profile) || n < 1) {
    return diag_error(L, "profile: no such program");
  }
  const CtProfileProgram *p = ct_profile_program(profile, (uint32_t)i - 1);
  if (p->lacks_boxes) {
    return 0;
  }
  CtProfileWave *waves = lua_newuserdatauv(L, (p->n_sites + 1) * sizeof *waves, 0);
  ct_profile_waves(profile, (uint32_t)i - 1, n, waves);
  lua_newtable(L);
  for (uint32_t site = 0; site < p->n_sites; site++) {
    if (waves[site].unique > 0) {
      FIELDS_PUSH(L, wave_fields, &waves[site]);
      lua_rawseti(L, -2, (lua_Integer)site);
    }
  }
  return 1;
}

/* --- code ------------------------------------------------------------------------------------------------ */

/* What the job {source =, symbol =, options =} at idx says, as long as its table lives. */
static void read_job(lua_State *L, int idx, const char *arch, CtNvrtcJob *job,
                     const char **options) {
  *job = (CtNvrtcJob){.arch = arch, .options = options};
  lua_getfield(L, idx, "source");
  lua_getfield(L, idx, "symbol");
  lua_getfield(L, idx, "options");
  job->source = luaL_checkstring(L, -3);
  job->name = luaL_checkstring(L, -2);
  for (int n = 0; n < LAUNCH_MAX_OPTIONS && lua_rawgeti(L, -1, n + 1) == LUA_TSTRING; n++) {
    options[job->n_options++] = lua_tostring(L, -1);
    lua_pop(L, 1);
  }
  lua_settop(L, idx);
}

static void read_arch(lua_State *L, char arch[16]) {
  ct_nvrtc_arch((int)bind_to_option(L, 2, 10, 999, "profile", "sm"), arch);
}

/* _watch.profile_compile(jobs, sm, f) -> how many of the jobs were compiled at once, into the cache, as
   launch_compile_all does. */
static int profile_compile(lua_State *L) {
  char arch[16];
  read_arch(L, arch);
  luaL_checktype(L, 1, LUA_TTABLE);
  luaL_checktype(L, 3, LUA_TFUNCTION);
  size_t n = (size_t)lua_rawlen(L, 1);
  CtNvrtcJob *jobs = lua_newuserdatauv(L, (n + 1) * sizeof *jobs, 0);
  const char *(*options)[LAUNCH_MAX_OPTIONS] = lua_newuserdatauv(L, (n + 1) * sizeof *options, 0);
  for (size_t i = 0; i < n; i++) {
    lua_rawgeti(L, 1, (lua_Integer)i + 1);
    read_job(L, lua_gettop(L), arch, &jobs[i], options[i]);
    lua_pop(L, 1);
  }
  lua_pushinteger(L, (lua_Integer)launch_compile_all(L, jobs, n, 3));
  return 1;
}

/* _watch.profile_cubin(job, sm) -> the bytes of the cubin, through the cache, or nil and why. */
static int profile_cubin(lua_State *L) {
  const char *options[LAUNCH_MAX_OPTIONS];
  char arch[16];
  CtNvrtcJob job;
  CtNvrtcOutput output;
  CtErr err;
  lua_settop(L, 2);
  read_arch(L, arch);
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_pushvalue(L, 1);
  read_job(L, 3, arch, &job, options);
  job.alloc = state_of(L)->alloc;
  if (state_compile(state_of(L), &job, true, &output, &err) != CT_OK) {
    luaL_pushfail(L);
    lua_pushstring(L, err.msg);
    return 2;
  }
  ct_text_clear(&output.log);
  bind_push_text(L, &output.image);
  return 1;
}

/* --- opening --------------------------------------------------------------------------------------------- */

static const luaL_Reg session_methods[] = {
    {"finish", session_finish}, {"waves", session_waves}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_watch.profile_begin", profile_begin},
                                     {"_watch.profile_compile", profile_compile},
                                     {"_watch.profile_cubin", profile_cubin},
                                     {NULL, NULL}};

void bind_open_profile(lua_State *L) {
  watcher_new_type(L, &kind, session_methods);
  luaL_setfuncs(L, functions, 0);
}
