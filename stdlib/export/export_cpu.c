/* {====== The CPU twin ======
   The same kernels on the CPU engine of libcuttle_core (pkg-config cuttle-core), with the bits that they have in
   Cuttle. Tensors are in the host's memory. */
#include <cuttle/ct.h>
#include <errno.h>

/* A specialisation as bytes that ct_ir_read reads; the program that they were lowered to, made at the first launch. */
typedef struct NAME_twin {
  const NAME_special *special;
  const unsigned char *bytes;
  size_t n_bytes;
} NAME_twin;

typedef struct NAME_made {
  CtIr ir;
  CtSimtProgram *program;
} NAME_made;

static pthread_mutex_t NAME_cpu_lock = PTHREAD_MUTEX_INITIALIZER;
static CtSimtEngine *NAME_engine;
static NAME_made NAME_programs[UPPER_TWINS];

@TWINS@

static void NAME_print(void *ud, const char *text, size_t len) {
  (void)ud;
  (void)fwrite(text, 1, len, stdout);
}

static NAME_status NAME_cpu_fail(const NAME_kernel *k, const CtErr *why, NAME_error *err) {
  if (why->line > 0) {
    return NAME_fail(err, UPPER_CPU_ERROR, "%s: %s:%d: %s", k->name, why->chunk, why->line, why->msg);
  }
  return NAME_fail(err, UPPER_CPU_ERROR, "%s: %s", k->name, why->msg);
}

/* Reads and lowers a twin once. Called with the lock. */
static CtStatus NAME_make(int number, CtErr *err) {
  NAME_made *made = &NAME_programs[number];
  CtStatus status = CT_OK;
  if (NAME_engine == NULL) {
    status = ct_simt_open(ct_alloc_std, 0, NULL, &NAME_engine, err);
  }
  if (status != CT_OK || made->program != NULL) {
    return status;
  }
  status = ct_ir_read(ct_alloc_std, NAME_twins[number].bytes, NAME_twins[number].n_bytes, &made->ir, err);
  if (status != CT_OK) {
    return status;
  }
  status = ct_simt_lower(ct_alloc_std, &made->ir, &made->program, err);
  if (status != CT_OK) {
    made->program = NULL;
    ct_ir_read_clear(&made->ir);
  }
  return status;
}

static int NAME_find_twin(const NAME_special *special) {
  for (int i = 0; i < UPPER_TWINS; i++) {
    if (NAME_twins[i].special == special) {
      return i;
    }
  }
  return -1;
}

/* The elements that a tensor's memory has from its address on, which the engine checks accesses against. */
static int64_t NAME_elements(const NAME_tensor *t, int rank) {
  int64_t last = 0;
  for (int i = 0; i < rank; i++) {
    if (t->shape[i] == 0) {
      return 0;
    }
    last += (t->shape[i] - 1) * t->stride[i];
  }
  return last + 1;
}

static void NAME_fill_cpu(const NAME_kernel *k, const NAME_special *special, const NAME_slot *args,
                          const NAME_slot *s, CtSlotValue *slots, int64_t *n_elems) {
  int n = 0;
  for (int i = 0; i < UPPER_SLOTS; i++) {
    slots[i].i = s[i].i;
  }
  for (int i = 0; i < k->n_args; i++) {
    const NAME_rule *rule = &special->rules[i];
@COUNT_LISTS@    if (rule->kind == UPPER_TENSOR) {
      slots[rule->slot].ptr = args[i].tensor->data;
      n_elems[n++] = NAME_elements(args[i].tensor, rule->rank);
    } else if (rule->kind == UPPER_NUMBER) {
      n_elems[n++] = 0;
    }
  }
}

@LISTS_CPU@static NAME_status NAME_start_cpu(const NAME_kernel *k, const NAME_special *special, const NAME_slot *args,
                                  const NAME_slot *s, NAME_dim3 grid, NAME_error *err) {
  CtSlotValue slots[UPPER_SLOTS];
  int64_t n_elems[UPPER_ARGS];
  CtErr why;
  CtSimtLaunch launch;
  int number = NAME_find_twin(special);
  memset(&launch, 0, sizeof launch);
  memset(n_elems, 0, sizeof n_elems);
  NAME_fill_cpu(k, special, args, s, slots, n_elems);
@MAKE_LISTS@  launch.grid[0] = grid.x;
  launch.grid[1] = grid.y;
  launch.grid[2] = grid.z;
  launch.slots = slots;
  launch.n_elems = n_elems;
  launch.print = NAME_print;
  launch.is_dependent = special->is_dependent;
  launch.is_cooperative = special->is_cooperative;
  (void)pthread_mutex_lock(&NAME_cpu_lock);
  CtStatus status = number < 0 ? CT_EINVAL : NAME_make(number, &why);
  if (number >= 0 && status == CT_OK) {
    status = ct_simt_run(NAME_engine, NAME_programs[number].program, &launch, &why);
  }
  (void)pthread_mutex_unlock(&NAME_cpu_lock);
@FREE_LISTS@  if (number < 0) {
    return NAME_fail(err, UPPER_CPU_ERROR, "%s: this specialisation has no twin", k->name);
  }
  return status == CT_OK ? NAME_succeed(err) : NAME_cpu_fail(k, &why, err);
}

@CAPTURE@static NAME_status NAME_run_cpu(const NAME_kernel *k, const NAME_slot *args, const NAME_dim3 *grid,
                                NAME_error *err) {
  NAME_slot s[UPPER_SLOTS];
  const NAME_special *special = NULL;
  memset(s, 0, sizeof s);
  NAME_status status = NAME_choose(k, args, s, &special, err);
  status = status == UPPER_OK ? NAME_choose_grid(k, special, args, &grid, err) : status;
  if (status != UPPER_OK || grid->x == 0 || grid->y == 0 || grid->z == 0) {
    return status == UPPER_OK ? NAME_succeed(err) : status; /* nothing to do */
  }
  return NAME_start_cpu(k, special, args, s, *grid, err);
}

@STEPS@
