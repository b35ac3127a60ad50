/* bind_search.c: what searches of the standard library are made of (stdlib/microscope/find_swizzle.lua): the cost of a
   request, and a search in progress, with its bar. The names begin with `_`: the library's own. */
#include <lauxlib.h>
#include <stdio.h>
#include <unistd.h>

#include "interp/algebra/bind.h"
#include "interp/launch/launch.h"
#include "runtime/watch/banks.h"
#include "interp/state/state.h"
#include "interp/openers.h"
#include "runtime/base/clock.h"

#define SEARCH_TYPE "search"

enum { LANES = 32 };

/* --- costs ----------------------------------------------------------------------------------------------- */

/* Byte addresses by lane from the list at 1, false of a lane that is not active. Returns the mask. Away from
   the ends of int64_t, so that the address of each byte is one. */
static uint32_t to_addresses(lua_State *L, int64_t at[LANES]) {
  uint32_t mask = 0;
  luaL_checktype(L, 1, LUA_TTABLE);
  for (int i = 0; i < LANES; i++) {
    at[i] = 0;
    if (lua_rawgeti(L, 1, i + 1) == LUA_TNUMBER) {
      mask |= 1u << i;
      at[i] = lua_tointeger(L, -1);
      luaL_argcheck(L, at[i] > INT64_MIN / 2 && at[i] < INT64_MAX / 2, 1, "an address too far");
    }
    lua_pop(L, 1);
  }
  return mask;
}

/* _watch.wavefronts(addresses, bytes, is_store) -> wavefronts, phases: of one request to shared memory. */
static int wavefronts(lua_State *L) {
  int64_t at[LANES];
  uint32_t mask = to_addresses(L, at);
  int bytes = bind_to_option(L, 2, 1, CT_MAX_LANE_BYTES, "_watch.wavefronts", "bytes");
  CtWavefronts w = ct_wavefronts(at, mask, bytes, lua_toboolean(L, 3) != 0);
  lua_pushinteger(L, w.n);
  lua_pushinteger(L, w.ideal);
  return 2;
}

/* _watch.sectors(addresses, bytes) -> sectors of one request to global memory. */
static int sectors(lua_State *L) {
  int64_t at[LANES], out[CT_MAX_SECTORS];
  uint32_t mask = to_addresses(L, at);
  int bytes = bind_to_option(L, 2, 1, CT_SECTOR_BYTES, "_watch.sectors", "bytes");
  lua_pushinteger(L, ct_sectors(at, mask, bytes, out));
  return 1;
}

/* --- a search in progress --------------------------------------------------------------------------------- */

enum { BAR = 30, FIRST_MS = 500, EACH_MS = 100, MAX_NAME = 40 };

/* While it is open, Ctrl-C asks it to end rather than to stop the script. */
typedef struct Search {
  CuttleState *state; /* NULL: closed */
  char name[MAX_NAME];
  int64_t n, done;
  double began_ms, drawn_ms; /* drawn_ms: when it began, or the bar was last drawn */
  bool has_bar, is_drawn;
} Search;

/* _host.search(name, n) -> a search of n steps. The bar is drawn where the program runs the script and its
   standard error is a terminal, once that takes long. */
static int search_begin(lua_State *L) {
  CuttleState *s = state_of(L);
  const char *name = luaL_checkstring(L, 1);
  Search *h = lua_newuserdatauv(L, sizeof *h, 0);
  *h = (Search){.n = luaL_checkinteger(L, 2), .began_ms = ct_now_ms()};
  h->drawn_ms = h->began_ms + FIRST_MS - EACH_MS;
  snprintf(h->name, sizeof h->name, "%s", name);
  h->has_bar = s->by_person && isatty(STDERR_FILENO) == 1;
  luaL_setmetatable(L, SEARCH_TYPE);
  h->state = s;
  s->searches.n++;
  return 1;
}

/* If the steps that are left take as long as those that were done. */
static long seconds_left(const Search *h, double now) {
  double each = h->done > 0 ? (now - h->began_ms) / (double)h->done : 0;
  return (long)(each * (double)(h->n - h->done) * 1e-3 + 0.5);
}

static void draw(Search *h, double now) {
  int full = h->n > 0 ? (int)(h->done * BAR / h->n) : BAR;
  fprintf(stderr, "\r%s [%.*s%*s] %lld of %lld, %ld s left, Ctrl-C keeps the best so far\033[K",
          h->name, full, "##############################", BAR - full, "", (long long)h->done,
          (long long)h->n, seconds_left(h, now));
  fflush(stderr);
  h->is_drawn = true;
}

/* search:step() -> may it go on? A step has been done. */
static int search_step(lua_State *L) {
  Search *h = luaL_checkudata(L, 1, SEARCH_TYPE);
  h->done++;
  if (h->has_bar) {
    double now = ct_now_ms();
    if (now - h->drawn_ms >= EACH_MS) {
      h->drawn_ms = now;
      draw(h, now);
    }
  }
  lua_pushboolean(L, h->state != NULL && h->state->searches.asked == 0);
  return 1;
}

/* search:seconds() -> since it began. */
static int search_seconds(lua_State *L) {
  const Search *h = luaL_checkudata(L, 1, SEARCH_TYPE);
  lua_pushnumber(L, (ct_now_ms() - h->began_ms) * 1e-3);
  return 1;
}

static int search_close(lua_State *L) {
  Search *h = luaL_checkudata(L, 1, SEARCH_TYPE);
  if (h->is_drawn) {
    fputs("\r\033[K", stderr);
    fflush(stderr);
    h->is_drawn = false;
  }
  if (h->state != NULL && --h->state->searches.n == 0) {
    h->state->searches.asked = 0;
  }
  h->state = NULL;
  return 0;
}

/* --- opening ---------------------------------------------------------------------------------------------- */

static const luaL_Reg search_methods[] = {
    {"step", search_step}, {"seconds", search_seconds}, {NULL, NULL}};
static const luaL_Reg functions[] = {{"_watch.wavefronts", wavefronts},
                                     {"_watch.sectors", sectors},
                                     {"_host.search", search_begin},
                                     {NULL, NULL}};

void bind_open_search(lua_State *L) {
  bind_new_handle(L, SEARCH_TYPE, search_close, search_methods);
  luaL_setfuncs(L, functions, 0);
}
