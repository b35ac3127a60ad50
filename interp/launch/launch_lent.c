/* launch_lent.c: launches with memory that a host lends; launch_site.h. */
#include "launch_site.h"

#include <lauxlib.h>
#include <string.h>

#include "launch_key.h"

/* {====== Kernels that were looked up in this turn ====== */

static StateKnown *place_of(CuttleState *s, const void *kernel) {
  return &s->turn.known[((uintptr_t)kernel >> 6) % STATE_KNOWN];
}

static void know(CuttleState *s, const Kernel *k) {
  *place_of(s, k) = (StateKnown){.kernel = k, .turn = s->turn.number};
}

static bool is_known(CuttleState *s, const void *kernel) {
  const StateKnown *known = place_of(s, kernel);
  return known->kernel == kernel && known->turn == s->turn.number && kernel != NULL;
}

/* {====== A launch that was worked out before ====== */

/* Nothing is to be done at such a launch but to pass the block: no maps, no word of sync_grid, no printf, no
   requirements. */
static bool fits_brief(const Spec *spec) {
  return spec->device != NULL && spec->maps == NULL && spec->prints == NULL && spec->each == NULL &&
         !ct_ir_has_grid_barrier(&spec->ir) && spec->ir.n_requires == 0 &&
         spec->params_bytes <= BRIEF_BYTES && spec->n_packs <= BRIEF_PACKS;
}

/* Of a launch that has just gone well, whose parameter block the specialisation still has. */
static void note_brief(LaunchBrief *b, const Spec *spec, const LaunchConfig *config) {
  b->fn = NULL;
  if (fits_brief(spec)) {
    b->fn = spec->fn;
    b->device = spec->device;
    b->is_captured = spec->is_captured;
    b->n_bytes = (unsigned)spec->params_bytes;
    b->n_packs = spec->n_packs;
    b->launch = launch_of(spec, config);
    memcpy(b->params, spec->params, spec->params_bytes);
    memcpy(b->packs, spec->packs, (size_t)spec->n_packs * sizeof *spec->packs);
  }
}

/* The same launch with other values. False: it needs more. */
static bool run_brief(LaunchBrief *b, const CtSlotValue *slots, const LaunchLent *lent,
                      CtStatus *status, CtErr *err) {
  if (b->fn == NULL) {
    return false;
  }
  CtStream stream = lent->stream != NULL ? *lent->stream : ct_device_stream(b->device);
  if (!b->is_captured && ct_device_is_capturing(b->device, stream)) {
    return false;
  }
  launch_pack(b->packs, b->n_packs, slots, b->params);
  b->launch.stream = stream;
  *status = ct_function_launch(b->fn, &b->launch, b->params, b->n_bytes, err);
  return true;
}

/* {====== The launch ====== */

/* On the CPU engine little would be saved; printf calls the host. */
static bool may_go_alone(const Kernel *k, const LaunchSite *site) {
  const CuttleState *s = k->state;
  return s->calls.n == 1 && !s->turn.is_open_to_host && site->args.device != NULL &&
         site->args.n_lists == 0 && k->specs->prints == NULL;
}

static const Spec *spec_of(const Kernel *k, const LaunchArgs *a) {
  const Spec *spec = k->specs;
  while (spec != NULL && spec->id != a->spec) {
    spec = spec->next;
  }
  return spec;
}

/* After a launch that looked at everything, made nothing and ran nothing: a state's turn is over when something
   may have changed, which this launch did not. */
static void end_quietly(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site) {
  const Kernel *k = lua_touserdata(L, kernel);
  if (may_go_alone(k, site)) {
    site->turn = --k->state->turn.number;
    site->grid = config->grid;
    site->pdl = config->pdl;
    site->cooperative = config->cooperative;
    site_note_types(site);
    note_brief(&site->brief, spec_of(k, &site->args), config);
    know(k->state, k);
  }
}

void launch_lent(lua_State *L, int kernel, LaunchConfig *config, const LaunchLent *lent) {
  Kernel *k = lua_touserdata(L, kernel);
  uint64_t turn = k->state->turn.number, spec = 0;
  luaL_checkstack(L, 16, NULL);
  LaunchSite *site = site_find(k, config, lent);
  if (site == NULL) {
    site = site_new(L, kernel, config, lent);
  } else if (site_use(L, kernel, config, site, lent)) {
    spec = site->args.spec; /* 0: not known yet */
  }
  lua_getiuservalue(L, -1, SITE_ARGS);
  site->args.anchor = lua_gettop(L);
  launch_take_stream(config, lent->stream, &site->args);
  launch_kernel(L, kernel, config, &site->args, 1);
  if (k->state->taps.joint != NULL) { /* a rank's, which must not wait: the host uses its memory */
    k->state->taps.joint->run(L);
  }
  k->state->turn.written = site->args.written;
  site_end(site);
  if (spec != 0 && spec == site->args.spec && turn == k->state->turn.number) {
    end_quietly(L, kernel, config, site);
  }
}

/* {====== The launch without Lua ====== */

static bool is_plain(const CuttleState *s) {
  return s->calls.n == 0 && !s->is_closing && !s->is_printing && !s->turn.is_open_to_host &&
         !taps_are_open(&s->taps);
}

static bool is_in_place(const CuttleState *s, const LaunchSite *site, const LaunchConfig *c) {
  return site->turn == s->turn.number && site->grid.x == c->grid.x && site->grid.y == c->grid.y &&
         site->grid.z == c->grid.z && site->pdl == c->pdl && site->cooperative == c->cooperative &&
         !c->check;
}

bool launch_lent_again(CuttleState *s, const void *kernel, LaunchConfig *config,
                       const LaunchLent *lent, CtStatus *status, CtErr *err) {
  if (!is_plain(s) || !is_known(s, kernel)) {
    return false;
  }
  Kernel *k = (Kernel *)(uintptr_t)kernel;
  LaunchSite *site = site_find(k, config, lent);
  if (site == NULL || !is_in_place(s, site, config)) {
    return false;
  }
  LaunchArgs *a = &site->args;
  bool overlap = ct_spans_overlap(&site->wants->span, sizeof *site->wants, site->n);
  s->turn.written = a->written;
  if (overlap == a->overlap && run_brief(&site->brief, a->slots, lent, status, err)) {
    return true;
  }
  const Spec *spec = spec_of(k, a);
  site_move(s->L, s, site, lent);
  launch_take_stream(config, lent->stream, a);
  if (spec == NULL || a->overlap != overlap ||
      launch_is_new_to_host_graph(spec, launch_stream(config, a->device)) ||
      launch_check_requires(spec, a->slots, err) != CT_OK) {
    return false;
  }
  *status = launch_enqueue(spec, config, a, 1, err);
  return true;
}
