/* laws.c: laws [CHECKS [SEED [NAME]]]: holds the layout algebra against its laws on random layouts
   until CHECKS cases have held, the same number for each law, or for those whose name has NAME in
   it. Speaks TAP: one test for each law, with how many cases held and how many were refused. A law
   that breaks is shown with the smallest case found, as one types it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "law.h"
#include "shrink.h"
#include "tests/c/tap.h"

static const Law *const groups[] = {laws_of_one,   laws_of_two,    laws_of_tiles,
                                    laws_of_parts, laws_of_coords, laws_of_swizzles};

/* Fewer cases than this in a hundred that hold: the law is not put to the test. */
enum { LEAST_SHARE = 5 };

typedef struct Count {
  int64_t tried, of[BROKEN + 1];
} Count;

/* --- a case as text ------------------------------------------------------------------------------- */

static void print_composed(const CtComposed *c, CtText *t) {
  const CtCx cx = {NULL, NULL};
  ct_text_puts(t, "L\"");
  if (c->layout.shape == NULL) {
    ct_swizzle_print(c->swizzle, t);
  } else {
    ct_composed_print(&cx, c, t);
  }
}

static void print_arg(const Case *c, char name, CtText *t) {
  const CtCx cx = {NULL, NULL};
  CtLayout l = name == 'b' ? c->b : c->a;
  switch (name) {
    case 'a':
    case 'b':
      ct_text_puts(t, "L\"");
      ct_layout_print(&cx, l, t);
      break;
    case 'x': print_composed(&c->x, t); break;
    case 'y': print_composed(&c->y, t); break;
    case 't':
      ct_text_putc(t, '"');
      ct_tiler_print(&cx, c->t, t);
      break;
    case 's':
    case 'c':
      if ((name == 's' ? c->s : c->c) == NULL) {
        ct_text_puts(t, "nil");
        return;
      }
      ct_text_putc(t, '"');
      ct_tuple_print(&cx, name == 's' ? c->s : c->c, t);
      break;
    default: ct_text_printf(t, "%" PRId64, name == 'm' ? c->m : c->n); return;
  }
  ct_text_putc(t, '"');
}

static void print_case(const Law *law, const Case *c) {
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  for (const char *p = law->call; *p != '\0'; p++) {
    if (*p == '$') {
      print_arg(c, *++p, &t);
    } else {
      ct_text_putc(&t, *p);
    }
  }
  tap_diag("%s", ct_text_str(&t));
  ct_text_clear(&t);
}

/* --- one law -------------------------------------------------------------------------------------- */

static uint64_t name_hash(const char *s) {
  uint64_t h = 14695981039346656037u;
  for (; *s != '\0'; s++) {
    h = (h ^ (unsigned char)*s) * 1099511628211u;
  }
  return h;
}

static void show_broken(const Law *law, Run *run, CtArena *inputs, Case *c, uint64_t seed,
                        int64_t number) {
  tap_diag("%s, SEED=%" PRIu64 ", case %" PRId64 ": %s", law->name, seed, number, run->why);
  print_case(law, c);
  shrink_case(law, run, inputs, c);
  tap_diag("smaller: %s", run->why);
  print_case(law, c);
}

/* The operation is performed in any case. */
static Verdict judge(const Law *law, Run *run, const Case *c) {
  Verdict v = law->check(run, c);
  return law->with_empty || !is_empty_case(c) ? v : VACUOUS;
}

/* Cases until `wanted` have held; stops at the first that breaks the law. */
static Count hold(const Law *law, int64_t wanted, uint64_t seed) {
  CtArena inputs, results;
  Run run = {.cx = {&results, NULL}};
  Count n = {0};
  Rng r = {seed ^ name_hash(law->name)};
  ct_arena_init(&inputs, ct_alloc_std);
  ct_arena_init(&results, ct_alloc_std);
  while (n.of[HOLDS] < wanted && n.of[BROKEN] == 0 &&
         n.tried < wanted * (100 / LEAST_SHARE) + 1000) {
    Case c = {.n = 0};
    ct_arena_reset(&inputs);
    ct_arena_reset(&results);
    run.err.msg[0] = '\0';
    law->make(&r, &inputs, &c);
    Verdict v = judge(law, &run, &c);
    n.of[v]++;
    n.tried++;
    if (v == BROKEN) {
      show_broken(law, &run, &inputs, &c, seed, n.tried);
    }
  }
  ct_arena_clear(&inputs);
  ct_arena_clear(&results);
  return n;
}

static int64_t test_law(const Law *law, int64_t wanted, uint64_t seed) {
  Count n = hold(law, wanted, seed);
  bool tested = n.of[HOLDS] * 100 >= n.tried * LEAST_SHARE && n.of[HOLDS] > 0;
  OK(n.of[BROKEN] == 0 && tested,
     "%s: %" PRId64 " hold, %" PRId64 " broken; %" PRId64 " refused, %" PRId64
     " of them avoidably; %" PRId64 " vacuous",
     law->name, n.of[HOLDS], n.of[BROKEN], n.of[REFUSED] + n.of[AVOIDABLE], n.of[AVOIDABLE],
     n.of[VACUOUS]);
  return n.of[HOLDS];
}

/* --- all laws ------------------------------------------------------------------------------------- */

static bool is_chosen(const Law *law, const char *name) { return strstr(law->name, name) != NULL; }

static int count_chosen(const char *name) {
  int n = 0;
  for (size_t g = 0; g < CT_ARRAY_LEN(groups); g++) {
    for (const Law *law = groups[g]; law->name != NULL; law++) {
      n += is_chosen(law, name);
    }
  }
  return n;
}

int main(int argc, char **argv) {
  int64_t checks = argc > 1 ? strtoll(argv[1], NULL, 10) : 500000, held = 0;
  uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
  const char *name = argc > 3 ? argv[3] : "";
  int n = count_chosen(name);
  if (checks < 1 || n == 0) {
    fprintf(stderr, "usage: laws [CHECKS [SEED [NAME]]]; NAME is part of a law's name\n");
    return 2;
  }
  for (size_t g = 0; g < CT_ARRAY_LEN(groups); g++) {
    for (const Law *law = groups[g]; law->name != NULL; law++) {
      held += is_chosen(law, name) ? test_law(law, (checks + n - 1) / n, seed) : 0;
    }
  }
  tap_diag("%" PRId64 " checks of %d laws held, SEED=%" PRIu64, held, n, seed);
  return done_testing();
}
