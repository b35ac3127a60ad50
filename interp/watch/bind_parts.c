/* bind_parts.c: what the module cuttle.launch_picture is made of: a launch on the CPU engine that notes which
   elements its threads access at which step (runtime/watch/parts.h). The names begin with `_`: the library's own. */
#include <lauxlib.h>
#include <limits.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "interp/launch/watcher.h"
#include "interp/openers.h"
#include "interp/state/fields.h"
#include "runtime/layout/composed.h"
#include "runtime/simt/code/simt_program.h"
#include "runtime/watch/parts.h"
#include "runtime/watch/lineage.h"

enum { WATCHER = 1, LAUNCH, LIMIT, ARGS }; /* places on the stack */

static void close_parts(void *parts) { ct_parts_close(parts); }

static const WatcherKind kind = {
    "picture of a launch",
    "html: launches are already being watched, by check, profile or trace; draw one in a run "
    "without them",
    close_parts};

/* The numbers of a part, one after the other. */
enum { PART_FIELDS = 7 };
static void push_parts(lua_State *L, const CtPartList *list) {
  lua_Integer at = 0;
  lua_createtable(L, (int)ct_min((int64_t)list->n * PART_FIELDS, INT_MAX), 0);
  for (size_t i = 0; i < list->n; i++) {
    const CtPart *p = &list->part[i];
    const lua_Integer numbers[PART_FIELDS] = {
        p->block, p->warp, p->step, p->site, (lua_Integer)p->lanes + 1, (lua_Integer)p->elems + 1,
        p->base};
    for (int j = 0; j < PART_FIELDS; j++) {
      lua_pushinteger(L, numbers[j]);
      lua_rawseti(L, -2, ++at);
    }
  }
}

static void push_vectors(lua_State *L, const CtPartList *list) {
  lua_createtable(L, (int)list->n_vecs, 0);
  for (size_t i = 0; i < list->n_vecs; i++) {
    const int64_t *v = list->vec[i];
    lua_createtable(L, (int)v[0], 0);
    for (int64_t j = 1; j <= v[0]; j++) {
      lua_pushinteger(L, v[j]);
      lua_rawseti(L, -2, j);
    }
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
}

/* The list of workers {parts =, vecs =}. */
static void push_workers(lua_State *L, const CtParts *parts) {
  CtPartList list;
  lua_newtable(L);
  for (int i = 0;; i++) {
    diag_try(L, ct_parts_list(parts, i, &list, diag_err(L)));
    if (list.part == NULL) {
      return;
    }
    lua_createtable(L, 0, 2);
    push_parts(L, &list);
    lua_setfield(L, -2, "parts");
    push_vectors(L, &list);
    lua_setfield(L, -2, "vecs");
    lua_rawseti(L, -2, i + 1);
  }
}

static const Field site_fields[] = {FIELD_AS("line", CtPartSite, loc.line),
                                    FIELD(CtPartSite, loop),
                                    FIELD(CtPartSite, buf),
                                    FIELD(CtPartSite, at),
                                    FIELD(CtPartSite, bytes),
                                    FIELD(CtPartSite, reads),
                                    FIELD(CtPartSite, writes),
                                    FIELD(CtPartSite, is_box),
                                    FIELD(CtPartSite, is_wgmma)};

/* [number] = {...} of the sites that parts have. */
static void push_sites(lua_State *L, const CtParts *parts, const CtSimtProgram *p) {
  CtPartList list;
  CtPartSite site;
  lua_newtable(L);
  for (int i = 0; ct_parts_list(parts, i, &list, diag_err(L)) == CT_OK && list.part != NULL; i++) {
    for (size_t j = 0; j < list.n; j++) {
      lua_Integer number = list.part[j].site;
      if (lua_rawgeti(L, -1, number) == LUA_TNIL) {
        ct_parts_site(parts, p, list.part[j].site, &site);
        FIELDS_PUSH(L, site_fields, &site);
        field_text(L, "chunk", p->chunks[site.loc.chunk]);
        lua_rawseti(L, -3, number);
      }
      lua_pop(L, 1);
    }
  }
}

/* [index in the program] = {name =, space =, bytes =, layout =} of tensors that own their memory. */
static void push_tensors(lua_State *L, const CtSimtProgram *p) {
  CtLineageTensor t;
  lua_newtable(L);
  for (uint32_t i = 1; ct_lineage_tensor(p, i, &t); i++) {
    if (t.is_alias) {
      continue;
    }
    lua_createtable(L, 0, 4);
    field_text(L, "name", t.name);
    field_text(L, "space", ct_spaces[t.space]);
    field_text(L, "dtype", ct_dtypes[t.dtype].name);
    field_integer(L, "bytes", (int64_t)ct_value_bytes(t.dtype));
    if (ct_composed_is_static(&t.layout)) { /* else it means something in the kernel's trace only */
      bind_push_composed(L, &t.layout);
      lua_setfield(L, -2, "layout");
    }
    lua_rawseti(L, -2, i);
  }
}

static const Field kernel_fields[] = {FIELD(Kernel, name), FIELD(Kernel, chunk),
                                      FIELD(Kernel, line)};

/* _watch.parts(launch, limit, args...) -> {name =, chunk =, line = of the kernel, workers =, sites =, tensors =, grid =,
   block =, cluster =, left_out =}: launches
   `launch(args...)`, a configuration, on the CPU engine. It keeps `limit` parts at most; a part is block, warp, step,
   site, the numbers of two vectors, and its base. */
static int parts(lua_State *L) {
  CtParts *found;
  Watcher *w = watcher_push(L, &kind, 0);
  lua_insert(L, WATCHER);
  lua_toclose(L, WATCHER);
  lua_Integer limit = luaL_checkinteger(L, LIMIT);
  luaL_argcheck(L, limit >= 1, LIMIT, "how many parts");
  if (launch_unpack(L, LAUNCH) != 0) {
    return diag_type_error(L, LAUNCH, "html", "a launch configuration");
  }
  lua_pop(L, 1);
  const Kernel *k = lua_touserdata(L, -1);
  lua_replace(L, LIMIT);
  diag_try(L, ct_parts_open(w->state->alloc, (size_t)limit, &found, diag_err(L)));
  w->tool = found;
  watcher_start(w, ct_parts_watch(found));
  lua_pushvalue(L, LAUNCH);
  lua_insert(L, ARGS);
  lua_call(L, lua_gettop(L) - ARGS, 0);
  watcher_pause(w);
  const CtSimtProgram *p = k->specs->simt; /* the one that just ran comes first */
  FIELDS_PUSH(L, kernel_fields, k);
  push_workers(L, found);
  lua_setfield(L, -2, "workers");
  push_sites(L, found, p);
  lua_setfield(L, -2, "sites");
  push_tensors(L, p);
  lua_setfield(L, -2, "tensors");
  field_triple(L, "grid", ct_parts_grid(found));
  field_triple(L, "block", ct_lineage_block(p));
  field_triple(L, "cluster", p->cluster);
  field_integer(L, "left_out", ct_parts_left_out(found));
  return 1;
}

void bind_open_parts(lua_State *L) {
  static const luaL_Reg functions[] = {{"_watch.parts", parts}, {NULL, NULL}};
  watcher_new_type(L, &kind, NULL);
  luaL_setfuncs(L, functions, 0);
}
