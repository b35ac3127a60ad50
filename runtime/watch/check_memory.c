/* check_memory.c: the tables in which `check` keeps global memory: shadows and events, of one launch or shared by
   launches of ranks, and what the blocks of a launch released. */
#include "check_clock.h"
#include "check_global.h"

enum { MAX_BLOCKS = 1 << 26 }; /* if a launch has more, TMA is taken to see all */

/* The shadows' chunks, and events. */
static bool make_shadows(CtArena *arena, CtGlobal *g) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    CtGlobalRegion *r = &g->regions[i];
    r->bits = __builtin_ctz(r->granule);
    if (r->is_written) {
      r->n_chunks = (size_t)(r->end - r->begin) / r->granule / CT_GLOBAL_CHUNK + 1;
      r->chunks = ct_arena_alloc(arena, r->n_chunks * sizeof *r->chunks);
      if (r->chunks == NULL) {
        return false;
      }
    }
  }
  g->events = ct_arena_alloc(arena, CT_EVENT_CHUNKS * sizeof *g->events);
  g->next = ct_arena_alloc(arena, sizeof *g->next);
  if (g->events == NULL || g->next == NULL) {
    return false;
  }
  atomic_store(g->next, 1); /* event 0 means none */
  return true;
}

/* Times of proxy fences by block; between ranks, of releases. */
static bool make_times(CtCheck *c, CtGlobal *g) {
  size_t n = (size_t)c->job->n_blocks;
  if (c->job->n_blocks <= MAX_BLOCKS && ct_clock_is_wanted(c->job->program)) {
    g->proxied = ct_arena_alloc(&c->arena, n * sizeof *g->proxied);
    if (g->proxied == NULL) {
      return false;
    }
  }
  g->has_too_many = c->job->n_blocks > MAX_BLOCKS;
  if (c->ranks == NULL || g->has_too_many) {
    return true;
  }
  g->released = ct_arena_alloc(&c->arena, n * sizeof *g->released);
  g->released_sys = ct_arena_alloc(&c->arena, n * sizeof *g->released_sys);
  return g->released != NULL && g->released_sys != NULL;
}

CtStatus ct_global_begin(CtCheck *c, CtErr *err) {
  if (c->options.no_global) {
    return CT_OK;
  }
  CtGlobal *g = ct_arena_alloc(&c->arena, sizeof *g);
  if (g == NULL || ct_region_make(&c->arena, g, c->job, 1, &g->region_of) != CT_OK ||
      !make_shadows(&c->arena, g) || !make_times(c, g)) {
    return ct_fail_nomem(err);
  }
  c->global = g;
  return CT_OK;
}

CtGlobal *ct_global_make(CtArena *arena, const CtSimtJob *jobs, int n, uint32_t **region_of) {
  CtGlobal *g = ct_arena_alloc(arena, sizeof *g);
  bool ok =
      g != NULL && ct_region_make(arena, g, jobs, n, region_of) == CT_OK && make_shadows(arena, g);
  return ok ? g : NULL;
}

CtStatus ct_global_share(CtCheck *part, const CtGlobal *all, uint32_t *region_of, CtErr *err) {
  CtGlobal *g = ct_arena_alloc(&part->arena, sizeof *g);
  bool ok = g != NULL;
  if (ok) {
    *g = *all;
    g->region_of = region_of;
    g->is_shared = true;
    ok = make_times(part, g);
  }
  part->global = ok ? g : NULL;
  return ok ? CT_OK : ct_fail_nomem(err);
}

void ct_global_free(CtAlloc alloc, CtGlobal *g) {
  for (uint32_t i = 0; i < g->n_regions; i++) {
    for (size_t j = 0; j < g->regions[i].n_chunks; j++) {
      CtGlobalChunk *chunk = atomic_load(&g->regions[i].chunks[j]);
      if (chunk != NULL) {
        ct_line_free(alloc, chunk);
      }
    }
    ct_free(alloc, (void *)g->regions[i].seen, ct_region_granules(&g->regions[i]));
  }
  for (uint32_t i = 0; i < CT_EVENT_CHUNKS && i < atomic_load(g->next); i++) {
    ct_free(alloc, atomic_load(&g->events[i]), CT_GLOBAL_EVENTS * sizeof(CtCheckEvent));
  }
}

void ct_global_end(CtCheck *c) {
  if (c->global != NULL && !c->global->is_shared) {
    ct_global_free(c->alloc, c->global);
  }
  c->global = NULL;
}
