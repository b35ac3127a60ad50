/* {------ Lists of tensors on the CPU engine ------ */

static void NAME_end_lists(const NAME_kernel *k, const NAME_special *special, const CtSlotValue *slots,
                           CtSimtList *lists) {
  for (int i = 0; i < k->n_args; i++) {
    if (special->rules[i].kind == UPPER_LIST) {
      free(slots[special->rules[i].slot].ptr);
    }
    free((void *)(uintptr_t)lists[i].members);
  }
}

/* Where the members lie, to be freed; NULL: there is no memory for it. */
static CtSimtSpan *NAME_make_spans(const NAME_rule *rule, const NAME_list *list) {
  CtSimtSpan *spans = (CtSimtSpan *)malloc((size_t)list->n * sizeof *spans);
  for (int i = 0; spans != NULL && i < list->n; i++) {
    const NAME_tensor *t = &list->tensors[i];
    spans[i].begin = (char *)t->data;
    spans[i].end = (char *)((uintptr_t)t->data + (uintptr_t)(NAME_elements(t, rule->rank) * rule->bytes));
  }
  return spans;
}

/* Makes the tables, which the slots lead to then, and the lists of the parameters. false: there is no memory. */
static bool NAME_begin_lists(const NAME_kernel *k, const NAME_special *special, const NAME_slot *args,
                             CtSlotValue *slots, CtSimtList *lists) {
  bool ok = true;
  int n = 0;
  memset(lists, 0, UPPER_ARGS * sizeof *lists);
  for (int i = 0; i < k->n_args; i++) {
    const NAME_rule *rule = &special->rules[i];
    if (rule->kind == UPPER_LIST) {
      CtSimtSpan *spans = NAME_make_spans(rule, args[i].list);
      slots[rule->slot].ptr = NAME_make_table(special, rule, args[i].list);
      ok = ok && spans != NULL && slots[rule->slot].ptr != NULL;
      lists[n].members = spans;
      lists[n].n = args[i].list->n;
    }
    n += rule->kind != UPPER_CONSTANT;
  }
  return ok;
}

