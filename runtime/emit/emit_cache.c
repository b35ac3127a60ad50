/* emit_cache.c: accesses with a hint for the caches (CtCacheHint): the function of CUDA, or our own, that
   loads or stores by the instruction with the hint.

   CUDA's __ldcs and its like are not ordered with stores to the same memory. They are for tensors that
   the kernel does not write; for others our functions tell the compiler that they read memory. */
#include "emit.h"

/* How a hint is said. A text is a function of CUDA; own: the helper is meant; else: plainly. */
typedef struct Way {
  const char *text;
  CtHelper helper;
  bool is_own;
} Way;
typedef struct Hint {
  Way load, load_written, store;
  Way load_80, load_written_80, store_80; /* from sm_80 on, if they differ: with a policy of L2 */
  CtHelper policy;                        /* for boxes of TMA */
  bool has_policy;
} Hint;

#define CUDA(name)                                                                                 \
  { .text = (name) }
#define OWN(NAME)                                                                                  \
  { .helper = CT_HELP_##NAME, .is_own = true }
static const Hint hints[CT_CACHE_COUNT] = {
    [CT_CACHE_STREAMING] = {.load = CUDA("__ldcs"),
                            .load_written = OWN(LOAD_CS),
                            .store = CUDA("__stcs")},
    [CT_CACHE_GLOBAL] = {.load = CUDA("__ldcg"),
                         .load_written = OWN(LOAD_CG),
                         .store = CUDA("__stcg")},
    [CT_CACHE_LAST_USE] = {.load = CUDA("__ldlu"), .load_written = CUDA("__ldlu")},
    [CT_CACHE_VOLATILE] = {.load = CUDA("__ldcv"), .load_written = CUDA("__ldcv")},
    [CT_CACHE_WRITE_THROUGH] = {.store = CUDA("__stwt")},
    [CT_CACHE_READ_ONLY] = {.load = CUDA("__ldg")},
    [CT_CACHE_NO_ALLOCATE] = {.load = OWN(LOAD_NC_NO_ALLOCATE),
                              .load_written = OWN(LOAD_NO_ALLOCATE),
                              .store = OWN(STORE_NO_ALLOCATE)},
#define EVICT(NAME)                                                                                \
  {                                                                                                \
    OWN(LOAD_NC_##NAME), OWN(LOAD_##NAME), OWN(STORE_##NAME), OWN(LOAD_NC_##NAME##_L2),            \
        OWN(LOAD_##NAME##_L2), OWN(STORE_##NAME##_L2), CT_HELP_POLICY_##NAME, true                 \
  }
    [CT_CACHE_EVICT_FIRST] = EVICT(EVICT_FIRST),
    [CT_CACHE_EVICT_LAST] = EVICT(EVICT_LAST),
};

static const char *name_of(CtEmit *e, Way way) {
  return way.is_own ? ct_emit_help(e, way.helper) : way.text;
}

/* CUDA's functions take no bool. */
static const Hint *hint_of(const CtBuf *buf) {
  return &hints[buf->dtype == CT_bool ? 0 : buf->cache];
}

static bool may_change(const CtEmit *e, const CtBuf *buf) {
  return e->ir->may_overlap || e->ir->bufs[buf->alias_of].is_written;
}

static bool has_l2(const CtEmit *e, const Hint *hint) {
  return hint->has_policy && e->ir->target.sm >= 80;
}

const char *ct_emit_loader(CtEmit *e, const CtBuf *buf) {
  const Hint *hint = hint_of(buf);
  bool is_80 = has_l2(e, hint), changes = may_change(e, buf);
  return name_of(e, is_80 ? (changes ? hint->load_written_80 : hint->load_80)
                          : (changes ? hint->load_written : hint->load));
}

const char *ct_emit_storer(CtEmit *e, const CtBuf *buf) {
  const Hint *hint = hint_of(buf);
  return name_of(e, has_l2(e, hint) ? hint->store_80 : hint->store);
}

const char *ct_emit_policy(CtEmit *e, CtCacheHint cache) {
  const Hint *hint = &hints[cache];
  return has_l2(e, hint) ? ct_emit_help(e, hint->policy) : NULL;
}

void ct_emit_load(CtEmit *e, uint32_t buf, CtVal place) {
  const char *load = ct_emit_loader(e, &e->ir->bufs[buf]);
  if (load != NULL) {
    ct_text_printf(&e->body, "%s(&", load);
  }
  ct_emit_place(e, buf, place);
  ct_text_puts(&e->body, load != NULL ? ")" : "");
}

void ct_emit_store(CtEmit *e, CtLoc loc, uint32_t buf, CtVal place, CtVal value) {
  const char *store = ct_emit_storer(e, &e->ir->bufs[buf]);
  if (store == NULL) {
    ct_emit_say(e, loc, "%s[%v] = %v;", e->buf_names[buf], place, value);
  } else {
    ct_emit_say(e, loc, "%s(&%s[%v], %c);", store, e->buf_names[buf], place, value);
  }
}
