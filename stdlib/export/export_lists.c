/* {------ Lists of tensors ------
   A row of a list's table has a tensor's address, then the extents and the strides that are no constants of the
   kernel. So it is filled as the slots of a tensor are. */

static NAME_status NAME_check_tensor(const NAME_special *special, int n, const NAME_tensor *t,
                                     NAME_span *out, int *n_held, NAME_error *err);

static int NAME_columns(const NAME_special *special, const NAME_rule *rule) {
  const NAME_mode *modes = &special->modes[rule->modes];
  int n = 1;
  for (int i = 0; i < rule->rank; i++) {
    n += (modes[i].extent.slot != 0) + (modes[i].stride.slot != 0);
  }
  return n;
}

/* The kernel's index into the table has 32 bits. */
static bool NAME_has_size(const NAME_special *special, const NAME_rule *rule,
                          const NAME_list *list) {
  return list->n > 0 && list->n <= INT32_MAX / NAME_columns(special, rule) && list->tensors != NULL;
}

static bool NAME_take_list(const NAME_special *special, const NAME_rule *rule,
                           const NAME_list *list, NAME_slot *s) {
  NAME_slot row[UPPER_COLUMNS];
  NAME_span span;
  bool takes = NAME_has_size(special, rule, list);
  for (int i = 0; takes && i < list->n; i++) {
    takes = NAME_take_tensor(rule, &special->modes[rule->modes], &list->tensors[i], row, &span);
  }
  s[0].u = (uint64_t)(uintptr_t)list->table;
  s[1].i = list->n;
  return takes;
}

static NAME_status NAME_check_list(const NAME_special *special, int n, const NAME_list *list,
                                   int *n_held, NAME_error *err) {
  const NAME_rule *rule = &special->rules[n];
  NAME_span span;
  if (!NAME_has_size(special, rule, list)) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: the list has %d tensors%s; 1 to %d were expected", special->texts[n].title,
                     list->n, list->tensors == NULL ? " at NULL" : "",
                     INT32_MAX / NAME_columns(special, rule));
  }
  for (int i = 0; i < list->n; i++) {
    NAME_status status = NAME_check_tensor(special, n, &list->tensors[i], &span, n_held, err);
    if (status != UPPER_OK) {
      if (err != NULL) {
        size_t len = strlen(err->text);
        snprintf(err->text + len, sizeof err->text - len, "; it is tensors[%d] of the list", i);
      }
      return status;
    }
  }
  return UPPER_OK;
}

/* The list's table, to be freed; NULL: there is no memory for it. */
static NAME_slot *NAME_make_table(const NAME_special *special, const NAME_rule *rule,
                                  const NAME_list *list) {
  const size_t n_columns = (size_t)NAME_columns(special, rule);
  NAME_slot row[UPPER_COLUMNS];
  NAME_span span;
  NAME_slot *rows = (NAME_slot *)malloc((size_t)list->n * n_columns * sizeof *rows);
  for (int i = 0; rows != NULL && i < list->n; i++) {
    (void)NAME_take_tensor(rule, &special->modes[rule->modes], &list->tensors[i], row, &span);
    memcpy(rows + (size_t)i * n_columns, row, n_columns * sizeof *rows);
  }
  return rows;
}

/* Copies the table to the GPU after what the stream does already, and waits until it is there: whether the driver has
   read the host's memory before depends on the machine. */
static NAME_status NAME_copy_rows(const NAME_special *special, int n, const NAME_list *list,
                                  void *stream, NAME_error *err) {
  const char *title = special->texts[n].title;
  const NAME_rule *rule = &special->rules[n];
  size_t bytes = (size_t)list->n * (size_t)NAME_columns(special, rule) * sizeof(NAME_slot);
  NAME_slot *rows = NAME_make_table(special, rule, list);
  if (rows == NULL) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: there is no memory for a table of %zu bytes", title,
                     bytes);
  }
  const char *call = "cuMemcpyHtoDAsync";
  int r = NAME_cu.copy((uint64_t)(uintptr_t)list->table, rows, bytes, stream);
  if (r == 0) {
    call = "cuStreamSynchronize";
    r = NAME_cu.wait(stream);
  }
  free(rows);
  return r == 0 ? UPPER_OK : NAME_driver_fail(err, r, title, call);
}

static NAME_status NAME_put_list(const NAME_special *special, int n, const NAME_list *list,
                                 void *stream, NAME_error *err) {
  const char *title = special->texts[n].title;
  int capturing = 0;
  if (list->table == NULL || (uintptr_t)list->table % sizeof(NAME_slot) != 0) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: its table is at %p; memory of the GPU, aligned to 8 bytes, was expected",
                     title, list->table);
  }
  if (list->keeps_table) {
    return UPPER_OK;
  }
  int r = NAME_cu.is_capturing(stream, &capturing);
  if (r != 0) {
    return NAME_driver_fail(err, r, title, "cuStreamIsCapturing");
  }
  if (capturing != 0) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: the list's table cannot be copied while the stream is captured; launch once "
                     "before, then set keeps_table",
                     title);
  }
  return NAME_copy_rows(special, n, list, stream, err);
}

static NAME_status NAME_put_lists(const NAME_kernel *k, const NAME_special *special,
                                  const NAME_slot *args, void *stream, NAME_error *err) {
  NAME_status status = UPPER_OK;
  for (int i = 0; i < k->n_args && status == UPPER_OK; i++) {
    if (special->rules[i].kind == UPPER_LIST) {
      status = NAME_put_list(special, i, args[i].list, stream, err);
    }
  }
  return status;
}

