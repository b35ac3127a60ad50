/* A function's steps on the CPU engine: those of the first capability, whose kernels ran when it was exported. */
static NAME_status NAME_run_step_cpu(const NAME_step *step, const NAME_slot *args, char *workspace,
                                     NAME_error *err) {
  NAME_slot out[UPPER_ARGS];
  NAME_tensor views[UPPER_ARGS];
  for (int i = 0; i < step->kernel->n_args; i++) {
    const NAME_value *v = &step->values[i];
    if (v->from == -2) {
      out[i].i = v->value;
      continue;
    }
    const void *base = v->from <= -3 ? NAME_table_data(-3 - v->from)
                                     : v->from == -1 ? (const void *)workspace : args[v->from].tensor->data;
    views[i] = v->view;
    views[i].data = (void *)((uintptr_t)base + (uintptr_t)v->value);
    out[i].tensor = &views[i];
  }
  return NAME_run_cpu(step->kernel, out, &step->grid, err);
}

static NAME_status NAME_run_plan_cpu(const NAME_kernel *k, const NAME_plan *plans, const NAME_slot *args,
                                     void *workspace, NAME_error *err) {
  const NAME_plan *plan = NULL;
  NAME_status status = NAME_find_plan(k, plans, args, workspace, &plan, err);
  if (status != UPPER_OK) {
    return status;
  }
  if (plan->zeros > 0) {
    memset(workspace, 0, plan->zeros);
  }
  int first = plan->n_steps - 1; /* the table has the latest capability first */
  while (first > 0 && !plan->steps[first].is_first) {
    first--;
  }
  for (int i = first; i >= 0 && i < plan->n_steps && status == UPPER_OK; i++) {
    status = NAME_run_step_cpu(&plan->steps[i], args, (char *)workspace, err);
  }
  return status;
}
