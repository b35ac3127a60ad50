/* capture.c: the bytes of a launch: a header, a record by rows (ir_file_rows.h), the IR, the data. */
#include "capture.h"

#include <stdatomic.h>
#include <string.h>

#include "capture_slots.h"
#include "runtime/ir/ir_file_rows.h"
#include "runtime/layout/walk.h"

#define MAGIC "CUTTLECK"
enum { HEADER = 40, SUM = 8, MOST_BITS = 40 /* of the bytes of a span */ };

static const CtField tensor_rows[] = {
    CT_ROW(CtCaptureTensor, dtype, UINT, DTYPES),   CT_ROW(CtCaptureTensor, span, UINT, WORDS),
    CT_ROW(CtCaptureTensor, at, UINT, NONE),        CT_ROW(CtCaptureTensor, shape, TUPLE, VALUES),
    CT_ROW(CtCaptureTensor, stride, TUPLE, VALUES), CT_ROW(CtCaptureTensor, is_fixed, BOOL, NONE),
    CT_ROW(CtCaptureTensor, fixed, UINT, NONE)};
static const CtShape shape_tensor = CT_SHAPE(tensor, CtCaptureTensor, tensor_rows);

static const CtField arg_rows[] = {
    CT_ROW(CtCaptureArg, kind, UINT, THREE),   CT_ROW(CtCaptureArg, name, TEXT, NONE),
    CT_ROW(CtCaptureArg, dtype, UINT, DTYPES), CT_ROW(CtCaptureArg, number, INT, NONE),
    CT_ROW(CtCaptureArg, n, UINT, WORDS),      CT_ARRAY(CtCaptureArg, tensors, n, shape_tensor)};
static const CtShape shape_arg = CT_SHAPE(argument, CtCaptureArg, arg_rows);

static const CtField span_rows[] = {CT_ROW(CtCaptureSpan, bytes, UINT, NONE),
                                    CT_ROW(CtCaptureSpan, lead, UINT, NONE),
                                    CT_ROW(CtCaptureSpan, has_data, BOOL, NONE)};
static const CtShape shape_span = CT_SHAPE(span, CtCaptureSpan, span_rows);

static const CtField text_rows[] = {CT_ROW(CtCaptureText, chunk, TEXT, NONE),
                                    CT_ROW(CtCaptureText, text, TEXT, NONE)};
static const CtShape shape_text = CT_SHAPE(script, CtCaptureText, text_rows);

static const CtField launch_rows[] = {CT_ROW(CtCapture, kernel, TEXT, NONE),
                                      CT_ROW(CtCapture, chunk, TEXT, NONE),
                                      CT_ROW(CtCapture, line, INT, NONE),
                                      CT_ROW(CtCapture, device, TEXT, NONE),
                                      CT_ROW(CtCapture, why, TEXT, NONE),
                                      CT_EACH(CtCapture, grid, UINT, NONE),
                                      CT_EACH(CtCapture, block, UINT, NONE),
                                      CT_EACH(CtCapture, cluster, UINT, NONE),
                                      CT_ROW(CtCapture, shared_bytes, UINT, NONE),
                                      CT_ROW(CtCapture, pdl, BOOL, NONE),
                                      CT_ROW(CtCapture, cooperative, BOOL, NONE),
                                      CT_ROW(CtCapture, deterministic, BOOL, NONE),
                                      CT_ROW(CtCapture, prints_as_run, BOOL, NONE),
                                      CT_ROW(CtCapture, static_shapes, BOOL, NONE),
                                      CT_ROW(CtCapture, contract, BOOL, NONE),
                                      CT_ROW(CtCapture, min_blocks, INT, NONE),
                                      CT_ROW(CtCapture, n_options, UINT, WORDS),
                                      CT_ROW(CtCapture, n_args, UINT, WORDS),
                                      CT_ROW(CtCapture, n_spans, UINT, WORDS),
                                      CT_ROW(CtCapture, n_texts, UINT, WORDS),
                                      CT_ARRAY(CtCapture, options, n_options, ct_shape_string),
                                      CT_ARRAY(CtCapture, args, n_args, shape_arg),
                                      CT_ARRAY(CtCapture, spans, n_spans, shape_span),
                                      CT_ARRAY(CtCapture, texts, n_texts, shape_text)};
static const CtShape shape_launch = CT_SHAPE(launch, CtCapture, launch_rows);

static uint64_t make_fingerprint(void) {
  static const CtShape *const shapes[] = {&shape_tensor, &shape_arg, &shape_span, &shape_text,
                                          &shape_launch};
  uint64_t h = CT_CAPTURE_VERSION;
  for (size_t i = 0; i < CT_ARRAY_LEN(shapes); i++) {
    h = ct_rows_fingerprint(h, shapes[i]);
  }
  return h;
}

static uint64_t fingerprint(void) {
  static _Atomic uint64_t known;
  return ct_fingerprint_once(&known, make_fingerprint);
}

/* --- writing ------------------------------------------------------------------------------------ */

static void put_fixed(CtText *out, uint64_t v, size_t bytes) {
  for (size_t i = 0; i < bytes; i++) {
    ct_text_putc(out, (char)(v >> (8 * i)));
  }
}

CtStatus ct_capture_write(const CtCapture *c, CtText *out, CtErr *err) {
  CtText record;
  ct_text_init(&record, out->alloc);
  CtStatus status = ct_rows_write(&shape_launch, c, &record, err);
  if (status == CT_OK) {
    ct_text_puts(out, MAGIC);
    put_fixed(out, CT_CAPTURE_VERSION, 8);
    put_fixed(out, fingerprint(), 8);
    put_fixed(out, record.len, 8);
    put_fixed(out, c->ir_bytes, 8);
    ct_text_add(out, record.s, record.len);
    ct_text_add(out, c->ir, c->ir_bytes);
    status = ct_text_status(out, err);
  }
  ct_text_clear(&record);
  return status;
}

/* FNV-1a: no change of a byte leaves it as it is. Exported programs compute it, too: export_cpu_capture.c. */
static uint64_t sum_of(const void *bytes, size_t n) {
  const unsigned char *p = bytes;
  uint64_t h = UINT64_C(0xcbf29ce484222325);
  for (size_t i = 0; i < n; i++) {
    h = (h ^ p[i]) * UINT64_C(0x100000001b3);
  }
  return h;
}

CtStatus ct_capture_seal(CtText *out, CtErr *err) {
  put_fixed(out, sum_of(out->s, out->len), SUM);
  return ct_text_status(out, err);
}

/* --- reading ------------------------------------------------------------------------------------ */

static bool is_capture(const void *bytes, size_t n) {
  return n >= strlen(MAGIC) && memcmp(bytes, MAGIC, strlen(MAGIC)) == 0;
}

static uint64_t get_fixed(const unsigned char *p) {
  uint64_t v = 0;
  for (int i = 7; i >= 0; i--) {
    v = v << 8 | p[i];
  }
  return v;
}

static CtStatus fail(CtErr *err, const char *what) {
  return ct_fail(err, CT_EINVAL, "replay: the file is damaged: %s", what);
}

static bool is_static(CtTuple t) {
  uint32_t i = 0;
  while (i < t->len && (t[i].rank != CT_LEAF ||
                        (t[i].i.kind == CT_STATIC && t[i].i.basis_depth == 0 && t[i].i.v >= 0))) {
    i++;
  }
  return i == t->len;
}

/* Its elements lie in its span. */
static bool is_tensor(const CtCapture *c, const CtCaptureTensor *t) {
  int64_t lo, hi, size;
  if (t->span >= c->n_spans || t->dtype == CT_VOID || t->shape == NULL || t->stride == NULL ||
      !ct_congruent(t->shape, t->stride) || !is_static(t->shape) || !is_static(t->stride) ||
      ct_walk_bounds((CtLayout){t->shape, t->stride}, &lo, &hi, &size, NULL) != CT_OK) {
    return false;
  }
  const CtCaptureSpan *s = &c->spans[t->span];
  return t->at <= s->bytes && ct_dtype_begins_at(t->dtype, t->at) && hi < (int64_t)1 << MOST_BITS &&
         (uint64_t)ct_dtype_span(t->dtype, hi + 1) <= s->bytes - t->at;
}

static bool is_argument(const CtCapture *c, const CtCaptureArg *a) {
  bool is = a->name != NULL &&
            (a->kind == CT_CAPTURE_NUMBER
                 ? a->n == 0 && a->dtype != CT_VOID
                 : a->tensors != NULL && a->n > 0 && (a->n == 1 || a->kind == CT_CAPTURE_LIST));
  for (uint32_t i = 0; is && i < a->n; i++) {
    is = is_tensor(c, &a->tensors[i]);
  }
  return is;
}

static bool is_identifier(const char *s) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  size_t n = s == NULL ? 0 : strspn(s, letters);
  return n > 0 && s[n] == '\0' && (s[0] < '0' || s[0] > '9');
}

static bool has_texts(const CtCapture *c) {
  bool has = is_identifier(c->kernel) && c->chunk != NULL && c->device != NULL && c->why != NULL;
  for (uint32_t i = 0; has && i < c->n_texts; i++) {
    has = c->texts != NULL && c->texts[i].chunk != NULL && c->texts[i].text != NULL;
  }
  for (uint32_t i = 0; has && i < c->n_options; i++) {
    has = c->options != NULL && c->options[i] != NULL;
  }
  return has;
}

/* Sums up the data of the spans. */
static bool has_spans(const CtCapture *c, uint64_t *data) {
  bool has = c->n_spans == 0 || c->spans != NULL;
  *data = 0;
  for (uint32_t i = 0; has && i < c->n_spans; i++) {
    const CtCaptureSpan *s = &c->spans[i];
    has = s->bytes >> MOST_BITS == 0 && s->lead <= s->bytes && s->lead < CT_CAPTURE_ALIGN;
    *data += s->has_data ? s->bytes - s->lead : 0;
  }
  return has;
}

static CtStatus check(const CtCapture *c, CtErr *err) {
  uint64_t data;
  if (!has_texts(c)) {
    return fail(err, "a text is missing");
  }
  if (!has_spans(c, &data) || data != c->data_bytes) {
    return fail(err, "its data do not fit what it says of them");
  }
  for (uint32_t i = 0; i < c->n_args; i++) {
    if (c->args == NULL || !is_argument(c, &c->args[i])) {
      return fail(err, "an argument is none");
    }
  }
  return CT_OK;
}

static CtStatus check_header(const unsigned char *p, size_t n, CtErr *err) {
  if (n < HEADER + SUM || !is_capture(p, n)) {
    return ct_fail(err, CT_EINVAL,
                   "replay: the file holds no launch; expected one that `capture` wrote");
  }
  uint64_t version = get_fixed(p + 8);
  if (version != CT_CAPTURE_VERSION) {
    return ct_fail(err, CT_EUNSUPPORTED, "replay: file of version %llu; this library reads %d",
                   (unsigned long long)version, CT_CAPTURE_VERSION);
  }
  if (get_fixed(p + 16) != fingerprint()) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "replay: file of version %d with other fields than this "
                   "library's; replay it with the library that captured it",
                   CT_CAPTURE_VERSION);
  }
  return CT_OK;
}

static CtStatus check_sum(const unsigned char *p, size_t n, CtErr *err) {
  return n >= SUM && get_fixed(p + n - SUM) == sum_of(p, n - SUM)
             ? CT_OK
             : fail(err, "its bytes are not those that were written; copy it again, or capture "
                         "the launch again");
}

/* Of n bytes without the checksum. */
static CtStatus read_launch(CtArena *a, const unsigned char *p, size_t n, CtCapture *out,
                            CtErr *err) {
  uint64_t record = get_fixed(p + 24), ir = get_fixed(p + 32);
  if (record > n - HEADER || ir > n - HEADER - record) {
    return fail(err, "it ends too early");
  }
  CtStatus status = ct_rows_read(a, p + HEADER, (size_t)record, &shape_launch, out, err);
  out->ir = p + HEADER + record;
  out->ir_bytes = (size_t)ir;
  out->data = p + HEADER + record + ir;
  out->data_bytes = (size_t)(n - HEADER - record - ir);
  return status;
}

CtStatus ct_capture_read(CtArena *a, const void *bytes, size_t n, CtCapture *out, CtErr *err) {
  bool is_slots = ct_capture_is_slots(bytes, n);
  CtStatus status = is_slots ? ct_capture_check_slots(bytes, n, err) : check_header(bytes, n, err);
  status = status == CT_OK ? check_sum(bytes, n, err) : status;
  if (status == CT_OK && is_slots) {
    status = ct_capture_read_slots(a, bytes, n - SUM, out, err);
  } else if (status == CT_OK) {
    status = read_launch(a, bytes, n - SUM, out, err);
  }
  return status == CT_OK ? check(out, err) : status;
}
