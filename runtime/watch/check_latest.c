/* check_latest.c: see check_latest.h. */
#include "check_latest.h"

#include "check_before.h"

static const CtCheckEvent *event_of(const CtLatestBy *by, uint32_t word) {
  return by->event(by->of, word >> CT_EVENT_LANE_BITS);
}

static CtDistance distance_to(const CtLatestBy *by, uint32_t old, uint32_t word) {
  return ct_distance(event_of(by, old), (int)(old & CT_EVENT_LANE), by->now,
                     (int)(word & CT_EVENT_LANE));
}

static bool is_over(const CtLatestBy *by, uint32_t old, uint32_t word) {
  return by->is_over(by, event_of(by, old), (int)(old & CT_EVENT_LANE),
                     (int)(word & CT_EVENT_LANE));
}

/* Does the access of another block stay where it is, because its block is lower? */
static bool stays(const CtLatestBy *by, uint32_t old, uint32_t word) {
  return ct_block_number(event_of(by, old)) < ct_block_number(by->now) && !is_over(by, old, word);
}

void ct_latest_note(CtLatest *l, uint32_t word, const CtLatestBy *by) {
  const CtLatest was = *l;
  if (was.word[0] == word) {
    return;
  }
  if (was.word[0] != 0 && was.word[0] >> CT_EVENT_LANE_BITS == word >> CT_EVENT_LANE_BITS) {
    l->word[0] = word;
    l->word[CT_OTHER_LANE] = was.word[0];
    return;
  }
  CtDistance d = was.word[0] == 0 ? CT_SAME_THREAD : distance_to(by, was.word[0], word);
  uint32_t *far = &l->word[CT_OTHER_BLOCK];
  if (d == CT_OTHER_BLOCK && stays(by, was.word[0], word)) {
    *far = *far == 0 || !stays(by, *far, word) ? word : *far;
    return;
  }
  l->word[0] = word;
  for (int i = 1; i < (int)d; i++) {
    l->word[i] = 0;
  }
  if (d != CT_SAME_THREAD && !(d == CT_OTHER_BLOCK && is_over(by, was.word[0], word))) {
    l->word[d] = was.word[0];
  }
  for (int i = 1; i <= (int)d; i++) { /* those that are nearer to the new one than to the old */
    CtDistance near = was.word[i] == 0 ? CT_SAME_THREAD : distance_to(by, was.word[i], word);
    if (near != CT_SAME_THREAD && (int)near < i) {
      l->word[near] = was.word[i];
    }
  }
}

/* --- shared memory ---------------------------------------------------------------------------------- */

static const CtCheckEvent *shared_event(const void *k, uint32_t number) {
  return ct_shadow_event(k, number);
}

static bool is_shared_over(const CtLatestBy *by, const CtCheckEvent *old, int old_lane, int lane) {
  const CtCheckWorker *k = by->of; /* of the memory */
  return ct_is_before(k - k->k->rank + by->now->rank, old, by->now, (CtLanePair){old_lane, lane},
                      old->agent != CT_AGENT_NONE, false);
}

void ct_shadow_note_atomic(CtCheckWorker *k, int64_t g, uint32_t word, const CtCheckEvent *now) {
  CtLatest *l = &k->atomics[g];
  const CtLatestBy by = {now, shared_event, is_shared_over, k};
  if (l->word[0] < k->epoch_word) {
    *l = (CtLatest){0};
  }
  ct_latest_note(l, word, &by);
  k->shadow[g] = k->shadow[g] < k->block_word ? k->block_word : k->shadow[g]; /* it is set */
  k->has_atomics = true;
}
