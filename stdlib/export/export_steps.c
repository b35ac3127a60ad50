/* {====== Functions of several launches ====== */

/* What a launch gets: a view of an argument, of the workspace or of a table; or a number. */
typedef struct NAME_value {
  int from;        /* the argument; -1: the workspace; -2: it is a number; -3 - n: table n */
  int64_t value;   /* bytes from there; or the number's bits */
  NAME_tensor view; /* its data is not read */
} NAME_value;

typedef struct NAME_step {
  bool is_first; /* of those for one kind of GPU */
  const NAME_kernel *kernel;
  const NAME_special *special;
  NAME_dim3 grid;
  const NAME_value *values;
} NAME_step;

/* What a specialisation of a function launches: for one kind of GPU, then for the next. */
typedef struct NAME_plan {
  const NAME_step *steps;
  int n_steps;
  size_t workspace; /* bytes */
  size_t zeros;     /* how many of them are 0 when the first step begins */
} NAME_plan;

@TABLES@
/* The address that a view begins at. */
static NAME_status NAME_base(const NAME_kernel *k, const NAME_value *v, const NAME_slot *args,
                             void *workspace, uint64_t *at, NAME_error *err) {
  NAME_status status = UPPER_OK;
  if (v->from <= -3) {
    status = NAME_table_at(k, -3 - v->from, at, err);
  } else {
    *at = (uint64_t)(uintptr_t)(v->from == -1 ? workspace : args[v->from].tensor->data);
  }
  *at += (uint64_t)v->value;
  return status;
}

static NAME_status NAME_run_step(const NAME_step *step, const NAME_slot *args, void *workspace,
                                 void *stream, NAME_error *err) {
  NAME_slot out[UPPER_ARGS];
  NAME_tensor views[UPPER_ARGS];
  NAME_status status = UPPER_OK;
  for (int i = 0; i < step->kernel->n_args && status == UPPER_OK; i++) {
    const NAME_value *v = &step->values[i];
    uint64_t at = 0;
    if (v->from == -2) {
      out[i].i = v->value;
      continue;
    }
    status = NAME_base(step->kernel, v, args, workspace, &at, err);
    views[i] = v->view;
    views[i].data = (void *)(uintptr_t)at;
    out[i].tensor = &views[i];
  }
  return status != UPPER_OK ? status : NAME_run(step->kernel, out, &step->grid, workspace, stream, err);
}

/* The first step for the current context's device. */
static NAME_status NAME_first_step(const NAME_kernel *k, const NAME_plan *plan, int *first,
                                   NAME_error *err) {
  const NAME_code *code = NULL;
  void *context = NULL;
  NAME_status status = NAME_enter(k->name, &context, err);
  if (status != UPPER_OK) {
    return status;
  }
  for (*first = 0; *first < plan->n_steps; ++*first) {
    const NAME_step *step = &plan->steps[*first];
    if (step->is_first && NAME_code_for(step->kernel, step->special, &code, err) == UPPER_OK) {
      return UPPER_OK;
    }
  }
  return plan->n_steps == 0 ? NAME_succeed(err) : UPPER_NO_CODE; /* err has the last one's text */
}

/* The plan of the example that the arguments have the extents and strides of. */
static NAME_status NAME_find_plan(const NAME_kernel *k, const NAME_plan *plans, const NAME_slot *args,
                                  const void *workspace, const NAME_plan **out, NAME_error *err) {
  NAME_slot s[UPPER_SLOTS];
  const NAME_special *special = NULL;
  NAME_status status = NAME_choose(k, args, s, &special, err);
  if (status != UPPER_OK) {
    return status;
  }
  *out = &plans[special - k->specials];
  if ((*out)->workspace > 0 && workspace == NULL) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: workspace is NULL; %zu bytes are needed", k->name,
                     (*out)->workspace);
  }
  return UPPER_OK;
}

/* Its steps for this GPU, in order. */
static NAME_status NAME_run_plan(const NAME_kernel *k, const NAME_plan *plans, const NAME_slot *args,
                                 void *workspace, void *stream, NAME_error *err) {
  const NAME_plan *plan = NULL;
  int i = 0;
  NAME_status status = NAME_find_plan(k, plans, args, workspace, &plan, err);
  status = status == UPPER_OK ? NAME_first_step(k, plan, &i, err) : status;
  if (status == UPPER_OK && plan->zeros > 0) {
    int r = NAME_cu.fill((uint64_t)(uintptr_t)workspace, 0, plan->zeros, stream);
    status = r == 0 ? UPPER_OK : NAME_driver_fail(err, r, k->name, "cuMemsetD8Async");
  }
  for (bool goes_on = status == UPPER_OK && i < plan->n_steps; goes_on;) {
    status = NAME_run_step(&plan->steps[i++], args, workspace, stream, err);
    goes_on = status == UPPER_OK && i < plan->n_steps && !plan->steps[i].is_first;
  }
  return status;
}

