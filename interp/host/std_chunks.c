/* std_chunks.c: see library.h. What Lua made of a text is kept from the second state on that loads it: most processes
   have one. States may be of different threads, which so share what is written once. */
#include "library.h"

#include <lauxlib.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "interp/state/source_load.h"

/* Of lua_dump. */
typedef struct Binary {
  size_t len, cap;
  char *bytes;
} Binary;

typedef struct Slot {
  atomic_int n_loads;
  _Atomic(Binary *) binary; /* NULL: not kept; written once */
} Slot;

static _Atomic(Slot *) all_slots; /* by module; made once, for as long as the process */

/* NULL: out of memory. */
static Slot *slot_of(const StdModule *m) {
  Slot *slots = atomic_load(&all_slots);
  if (slots == NULL) {
    size_t n = 0;
    while (std_modules[n].name != NULL) {
      n++;
    }
    Slot *made = calloc(n + 1, sizeof *made); /* the end has one, too */
    if (atomic_compare_exchange_strong(&all_slots, &slots, made)) {
      slots = made;
    } else {
      free(made); /* another thread was first */
    }
  }
  return slots == NULL ? NULL : &slots[m - std_modules];
}

static void drop(Binary *b) {
  if (b != NULL) {
    free(b->bytes);
    free(b);
  }
}

static int append(lua_State *L, const void *bytes, size_t n, void *binary) {
  Binary *b = binary;
  (void)L;
  if (b->len + n > b->cap) {
    size_t cap = 2 * (b->len + n);
    char *p = realloc(b->bytes, cap);
    if (p == NULL) {
      return 1;
    }
    b->bytes = p;
    b->cap = cap;
  }
  memcpy(b->bytes + b->len, bytes, n);
  b->len += n;
  return 0;
}

/* Keeps the function at the top. Where there is no memory for it, the next state parses the text again. */
static void keep(lua_State *L, Slot *slot) {
  Binary *none = NULL, *b = calloc(1, sizeof *b);
  bool ok = b != NULL && lua_dump(L, append, b, 0) == 0;
  if (!ok || !atomic_compare_exchange_strong(&slot->binary, &none, b)) {
    drop(b);
  }
}

/* Pushes the module's text, which lives as long as what is pushed. */
static const char *push_text(lua_State *L, const StdModule *m, size_t *len) {
  if (m->text_len > 0) {
    packed_text_push(L, m->source, m->len, m->text_len);
  } else {
    lua_pushlstring(L, m->source, m->len);
  }
  return lua_tolstring(L, -1, len);
}

int std_chunk_load(lua_State *L, const StdModule *m, const char *name, bool keeps) {
  Slot *slot = keeps ? slot_of(m) : NULL;
  const Binary *known = slot == NULL ? NULL : atomic_load(&slot->binary);
  size_t len;
  const char *text = push_text(L, m, &len);
  int status = known == NULL ? src_load(L, text, len, name, "t")
                             : src_load_known(L, text, len, name, known->bytes, known->len);
  if (status == LUA_OK && known == NULL && slot != NULL &&
      atomic_fetch_add(&slot->n_loads, 1) > 0) {
    keep(L, slot);
  }
  lua_remove(L, -2);
  return status;
}
