/* needless.c: what a launch does not need: see needless.h. A launch without a place runs a copy of its program, in which
   the instructions of the place are mutants. */
#include "needless.h"

#include <string.h>

#include "check_parts.h"
#include "mutant.h"
#include "runtime/simt/run/simt_kept.h"

/* --- what runs --------------------------------------------------------------------------------------------- */

/* A watcher that notes which places a launch runs. */
typedef struct Probe {
  CtSimtWatch watch; /* first */
  _Atomic bool *ran; /* by instruction */
} Probe;

static bool wants(const CtIn *code) { return ct_may_have_mutants(code); }

static CtStatus begin(CtSimtWatch *watch, CtSimtJob *job, CtErr *err) {
  (void)watch;
  (void)job;
  (void)err;
  return CT_OK;
}

static uint32_t step(CtSimtWatch *watch, const CtIn *code, const CtIn *in, CtWarp *w) {
  const Probe *probe = (const Probe *)(const void *)watch;
  (void)in;
  if (w->mask != 0) {
    atomic_store_explicit(&probe->ran[code - w->worker->job->program->code], true,
                          memory_order_relaxed);
  }
  return w->mask;
}

static const CtWatchOps probe_ops = {
    .wants = wants, .any_order = true, .begin = begin, .step = step};

/* --- a launch ---------------------------------------------------------------------------------------------- */

/* A launch, or those of ranks that run at once. */
typedef struct Trial {
  CtCheck *c;
  CtSimtEngine *engine;
  size_t n;
  CtArena arena;              /* of what follows */
  const CtSimtEntry *entries; /* as they are */
  CtSimtEntry *changed;       /* those that run, with programs, code and launches of their own */
  CtSimtProgram *programs;
  CtSimtLaunch *launches;
  Probe *probes;
  CtSimtKept before, after; /* memory before and after the launch as it is */
} Trial;

static CtStatus copy_entries(Trial *t, CtErr *err) {
  t->changed = ct_arena_alloc(&t->arena, t->n * sizeof *t->changed);
  t->programs = ct_arena_alloc(&t->arena, t->n * sizeof *t->programs);
  t->launches = ct_arena_alloc(&t->arena, t->n * sizeof *t->launches);
  t->probes = ct_arena_alloc(&t->arena, t->n * sizeof *t->probes);
  bool ok = t->changed != NULL && t->programs != NULL && t->launches != NULL && t->probes != NULL;
  for (size_t i = 0; i < t->n && ok; i++) {
    const CtSimtProgram *p = t->entries[i].program;
    t->programs[i] = *p;
    t->programs[i].code = ct_arena_alloc(&t->arena, p->n_code * sizeof *p->code);
    t->launches[i] = *t->entries[i].launch;
    t->launches[i].print = NULL;
    t->launches[i].watch = &t->probes[i].watch;
    t->changed[i] = (CtSimtEntry){&t->programs[i], &t->launches[i], t->entries[i].rank};
    t->probes[i].watch.ops = &probe_ops;
    t->probes[i].ran = ct_arena_alloc(&t->arena, p->n_code * sizeof *t->probes[i].ran);
    ok = t->programs[i].code != NULL && t->probes[i].ran != NULL;
    if (ok) {
      memcpy(t->programs[i].code, p->code, p->n_code * sizeof *p->code);
    }
  }
  return ok ? CT_OK : ct_fail_nomem(err);
}

static bool is_same_text(const char *a, const char *b) {
  return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Is the mutant of the instruction one of the place's? */
static bool is_at(const CtSimtProgram *p, uint32_t i, CtMutant mutant, const CtNeedless *place) {
  bool is_here = place->at == 0 || (place->at == i && strcmp(p->name, place->kernel) == 0);
  return is_here && p->locs[i].line == place->line && ct_mutant_name(mutant) == place->what &&
         strcmp(p->chunks[p->locs[i].chunk], place->chunk) == 0 &&
         is_same_text(ct_mutant_object(p, i), place->object);
}

/* The mutant of the instruction that is the place's; CT_N_MUTANTS: none. */
static CtMutant mutant_at(const CtSimtProgram *p, uint32_t i, const CtNeedless *place) {
  uint32_t rest = ct_mutants_of(p, i);
  while (rest != 0 && !is_at(p, i, (CtMutant)ct_first_lane(rest), place)) {
    rest &= rest - 1;
  }
  return rest != 0 ? (CtMutant)ct_first_lane(rest) : CT_N_MUTANTS;
}

/* Takes the place out of the programs, or puts it back. True: it ran. */
static bool take_out(Trial *t, const CtNeedless *place, bool out) {
  bool ran = false;
  for (size_t e = 0; e < t->n; e++) {
    const CtSimtProgram *p = t->entries[e].program;
    for (uint32_t i = p->body; i < p->n_code; i++) {
      CtMutant mutant = mutant_at(p, i, place);
      if (mutant != CT_N_MUTANTS) {
        t->programs[e].code[i] = out ? ct_mutant(p->code[i], mutant) : p->code[i];
        ran = ran || atomic_load(&t->probes[e].ran[i]);
      }
      i += (uint32_t)ct_in_size(&p->code[i]) - 1;
    }
  }
  return ran;
}

/* The first finding that the launch as it is does not have; NULL: none. */
static const CtFinding *first_new(const Trial *t, const CtCheck *trial) {
  for (size_t i = 0; i < ct_check_count(trial); i++) {
    if (ct_finding_is_new(t->c, ct_check_finding(trial, i))) {
      return ct_check_finding(trial, i);
    }
  }
  return NULL;
}

/* What the launch without the place showed. */
static CtStatus note_outcome(Trial *t, CtNeedless *place, const CtCheck *trial, CtStatus ran,
                             CtErr *err) {
  const CtFinding *f = first_new(t, trial);
  place->n_launches++;
  place->is_needed = place->is_needed || f != NULL || ran != CT_OK || ct_check_is_partial(trial) ||
                     ct_simt_first_change(&t->after) != NULL;
  if (f == NULL) {
    return CT_OK;
  }
  place->text = ct_arena_strdup(&t->c->texts, f->text, strlen(f->text));
  return place->text == NULL ? ct_fail_nomem(err) : CT_OK;
}

/* Runs the changed launch. */
static CtStatus try_it(Trial *t, CtNeedless *place, CtErr *err) {
  CtCheckOptions options = t->c->options;
  CtCheck *trial;
  CtErr why; /* what fails is a finding */
  options.is_single = true;
  options.blanks = NULL;
  CtStatus status = ct_check_open(t->c->alloc, &options, &trial, err);
  if (status != CT_OK) {
    return status;
  }
  trial->orders = t->c->orders;
  trial->orders.has_schedule = false;
  ct_simt_put_back(&t->before);
  CtStatus ran = ct_explore(trial, t->engine, t->changed, t->n, &why);
  bool stops = ran == CT_ENOMEM || ran == CT_EINTERRUPTED;
  status = stops ? ran : note_outcome(t, place, trial, ran, err);
  ct_check_close(trial);
  if (stops && err != NULL) {
    *err = why;
  }
  return status;
}

/* --- places ------------------------------------------------------------------------------------------------ */

/* A text that lives as long as the check; NULL stays NULL. */
static const char *keep_text(CtCheck *c, const char *text, bool *ok) {
  const char *kept = text == NULL ? NULL : ct_arena_strdup(&c->texts, text, strlen(text));
  *ok = *ok && (text == NULL || kept != NULL);
  return kept;
}

/* Adds the place of a mutant to the places of all launches, unless it is there. */
static CtStatus add_place(CtCheck *c, const CtSimtProgram *p, uint32_t i, CtMutant mutant,
                          CtErr *err) {
  for (size_t k = 0; k < c->n_needless; k++) {
    if (is_at(p, i, mutant, &c->needless[k])) {
      c->needless[k].has_atomics = c->needless[k].has_atomics || ct_program_has(p, CT_SIMT_ATOMIC);
      return CT_OK;
    }
  }
  bool ok = true;
  CtNeedless place = {.chunk = keep_text(c, p->chunks[p->locs[i].chunk], &ok),
                      .line = p->locs[i].line,
                      .at = c->tries_each ? i : 0,
                      .what = ct_mutant_name(mutant),
                      .object = keep_text(c, ct_mutant_object(p, i), &ok),
                      .kernel = keep_text(c, p->name, &ok),
                      .has_atomics = ct_program_has(p, CT_SIMT_ATOMIC)};
  if (!ok) {
    return ct_fail_nomem(err);
  }
  CtStatus status = CT_GROW(c->alloc, c->needless, c->cap_needless, c->n_needless + 1, err);
  if (status == CT_OK) {
    c->needless[c->n_needless++] = place;
  }
  return status;
}

/* Adds the places of the instruction: those that may be needless, or of all its mutants. */
static CtStatus add_places(CtCheck *c, const CtSimtProgram *p, uint32_t i, CtErr *err) {
  uint32_t rest = ct_mutants_of(p, i);
  rest &= c->tries_mutants ? UINT32_MAX : (1u << CT_N_NEEDLESS) - 1;
  CtStatus status = CT_OK;
  for (; rest != 0 && status == CT_OK; rest &= rest - 1) {
    status = add_place(c, p, i, (CtMutant)ct_first_lane(rest), err);
  }
  return status;
}

/* Runs the launch as it is and adds the places that it runs. */
static CtStatus find_places(Trial *t, CtErr *err) {
  ct_simt_put_back(&t->before);
  CtStatus status = ct_simt_run_planned(t->engine, t->changed, t->n, NULL, err);
  for (size_t e = 0; e < t->n && status == CT_OK; e++) {
    const CtSimtProgram *p = t->entries[e].program;
    for (uint32_t i = p->body; i < p->n_code && status == CT_OK; i++) {
      status = atomic_load(&t->probes[e].ran[i]) ? add_places(t->c, p, i, err) : CT_OK;
      i += (uint32_t)ct_in_size(&p->code[i]) - 1;
    }
  }
  return status;
}

/* Is nothing left to be learnt of the place? What only changes results may be found in another launch. */
static bool is_known(const CtCheck *c, const CtNeedless *place) {
  return place->is_needed && (place->text != NULL || !c->tries_mutants);
}

/* Does it order launches? By itself, one says nothing of it. */
static bool is_of_others(const CtNeedless *place) {
  return place->what == ct_mutant_name(CT_NO_GRID_WAIT);
}

static CtStatus judge_places(Trial *t, CtErr *err) {
  CtStatus status = CT_OK;
  for (size_t i = 0; i < t->c->n_needless && status == CT_OK; i++) {
    CtNeedless *place = &t->c->needless[i];
    if (is_known(t->c, place) || is_of_others(place)) {
      continue;
    }
    if (take_out(t, place, true)) {
      status = try_it(t, place, err);
    }
    (void)take_out(t, place, false);
  }
  return status;
}

/* Judges the launch, which has run. */
static CtStatus judge(Trial *t, bool is_alone, CtErr *err) {
  CtStatus status = ct_simt_keep(t->c->alloc, t->entries, t->n, &t->after, err);
  if (status != CT_OK) {
    return status;
  }
  status = copy_entries(t, err);
  status = status == CT_OK ? find_places(t, err) : status;
  status = status == CT_OK && is_alone ? judge_places(t, err) : status;
  ct_simt_put_back(&t->after);
  t->c->n_judged += status == CT_OK && is_alone;
  return status;
}

/* Does the launch begin after all before it have ended, and end before what comes after it? Only then it says all
   there is to say. */
static bool is_alone(const CtCheck *c, const CtSimtEntry *entries, size_t n) {
  bool alone = n == 1 || c->tries_mutants;
  for (size_t i = 0; i < n && alone; i++) {
    const CtSimtLaunch *l = entries[i].launch;
    alone = !l->is_dependent && l->known == NULL &&
            !ct_program_has(entries[i].program, CT_SIMT_GRID_LAUNCH);
  }
  return alone;
}

/* --- for users ---------------------------------------------------------------------------------------------- */

static CtStatus run_and_judge(Trial *t, CtErr *err) {
  uint64_t n_before = ct_finding_total(t->c);
  bool alone = is_alone(t->c, t->entries, t->n);
  CtStatus status = ct_simt_keep(t->c->alloc, t->entries, t->n, &t->before, err);
  status = status == CT_OK ? ct_explore(t->c, t->engine, t->entries, t->n, err) : status;
  if (status == CT_OK && ct_finding_total(t->c) == n_before) {
    status = judge(t, alone, err);
  }
  return status;
}

/* Runs the launch as a mutant. */
static CtStatus run_without(Trial *t, CtErr *err) {
  CtStatus status = copy_entries(t, err);
  if (status != CT_OK) {
    return status;
  }
  (void)take_out(t, &t->c->without, true);
  return ct_explore(t->c, t->engine, t->changed, t->n, err);
}

CtStatus ct_needless_run(CtCheck *c, CtSimtEngine *engine, const CtSimtEntry *entries, size_t n,
                         CtErr *err) {
  bool is_mutant = c->without.what != NULL;
  if (!is_mutant && (!c->tries_without || !(c->tries_mutants || is_alone(c, entries, n)))) {
    return ct_explore(c, engine, entries, n, err);
  }
  Trial t = {.c = c,
             .engine = engine,
             .n = n,
             .entries = entries,
             .before = {.alloc = c->alloc},
             .after = {.alloc = c->alloc}};
  ct_arena_init(&t.arena, c->alloc);
  CtStatus status = is_mutant ? run_without(&t, err) : run_and_judge(&t, err);
  ct_simt_drop(&t.before);
  ct_simt_drop(&t.after);
  ct_arena_clear(&t.arena);
  return status;
}

void ct_needless_ask(CtCheck *c, bool tries_mutants, bool tries_each) {
  c->tries_without = true;
  c->tries_mutants = tries_mutants;
  c->tries_each = tries_each;
}

CtStatus ct_needless_without(CtCheck *c, const CtNeedless *place, CtErr *err) {
  bool ok = true;
  c->without = (CtNeedless){.chunk = keep_text(c, place->chunk, &ok),
                            .line = place->line,
                            .at = place->at,
                            .object = keep_text(c, place->object, &ok),
                            .kernel = keep_text(c, place->kernel, &ok)};
  for (int i = 0; i < CT_N_MUTANTS; i++) {
    bool is_it = strcmp(ct_mutant_name((CtMutant)i), place->what) == 0;
    c->without.what = is_it ? ct_mutant_name((CtMutant)i) : c->without.what;
  }
  return ok ? CT_OK : ct_fail_nomem(err);
}

size_t ct_needless_count(const CtCheck *c) { return c->n_needless; }
const CtNeedless *ct_needless(const CtCheck *c, size_t i) { return &c->needless[i]; }
uint64_t ct_needless_judged(const CtCheck *c) { return c->n_judged; }
