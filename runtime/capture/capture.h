/* capture.h: a launch as bytes: the kernel's IR, its arguments with their layouts, how it was launched, the
   texts of its scripts, and, if they are wanted, the bytes of its tensors. Whoever has them runs the launch
   again, on a machine that has neither script nor device. */
#ifndef CT_CAPTURE_H
#define CT_CAPTURE_H

#include "runtime/ir/ir_file.h"

enum { CT_CAPTURE_VERSION = 2, CT_CAPTURE_ALIGN = 64 };

typedef enum CtCaptureKind { CT_CAPTURE_TENSOR, CT_CAPTURE_NUMBER, CT_CAPTURE_LIST } CtCaptureKind;

/* A tensor lies in a span of memory, `at` bytes after its beginning. */
typedef struct CtCaptureTensor {
  CtDtype dtype;
  uint32_t span;
  uint64_t at;
  CtTuple shape, stride; /* static */
  bool is_fixed;         /* static_mode: all extents and strides, or those of the bits */
  uint64_t fixed;
} CtCaptureTensor;

/* An argument of the IR, in order. */
typedef struct CtCaptureArg {
  CtCaptureKind kind;
  const char *name;
  CtDtype dtype;  /* of a NUMBER, with its */
  int64_t number; /* slot value */
  uint32_t n;     /* tensors: 1, or those of a LIST */
  const CtCaptureTensor *tensors;
} CtCaptureArg;

/* Memory that no other span overlaps. It begins at a multiple of CT_CAPTURE_ALIGN; its first `lead` bytes are
   not the launch's. */
typedef struct CtCaptureSpan {
  uint64_t bytes, lead;
  bool has_data;
} CtCaptureSpan;

typedef struct CtCaptureText {
  const char *chunk, *text;
} CtCaptureText;

typedef struct CtCapture {
  const char *kernel, *chunk; /* and where it begins: */
  int line;
  const char *device; /* it was launched on: "cpu", "cuda:0, NVIDIA H200" */
  const char *why;    /* it was captured */
  uint32_t grid[3], block[3], cluster[3], shared_bytes;
  bool pdl, cooperative, deterministic, prints_as_run, static_shapes, contract;
  int min_blocks;
  uint32_t n_options, n_args, n_spans, n_texts;
  const char *const *options; /* of NVRTC */
  const CtCaptureArg *args;
  const CtCaptureSpan *spans;
  const CtCaptureText *texts;
  /* The IR, and after it the data of the spans that have it, without their leads. */
  const void *ir;
  size_t ir_bytes, data_bytes;
  const unsigned char *data;
} CtCapture;

/* Appends all but the data, which its owner appends, in the order of the spans: data_bytes in all. Then ct_capture_seal
   appends the checksum. */
CtStatus ct_capture_write(const CtCapture *c, CtText *out, CtErr *err) CT_NODISCARD;
CtStatus ct_capture_seal(CtText *out, CtErr *err) CT_NODISCARD;
/* A file whose bytes are not those that were written is refused. The IR and the data stay where they are in `bytes`, all else goes into the arena. Each tensor lies in its span;
   the IR is not looked at. */
CtStatus ct_capture_read(CtArena *a, const void *bytes, size_t n, CtCapture *out,
                         CtErr *err) CT_NODISCARD;

#endif
