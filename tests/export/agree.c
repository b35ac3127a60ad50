/* agree.c: a launch takes the arguments (it_take_args) that there is no message against
   (it_check_args): those of the examples with random changes, for every specialisation.
   EXPORTED is what `cuttle export --name=it` writes of a script with one kernel. */
#include EXPORTED /* "it.c" */

#include <stdlib.h>

enum { ROUNDS = 100000, MAX_ARGS = 16 };

static uint64_t state = 1;

static int below(int n) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (int)((state >> 33) % (uint64_t)n);
}

/* Near the value, or near what the rules and the arithmetic end at. */
static int64_t near_by(int64_t v) {
  static const int64_t ends[] = {0,       1 << 30,       INT32_MAX, (int64_t)1 << 40,
                                 1 << 16, INT64_MAX / 2, INT64_MAX, INT64_MIN};
  int64_t at = below(3) == 0 ? ends[below(8)] : v;
  return (int64_t)(((uint64_t)at << below(2)) + (uint64_t)(below(3) == 0 ? below(5) - 2 : 0));
}

static it_tensor example(const it_special *special, int n) {
  it_tensor t;
  memset(&t, 0, sizeof t);
  t.data = (void *)((uintptr_t)(n + 1) << 40);
  t.dtype = (it_dtype)special->rules[n].dtype;
  t.rank = special->rules[n].rank;
  for (int i = 0; i < t.rank; i++) {
    t.shape[i] = special->texts[n].examples[i];
    t.stride[i] = special->texts[n].examples[t.rank + i];
  }
  return t;
}

static void change(it_tensor *t, const it_tensor *other) {
  int mode = below(t->rank > 0 ? t->rank : 1);
  switch (below(10)) {
    case 0: t->dtype = (it_dtype)below(20); break;
    case 1: t->rank = below(IT_MAX_RANK + 1); break;
    case 2:
      t->data = below(2) == 0 ? NULL : (void *)((uintptr_t)t->data + ((uintptr_t)1 << below(8)));
      break;
    case 3: t->data = (void *)((uintptr_t)other->data + 16 * (uintptr_t)below(300)); break;
    case 4:
    case 5: t->stride[mode] = near_by(t->stride[mode]); break;
    case 6: t->shape[mode] = 0; break;
    default: t->shape[mode] = near_by(t->shape[mode]); break;
  }
}

#ifdef HAS_LISTS
enum { MEMBERS = 3 };
static it_tensor members[MAX_ARGS][MEMBERS];
static it_list lists[MAX_ARGS];

static void set_list(const it_special *special, int n, it_slot *args) {
  for (int i = 0; i < MEMBERS; i++) {
    members[n][i] = example(special, n);
  }
  lists[n].tensors = below(40) == 0 ? NULL : members[n];
  lists[n].n = below(20) == 0 ? below(2) - 1 : 1 + below(MEMBERS);
  args[n].list = &lists[n];
  if (below(2) == 0) {
    change(&members[n][below(MEMBERS)], &members[n][below(MEMBERS)]);
  }
}
#endif

static void set_args(const it_special *special, it_tensor *tensors, it_slot *args) {
  for (int n = 0; n < it_it__kernel.n_args; n++) {
#ifdef HAS_LISTS
    if (special->rules[n].kind == IT_LIST) {
      set_list(special, n, args);
      continue;
    }
#endif
    if (special->rules[n].kind == IT_TENSOR) {
      tensors[n] = example(special, n);
      args[n].tensor = &tensors[n];
    } else {
      args[n].i = special->rules[n].kind == IT_CONSTANT && below(20) > 0 ? special->rules[n].value
                                                                         : below(99);
    }
  }
  for (int i = below(4); i > 0; i--) {
    int n = below(it_it__kernel.n_args), other = below(it_it__kernel.n_args);
    if (special->rules[n].kind == IT_TENSOR && special->rules[other].kind == IT_TENSOR) {
      change(&tensors[n], &tensors[other]);
    }
  }
}

int main(void) {
  it_tensor tensors[MAX_ARGS];
  it_slot args[MAX_ARGS], s[IT_SLOTS];
  it_error error;
  int taken = 0, refused = 0, wrong = 0, n_held;
  for (int i = 0; i < ROUNDS; i++) {
    const it_special *special = &it_it__kernel.specials[below(it_it__kernel.n_specials)];
    set_args(special, tensors, args);
    bool takes = it_take_args(&it_it__kernel, special, args, s);
    it_status status = it_check_args(&it_it__kernel, special, args, s, &n_held, &error);
    taken += takes;
    refused += !takes;
    wrong += takes != (status == IT_OK);
  }
  printf("%d wrong, %s\n", wrong,
         taken > ROUNDS / 10 && refused > ROUNDS / 10 ? "of both" : "too few");
  return wrong != 0;
}
