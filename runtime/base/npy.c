/* npy.c: .npy headers, parsed and written, and the files around them. */
#include "npy.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "newfile.h"

static const char magic[] = "\x93NUMPY";
enum { MAGIC_BYTES = sizeof magic - 1, ALIGN = 64 };

/* {====== Before the header ====== */

static unsigned byte_at(const void *bytes, size_t i) { return ((const unsigned char *)bytes)[i]; }

/* Reads a little-endian number of `n` bytes. */
static size_t number_at(const void *bytes, size_t i, size_t n) {
  size_t v = 0;
  for (size_t k = n; k-- > 0;) {
    v = v << 8 | byte_at(bytes, i + k);
  }
  return v;
}

/* Length of the magic string, the version and the header's length; versions from 2.0 on have a
   longer length field. */
static CtStatus prefix_bytes(const void *bytes, size_t n, size_t *out, CtErr *err) {
  if (n < MAGIC_BYTES || memcmp(bytes, magic, MAGIC_BYTES) != 0) {
    return ct_fail(err, CT_EINVAL, "is not a .npy file");
  }
  if (n < MAGIC_BYTES + 2) {
    return ct_fail(err, CT_EINVAL, "ends within its header");
  }
  unsigned major = byte_at(bytes, MAGIC_BYTES), minor = byte_at(bytes, MAGIC_BYTES + 1);
  if (major < 1 || major > 3 || minor != 0) {
    return ct_fail(err, CT_EUNSUPPORTED,
                   "has format version %u.%u; versions 1.0, 2.0 and 3.0 can be read", major, minor);
  }
  *out = MAGIC_BYTES + 2 + (major == 1 ? 2 : 4);
  return CT_OK;
}

/* Bytes before the elements, from the first bytes of a file (CT_NPY_PREFIX_BYTES, or all it has). */
static CtStatus find_data(const void *bytes, size_t n, size_t *data_at, CtErr *err) {
  size_t prefix;
  CtStatus status = prefix_bytes(bytes, n, &prefix, err);
  if (status != CT_OK) {
    return status;
  }
  if (n < prefix) {
    return ct_fail(err, CT_EINVAL, "ends within its header");
  }
  size_t len_at = MAGIC_BYTES + 2;
  size_t header = number_at(bytes, len_at, prefix - len_at);
  if (header > CT_NPY_MAX_HEADER_BYTES) {
    return ct_fail(err, CT_EUNSUPPORTED, "has a header of %zu bytes; at most %d are read", header,
                   CT_NPY_MAX_HEADER_BYTES);
  }
  *data_at = prefix + header;
  return CT_OK;
}

/* {====== The header: a Python dictionary ====== */

typedef struct Cursor {
  const char *start, *p, *end;
  CtErr *err;
} Cursor;

static void skip_spaces(Cursor *c) {
  while (c->p < c->end && (*c->p == ' ' || *c->p == '\n' || *c->p == '\t' || *c->p == '\r')) {
    c->p++;
  }
}

static bool is_at(Cursor *c, char ch) {
  skip_spaces(c);
  return c->p < c->end && *c->p == ch;
}

static bool accept(Cursor *c, char ch) {
  bool found = is_at(c, ch);
  c->p += found;
  return found;
}

static CtStatus malformed(Cursor *c, const char *expected) {
  return ct_fail(c->err, CT_EINVAL, "has a malformed header: expected %s at byte %zu of it",
                 expected, (size_t)(c->p - c->start));
}

static CtStatus expect(Cursor *c, char ch, const char *name) {
  return accept(c, ch) ? CT_OK : malformed(c, name);
}

/* A piece of the header's text, for comparison and for messages. */
typedef struct Span {
  const char *s;
  size_t len;
} Span;

static bool is_text(Span s, const char *text) {
  return s.len == strlen(text) && memcmp(s.s, text, s.len) == 0;
}

/* string <- "'" [^']* "'" / '"' [^"]* '"'      (NumPy writes no escapes in what we read) */
static CtStatus parse_string(Cursor *c, Span *out) {
  if (!is_at(c, '\'') && !is_at(c, '"')) {
    return malformed(c, "a string");
  }
  const char *first = c->p + 1;
  const char *last = memchr(first, *c->p, (size_t)(c->end - first));
  if (last == NULL) {
    return malformed(c, "a string that ends");
  }
  *out = (Span){first, (size_t)(last - first)};
  c->p = last + 1;
  return CT_OK;
}

/* How much of a text from a file a message shows: its printable beginning. */
static int shown_len(Span s) {
  int n = 0;
  while ((size_t)n < s.len && n < 40 && s.s[n] >= ' ' && s.s[n] <= '~') {
    n++;
  }
  return n;
}

static CtStatus refuse_type(Cursor *c, Span descr, const char *why) {
  return ct_fail(c->err, CT_EUNSUPPORTED, "has elements of type '%.*s'%s", shown_len(descr),
                 descr.s, why);
}

/* The row of the table whose NumPy name agrees from the second character on; the first one is the
   byte order. */
static CtDtype find_dtype(Span descr) {
  for (int t = CT_VOID + 1; t < CT_DTYPE_COUNT; t++) {
    const char *npy = ct_dtypes[t].npy;
    if (npy != NULL && descr.len > 1 && is_text((Span){descr.s + 1, descr.len - 1}, npy + 1)) {
      return (CtDtype)t;
    }
  }
  return CT_VOID;
}

static CtStatus parse_descr(Cursor *c, CtNpy *out) {
  Span descr;
  if (is_at(c, '[')) {
    return ct_fail(c->err, CT_EUNSUPPORTED,
                   "has records as elements; an array of plain numbers was expected");
  }
  CtStatus status = parse_string(c, &descr);
  if (status != CT_OK) {
    return status;
  }
  char order = descr.len > 0 ? descr.s[0] : '\0';
  if (descr.len > 1 && descr.s[1] == 'O') {
    return refuse_type(c, descr, " (Python objects), which need Python to be read");
  }
  CtDtype t = find_dtype(descr);
  if (t != CT_VOID && order == '>' && ct_dtypes[t].bits > 8) {
    return refuse_type(c, descr, " (big-endian); only little-endian elements can be read");
  }
  bool is_little = order == '<' || order == '=' || (order != '\0' && ct_dtypes[t].bits <= 8);
  if (t == CT_VOID || !is_little || strchr("<=>|", order) == NULL) {
    return refuse_type(c, descr, ", which is not an element type here");
  }
  out->dtype = t;
  return CT_OK;
}

static CtStatus parse_order(Cursor *c, CtNpy *out) {
  static const char *const words[] = {"False", "True"};
  skip_spaces(c);
  for (size_t i = 0; i < CT_ARRAY_LEN(words); i++) {
    size_t len = strlen(words[i]);
    if ((size_t)(c->end - c->p) >= len && memcmp(c->p, words[i], len) == 0) {
      c->p += len;
      out->fortran_order = i == 1;
      return CT_OK;
    }
  }
  return malformed(c, "True or False");
}

/* extent <- [0-9]+ 'L'?      (Python 2 wrote the L) */
static CtStatus parse_extent(Cursor *c, int64_t *out) {
  int64_t v = 0;
  skip_spaces(c);
  const char *first = c->p;
  while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
    if (ct_mul_overflow(v, 10, &v) || ct_add_overflow(v, *c->p - '0', &v)) {
      return ct_fail(c->err, CT_EOVERFLOW, "has an extent that does not fit 64 bits");
    }
    c->p++;
  }
  if (c->p == first) {
    return malformed(c, "an extent >= 0");
  }
  accept(c, 'L');
  *out = v;
  return CT_OK;
}

/* shape <- '(' (extent (',' extent)* ','?)? ')' */
static CtStatus parse_shape(Cursor *c, CtNpy *out) {
  CtStatus status = expect(c, '(', "'('");
  while (status == CT_OK && !accept(c, ')')) {
    if (out->rank == CT_NPY_MAX_RANK) {
      return ct_fail(c->err, CT_EUNSUPPORTED, "has more than %d dimensions", CT_NPY_MAX_RANK);
    }
    status = parse_extent(c, &out->shape[out->rank]);
    if (status == CT_OK) {
      out->rank++;
      if (!accept(c, ',') && !is_at(c, ')')) {
        status = malformed(c, "',' or ')'");
      }
    }
  }
  return status;
}

typedef struct Field {
  const char *name;
  CtStatus (*parse)(Cursor *c, CtNpy *out);
} Field;

static const Field fields[] = {
    {"descr", parse_descr}, {"fortran_order", parse_order}, {"shape", parse_shape}};

/* item <- string ':' value      `seen` has a bit for each field that was read. */
static CtStatus parse_item(Cursor *c, CtNpy *out, unsigned *seen) {
  Span key;
  CtStatus status = parse_string(c, &key);
  status = status == CT_OK ? expect(c, ':', "':'") : status;
  if (status != CT_OK) {
    return status;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if (is_text(key, fields[i].name) && (*seen & 1U << i) == 0) {
      *seen |= 1U << i;
      return fields[i].parse(c, out);
    }
  }
  return ct_fail(c->err, CT_EINVAL, "has an unknown or repeated key '%.*s' in its header",
                 shown_len(key), key.s);
}

/* header <- '{' (item (',' item)* ','?)? '}' */
static CtStatus parse_dict(Cursor *c, CtNpy *out) {
  unsigned seen = 0;
  CtStatus status = expect(c, '{', "'{'");
  while (status == CT_OK && !accept(c, '}')) {
    status = parse_item(c, out, &seen);
    if (status == CT_OK && !accept(c, ',') && !is_at(c, '}')) {
      status = malformed(c, "',' or '}'");
    }
  }
  if (status != CT_OK) {
    return status;
  }
  for (size_t i = 0; i < CT_ARRAY_LEN(fields); i++) {
    if ((seen & 1U << i) == 0) {
      return ct_fail(c->err, CT_EINVAL, "has no key '%s' in its header", fields[i].name);
    }
  }
  skip_spaces(c);
  return c->p == c->end ? CT_OK : malformed(c, "nothing more");
}

/* Fills in n_elems and data_bytes from dtype and shape; fails where they overflow. */
static CtStatus measure(CtNpy *h, CtErr *err) {
  int64_t n = 1,
          bytes; /* of an array with an extent of 0, too, the other extents must make sense */
  bool is_empty = false;
  for (int i = 0; i < h->rank; i++) {
    is_empty = is_empty || h->shape[i] == 0;
    if (h->shape[i] > 0 && ct_mul_overflow(n, h->shape[i], &n)) {
      return ct_fail(err, CT_EOVERFLOW, "has more than 2^63 elements");
    }
  }
  if (ct_dtype_span_overflow(h->dtype, n, &bytes)) {
    return ct_fail(err, CT_EOVERFLOW, "has more than 2^63 bytes of elements");
  }
  if (bytes > PTRDIFF_MAX) {
    return ct_fail(err, CT_EOVERFLOW, "has %lld bytes of elements; pointers of %d bits reach %lld",
                   (long long)bytes, (int)(8 * sizeof(void *)), (long long)PTRDIFF_MAX);
  }
  h->n_elems = is_empty ? 0 : n;
  h->data_bytes = is_empty ? 0 : (size_t)bytes;
  return CT_OK;
}

CtStatus ct_npy_parse(const void *bytes, size_t n, CtNpy *out, CtErr *err) {
  size_t prefix, data_at;
  CtNpy h = {0};
  CtStatus status = find_data(bytes, n, &data_at, err);
  status = status == CT_OK ? prefix_bytes(bytes, n, &prefix, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (n < data_at) {
    return ct_fail(err, CT_EINVAL, "ends within its header");
  }
  const char *first = (const char *)bytes + prefix;
  Cursor c = {first, first, (const char *)bytes + data_at, err};
  h.data_at = data_at;
  status = parse_dict(&c, &h);
  status = status == CT_OK ? measure(&h, err) : status;
  if (status == CT_OK) {
    *out = h;
  }
  return status;
}

CtStatus ct_npy_format(const CtNpy *h, CtText *out, CtErr *err) {
  CtText dict;
  ct_text_init(&dict, out->alloc);
  ct_text_printf(&dict, "{'descr': '%s', 'fortran_order': %s, 'shape': (", ct_dtypes[h->dtype].npy,
                 h->fortran_order ? "True" : "False");
  for (int i = 0; i < h->rank; i++) {
    ct_text_printf(&dict, i == 0 ? "%" PRId64 : " %" PRId64, h->shape[i]);
    ct_text_puts(&dict, i + 1 < h->rank || h->rank == 1 ? "," : "");
  }
  ct_text_puts(&dict, "), }");
  size_t prefix = MAGIC_BYTES + 4;
  while ((prefix + dict.len + 1) % ALIGN != 0) {
    ct_text_putc(&dict, ' ');
    if (dict.failed) {
      break;
    }
  }
  ct_text_putc(&dict, '\n');
  const char head[4] = {1, 0, (char)(dict.len & 0xff), (char)(dict.len >> 8)};
  ct_text_add(out, magic, MAGIC_BYTES);
  ct_text_add(out, head, sizeof head);
  ct_text_add(out, ct_text_str(&dict), dict.len);
  CtStatus status = ct_text_status(&dict, err);
  ct_text_clear(&dict);
  return status == CT_OK ? ct_text_status(out, err) : status;
}

/* {====== Files ====== */

/* Puts the operation and the file in front of a message that begins with a verb. */
static CtStatus name_file(CtStatus status, const char *op, const char *path, CtErr *err) {
  if (err != NULL) {
    CtErr old = *err;
    ct_fail(err, status, "%s: '%.300s' %s", op, path, old.msg);
  }
  return status;
}

static CtStatus fail_errno(const char *op, const char *path, int number, CtErr *err) {
  return ct_fail(err, CT_EIO, "%s: '%.300s': %s", op, path, strerror(number));
}

/* Reads up to `n` bytes; a read error is a failure, the end of the file is not. */
static CtStatus read_up_to(const char *path, FILE *file, void *dst, size_t n, size_t *n_read,
                           CtErr *err) {
  errno = 0;
  *n_read = n == 0 ? 0 : fread(dst, 1, n, file);
  if (*n_read < n && ferror(file)) {
    return fail_errno("load_npy", path, errno, err);
  }
  return CT_OK;
}

static CtStatus read_header(const char *path, FILE *file, char *buf, CtNpy *out, CtErr *err) {
  size_t n, more, data_at = 0;
  CtStatus status = read_up_to(path, file, buf, CT_NPY_PREFIX_BYTES, &n, err);
  if (status != CT_OK) {
    return status;
  }
  status = find_data(buf, n, &data_at, err);
  if (status != CT_OK) {
    return name_file(status, "load_npy", path, err);
  }
  if (data_at > n) {
    status = read_up_to(path, file, buf + n, data_at - n, &more, err);
    if (status != CT_OK) {
      return status;
    }
    n += more;
  }
  status = ct_npy_parse(buf, n, out, err);
  if (status != CT_OK) {
    return name_file(status, "load_npy", path, err);
  }
  return CT_OK;
}

static CtStatus truncated(const char *path, size_t n, const CtNpy *h, CtErr *err) {
  return ct_fail(err, CT_EIO, "load_npy: '%.300s' ends after %zu of %zu data bytes", path, n,
                 h->data_bytes);
}

/* A file that is too short is refused before memory is made for what it claims to hold. What has no
   length, as a pipe, is found out while it is read. */
static CtStatus check_length(const char *path, FILE *file, const CtNpy *h, CtErr *err) {
  if (fseek(file, 0, SEEK_END) != 0) {
    return CT_OK;
  }
  long len = ftell(file);
  if (len >= 0 && (size_t)len >= h->data_at && (size_t)len - h->data_at < h->data_bytes) {
    return truncated(path, (size_t)len - h->data_at, h, err);
  }
  if (fseek(file, (long)h->data_at, SEEK_SET) != 0) {
    return fail_errno("load_npy", path, errno, err);
  }
  return CT_OK;
}

CtStatus ct_npy_open(CtAlloc alloc, const char *path, FILE **file, CtNpy *out, CtErr *err) {
  const size_t max = CT_NPY_PREFIX_BYTES + CT_NPY_MAX_HEADER_BYTES;
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    return fail_errno("load_npy", path, errno, err);
  }
  char *buf = ct_alloc(alloc, max);
  CtStatus status = buf == NULL ? ct_fail_nomem(err) : read_header(path, f, buf, out, err);
  ct_free(alloc, buf, max);
  status = status == CT_OK ? check_length(path, f, out, err) : status;
  if (status != CT_OK) {
    fclose(f);
    return status;
  }
  *file = f;
  return CT_OK;
}

CtStatus ct_npy_read(const char *path, FILE *file, const CtNpy *h, void *dst, CtErr *err) {
  size_t n;
  CtStatus status = read_up_to(path, file, dst, h->data_bytes, &n, err);
  if (status == CT_OK && n < h->data_bytes) {
    return truncated(path, n, h, err);
  }
  return status;
}

/* 0, or the errno of what failed. */
static int write_all(FILE *file, const void *src, size_t n) {
  errno = 0;
  return n > 0 && fwrite(src, 1, n, file) != n ? errno : 0;
}

static CtStatus write_file(const char *path, const CtText *header, const void *src, size_t bytes,
                           CtErr *err) {
  CtNewFile f;
  int why = ct_newfile_open(&f, path);
  if (why != 0) {
    return fail_errno("save_npy", path, why, err);
  }
  why = write_all(f.file, header->s, header->len);
  if (why == 0) {
    why = write_all(f.file, src, bytes);
  }
  int at_end = ct_newfile_close(&f, why == 0);
  why = why != 0 ? why : at_end;
  return why != 0 ? fail_errno("save_npy", path, why, err) : CT_OK;
}

CtStatus ct_npy_save(CtAlloc alloc, const char *path, const CtNpy *h, const void *src, CtErr *err) {
  CtText header;
  CtNpy whole = *h;
  CtStatus status = measure(&whole, err);
  if (status != CT_OK) {
    return status;
  }
  ct_text_init(&header, alloc);
  status = ct_npy_format(&whole, &header, err);
  status = status == CT_OK ? write_file(path, &header, src, whole.data_bytes, err) : status;
  ct_text_clear(&header);
  return status;
}
