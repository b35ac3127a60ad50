/* {====== Checking arguments ======
   NAME_take_args does it at each launch: it only says whether all holds. If no specialisation takes the arguments,
   NAME_refuse_args checks them again, one thing after the other, and says what does not hold. */

static const char *const NAME_dtype_names[] = {@DTYPE_NAMES@};

typedef struct NAME_span {
  uint64_t begin, end;
} NAME_span;

/* Below 0 unless low <= v <= high and v & mask is 0: one of the differences is then, whether it wraps or not. */
static inline int64_t NAME_test(const NAME_leaf *leaf, int64_t v) {
  uint64_t u = (uint64_t)v;
  return (int64_t)((u - (uint64_t)leaf->low) | ((uint64_t)leaf->high - u) | (0 - (u & leaf->mask)));
}

/* Adds `most` * stride to *last, which is 0 to span. Below 0: it is no longer. */
static inline int64_t NAME_reach(int64_t most, int64_t stride, int64_t span, uint64_t *last) {
  int64_t step;
  bool is_far = __builtin_mul_overflow(most, stride, &step);
  *last += (uint64_t)step;
  return (int64_t)(*last | ((uint64_t)span - *last) | (0 - (uint64_t)is_far));
}

/* Multiplies *size by a mode's extent. Below 0: that is more than `most`. */
static inline int64_t NAME_count(int64_t extent, int64_t most, int64_t *size) {
  bool is_far = __builtin_mul_overflow(*size, extent, size);
  return (int64_t)(((uint64_t)most - (uint64_t)*size) | (0 - (uint64_t)is_far));
}

/* `last` is the index of the last element, if there are any. */
static inline NAME_span NAME_span_of(const NAME_rule *rule, const NAME_tensor *t, bool is_empty,
                                     uint64_t last) {
  NAME_span span;
  span.begin = (uint64_t)(uintptr_t)t->data;
  span.end = span.begin + (is_empty ? 0 : (last + 1) * rule->bytes);
  return span;
}

static inline bool NAME_is_aligned(const NAME_rule *rule, const NAME_span *span) {
  return (span->begin & (rule->align - 1)) == 0;
}

/* It has elements that the kernel uses, and no address. */
static inline bool NAME_is_nowhere(const NAME_span *span) {
  return (span->begin == 0) & (span->end != 0);
}

static inline bool NAME_meet(const NAME_span *a, const NAME_span *b) {
  return (a->begin < b->end) & (b->begin < a->end);
}

/* {------ At each launch: few lines of the caches, few branches ------ */

/* The first slot is the address's, and gets before what needs none. */
static inline bool NAME_take_tensor(const NAME_rule *rule, const NAME_mode *modes,
                                    const NAME_tensor *t, NAME_slot *s, NAME_span *out) {
  const int rank = rule->rank;
  int64_t test = 0, strides = 0, far = 0, least = 0;
  int64_t size = 1;
  uint64_t last = 0;
  if (t->dtype != rule->dtype || t->rank != rank) {
    return false;
  }
  for (int i = 0; i < rank; i++) {
    const NAME_mode *m = &modes[i];
    int64_t extent = t->shape[i], stride = t->stride[i], most = (int64_t)((uint64_t)extent - 1);
    s[m->extent.slot].i = extent;
    s[m->stride.slot].i = stride;
    test |= NAME_test(&m->extent, extent);
    strides |= NAME_test(&m->stride, stride);
    far |= NAME_reach(most, stride, rule->value, &last) | NAME_count(extent, rule->most, &size);
    least |= most; /* below 0: it is empty */
  }
  *out = NAME_span_of(rule, t, least < 0, last);
  s->u = out->begin;
  if (strides < 0 && least < 0) { /* libraries give what is empty any strides */
    strides = 0;
    for (int i = 0; i < rank; i++) {
      s[modes[i].stride.slot].i = modes[i].stride.low;
    }
  }
  return (test | strides) >= 0 && (far >= 0 || least < 0) && NAME_is_aligned(rule, out) &&
         !NAME_is_nowhere(out);
}

/* What the kernel writes shares no memory with anything else that it gets. */
static bool NAME_is_apart(const NAME_kernel *k, const NAME_special *special,
                          const NAME_span *spans) {
  const int n = k->n_args;
  bool meets = false;
  for (int i = 0; i < special->n_written; i++) {
    const int own = special->written[i];
    for (int j = 0; j < n; j++) {
      meets |= (j != own) & NAME_meet(&spans[own], &spans[j]);
    }
  }
  return !meets;
}

@LISTS@/* Does the specialisation take the arguments? Fills the slots. */
static bool NAME_take_args(const NAME_kernel *k, const NAME_special *special, const NAME_slot *args,
                           NAME_slot *s) {
  NAME_span spans[UPPER_ARGS];
  for (int i = 0; i < k->n_args; i++) {
    const NAME_rule *rule = &special->rules[i];
    spans[i].begin = spans[i].end = 0;
    if (rule->kind == UPPER_TENSOR) {
      if (!NAME_take_tensor(rule, &special->modes[rule->modes], args[i].tensor, &s[rule->slot],
                            &spans[i])) {
        return false;
      }
    } else if (rule->kind == UPPER_NUMBER) {
      s[rule->slot] = args[i];
@TAKE_LISTS@    } else if (args[i].i != rule->value) {
      return false;
    }
  }
  return (special->may_overlap || NAME_is_apart(k, special, spans)) &&
         (special->require == NULL || special->require(s, NULL) == UPPER_OK);
}

/* {------ Why they are refused ------ */

/* Leaf i of argument n: an extent, or from rank on a stride. */
static const NAME_leaf *NAME_leaf_of(const NAME_special *special, int n, int i) {
  const NAME_rule *rule = &special->rules[n];
  const NAME_mode *modes = &special->modes[rule->modes];
  return i < rule->rank ? &modes[i].extent : &modes[i - rule->rank].stride;
}

static NAME_status NAME_leaf_fail(const NAME_special *special, int n, int i, int64_t v,
                                  NAME_error *err) {
  const NAME_leaf *leaf = NAME_leaf_of(special, n, i);
  const NAME_text *text = &special->texts[n];
  bool is_extent = i < special->rules[n].rank;
  int mode = is_extent ? i : i - special->rules[n].rank;
  const char *what = is_extent ? "extent" : "stride";
  long long value = v, low = leaf->low, high = leaf->high;
  if (low == high) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: the %s of mode %d is %lld; this kernel was exported for %lld",
                     text->title, what, mode, value, low);
  }
  if ((v & leaf->mask) != 0) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: the %s of mode %d is %lld; a multiple of %lld was expected, as in the "
                     "example (%lld)",
                     text->title, what, mode, value, (long long)leaf->mask + 1,
                     (long long)text->examples[i]);
  }
  if (high == INT64_MAX) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: the %s of mode %d is %lld; %lld or more was expected",
                     text->title, what, mode, value, low);
  }
  return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: the %s of mode %d is %lld; %lld to %lld was expected",
                   text->title, what, mode, value, low, high);
}

static NAME_status NAME_check_span(const NAME_rule *rule, const char *title, const NAME_tensor *t,
                                   NAME_span *out, NAME_error *err) {
  uint64_t last = 0;
  int64_t size = 1;
  bool is_empty = false, is_far = false, is_many = false;
  for (int i = 0; i < rule->rank; i++) {
    is_empty = is_empty || t->shape[i] == 0;
    is_many = is_many || NAME_count(t->shape[i], rule->most, &size) < 0;
    is_far = is_far || NAME_reach(t->shape[i] - 1, t->stride[i], rule->value, &last) < 0;
  }
  *out = NAME_span_of(rule, t, is_empty, last);
  if (is_far && !is_empty) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: its elements span more than the %lld that this kernel's offsets reach; "
                     "export it with an example of that size",
                     title, (long long)rule->value);
  }
  if (is_many && !is_empty) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: it has more elements than the %lld that this kernel can count; export it "
                     "with an example of that size",
                     title, (long long)rule->most);
  }
  if (NAME_is_nowhere(out)) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: its address is NULL", title);
  }
  if (!NAME_is_aligned(rule, out)) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: its address %p is not a multiple of %u bytes, on which the kernel relies",
                     title, t->data, rule->align);
  }
  return UPPER_OK;
}

/* Argument n. Counts what holds in *n_held. */
static NAME_status NAME_check_tensor(const NAME_special *special, int n, const NAME_tensor *t,
                                     NAME_span *out, int *n_held, NAME_error *err) {
  const NAME_rule *rule = &special->rules[n];
  const char *title = special->texts[n].title;
  if (t->dtype != rule->dtype) {
    bool is_known = (unsigned)t->dtype < sizeof NAME_dtype_names / sizeof NAME_dtype_names[0];
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: its elements are %s; %s was expected", title,
                     is_known ? NAME_dtype_names[t->dtype] : "of no known type",
                     NAME_dtype_names[rule->dtype]);
  }
  ++*n_held;
  if (t->rank != rule->rank) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: its rank is %d; %d was expected", title, t->rank,
                     rule->rank);
  }
  bool is_empty = false;
  for (int i = 0; i < rule->rank; i++) {
    is_empty = is_empty || t->shape[i] == 0;
  }
  const int n_leaves = is_empty ? rule->rank : 2 * rule->rank;
  for (int i = 0; i < n_leaves; i++, ++*n_held) {
    int64_t v = i < rule->rank ? t->shape[i] : t->stride[i - rule->rank];
    if (NAME_test(NAME_leaf_of(special, n, i), v) < 0) {
      return NAME_leaf_fail(special, n, i, v, err);
    }
  }
  return NAME_check_span(rule, title, t, out, err);
}

static bool NAME_is_written(const NAME_special *special, int n) {
  bool found = false;
  for (int i = 0; i < special->n_written; i++) {
    found = found || special->written[i] == n;
  }
  return found;
}

static NAME_status NAME_check_apart(const NAME_kernel *k, const NAME_special *special,
                                    const NAME_span *spans, NAME_error *err) {
  for (int i = 1; i < k->n_args; i++) {
    for (int j = 0; j < i; j++) {
      bool is_written = NAME_is_written(special, i) || NAME_is_written(special, j);
      if (is_written && NAME_meet(&spans[i], &spans[j])) {
        return NAME_fail(err, UPPER_BAD_ARGUMENT,
                         "%s: it shares memory with %s, and the kernel writes one of them; it was exported "
                         "for tensors that do not",
                         special->texts[i].title, strchr(special->texts[j].title, ' ') + 1);
      }
    }
  }
  return UPPER_OK;
}

/* As NAME_take_args, with a message. Counts what holds in *n_held. */
static NAME_status NAME_check_args(const NAME_kernel *k, const NAME_special *special,
                                   const NAME_slot *args, NAME_slot *s, int *n_held,
                                   NAME_error *err) {
  NAME_span spans[UPPER_ARGS];
  NAME_status status = UPPER_OK;
  *n_held = 0;
  (void)NAME_take_args(k, special, args, s); /* `require` reads the slots */
  for (int i = 0; i < k->n_args && status == UPPER_OK; i++, *n_held += 2) {
    const NAME_rule *rule = &special->rules[i];
    spans[i].begin = spans[i].end = 0;
    if (rule->kind == UPPER_TENSOR) {
      status = NAME_check_tensor(special, i, args[i].tensor, &spans[i], n_held, err);
@CHECK_LISTS@    } else if (rule->kind == UPPER_CONSTANT && args[i].i != rule->value) {
      status = NAME_fail(err, UPPER_BAD_ARGUMENT,
                         "%s: it is a constant of the kernel, and not that of the example",
                         special->texts[i].title);
    }
  }
  if (status == UPPER_OK && !special->may_overlap) {
    status = NAME_check_apart(k, special, spans, err);
  }
  return status == UPPER_OK && special->require != NULL ? special->require(s, err) : status;
}

/* The message of the specialisation of which most holds. */
__attribute__((cold)) static NAME_status NAME_refuse_args(const NAME_kernel *k,
                                                          const NAME_slot *args, NAME_slot *s,
                                                          NAME_error *err) {
  int n_held, n_most = 0, best = 0;
  for (int i = 0; i < k->n_specials; i++) {
    (void)NAME_check_args(k, &k->specials[i], args, s, &n_held, NULL);
    best = n_held >= n_most ? i : best;
    n_most = n_held >= n_most ? n_held : n_most;
  }
  return NAME_check_args(k, &k->specials[best], args, s, &n_held, err);
}

/* The first specialisation that the arguments fit. */
static NAME_status NAME_choose(const NAME_kernel *k, const NAME_slot *args, NAME_slot *s,
                               const NAME_special **out, NAME_error *err) {
  for (int i = 0; i < k->n_specials; i++) {
    *out = &k->specials[i];
    if (NAME_take_args(k, *out, args, s)) {
      return UPPER_OK;
    }
  }
  return NAME_refuse_args(k, args, s, err);
}
