/* emit_constant.c: arrays in constant memory, which stand before the kernel. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"
#include "runtime/base/convert.h"

enum { MAX_LINE = 100 };

/* An initialiser must be a constant expression, and functions of bits are none. */
static void put_float(CtEmit *e, CtDtype type, double v) {
  const char *end = type == CT_f64 ? "" : "f";
  if (isfinite(v) || ct_is_bits(type)) {
    ct_emit_float(&e->body, type, v);
  } else {
    ct_text_printf(&e->body, "%s0%s / 0.0%s", isnan(v) ? "0." : v < 0 ? "-1." : "1.", end, end);
  }
}

static void put_element(CtEmit *e, const CtBuf *buf, int64_t i) {
  size_t bytes = ct_value_bytes(buf->dtype);
  uint64_t bits = 0;
  memcpy(&bits, (const char *)buf->data + ct_dense_bytes(buf->dtype, (size_t)i),
         bytes); /* little-endian */
  if (ct_is_float(buf->dtype)) {
    put_float(e, buf->dtype, ct_float_of_bits(buf->dtype, bits));
  } else {
    ct_emit_int(e, buf->dtype, ct_int_of_bits(buf->dtype, bits));
  }
}

static void put_elements(CtEmit *e, const CtBuf *buf) {
  size_t line = e->body.len;
  for (int64_t i = 0; i < ct_max(buf->n_elems.v, 1); i++) {
    size_t at = e->body.len;
    ct_text_puts(&e->body, i == 0 ? "" : ", ");
    if (i == 0 || at - line > MAX_LINE - 24) {
      e->body.len -= i > 0;
      ct_text_puts(&e->body, "\n  ");
      line = e->body.len - 2;
    }
    if (i < buf->n_elems.v) {
      put_element(e, buf, i);
    } else {
      ct_text_puts(&e->body, "0");
    }
  }
}

static void put_array(CtEmit *e, uint32_t id) {
  const CtBuf *buf = &e->ir->bufs[id];
  ct_emit_begin(e, buf->loc);
  ct_text_printf(&e->body, "static __constant__ __align__(%u) %s %s[%" PRId64 "] = {", buf->align,
                 ct_dtypes[buf->dtype].cuda, e->buf_names[id], ct_max(buf->n_elems.v, 1));
  put_elements(e, buf);
  ct_text_puts(&e->body, "};");
  ct_emit_end(e);
}

/* Named after the kernel, too: other kernels of the file have arrays of their own. */
void ct_emit_constants(CtEmit *e, const char *kernel) {
  bool has_any = false;
  for (uint32_t i = 1; i < e->ir->n_bufs; i++) {
    const CtBuf *buf = &e->ir->bufs[i];
    if (buf->space == CT_CONSTANT && buf->alias_of == 0 && e->buf_used[i]) {
      char name[CT_EMIT_NAME_MAX + 80];
      snprintf(name, sizeof name, "%s_%.60s", kernel, buf->name);
      e->buf_names[i] = ct_names_add(&e->names, name);
      put_array(e, i);
      has_any = true;
    }
  }
  ct_text_puts(&e->body, has_any ? "\n" : "");
}
