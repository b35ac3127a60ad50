/* emit_cuda.c: a kernel as CUDA C: the frame around the statements. The text is self-contained: no
   includes, only the helpers of emit_prelude.def that it uses. */
#include "emit_cuda.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "emit.h"

enum { STATIC_SHARED_MAX = 48 * 1024, CLUSTER_SM = 90 };

static const CtLoc nowhere = {0, 0};

/* --- the frame ------------------------------------------------------------------------------------------ */

static void put_parameter(CtEmit *e, const CtSlot *slot, const char *name) {
  const char *type = ct_dtypes[slot->dtype].cuda;
  if (slot->kind == CT_SLOT_POINTER) {
    const CtBuf *buf = &e->ir->bufs[e->ir->params[slot->param].buf];
    /* A read through __restrict__ may move before a barrier, as nobody else writes. But other blocks have written before
       one of the grid, and the launch before may write until grid_dependency_wait. */
    bool is_shared = e->ir->may_overlap || (buf->is_written && ct_ir_has_grid_barrier(e->ir));
    ct_text_printf(&e->body, "%s%s*%s %s", buf->is_written ? "" : "const ", type,
                   is_shared ? "" : " __restrict__", name);
  } else {
    ct_text_printf(&e->body, "%s %s", type, name);
  }
}

/* The parameters that the launch adds. */
static void put_hidden(CtEmit *e, const char *sep) {
  sep = ct_emit_put_maps(e, sep);
  if (e->fault != NULL) {
    ct_text_printf(&e->body, "%sint* %s", sep, e->fault);
    sep = ", ";
  }
  if (e->grid_word != NULL) {
    ct_text_printf(&e->body, "%sunsigned* %s", sep, e->grid_word);
    sep = ", ";
  }
  if (e->print_log != NULL) {
    ct_text_printf(&e->body, "%sunsigned long long* %s, unsigned %s", sep, e->print_log,
                   e->first_print);
  }
}

static void put_parameters(CtEmit *e) {
  const char *sep = "";
  for (size_t i = 0; i < e->ir->n_slots; i++) {
    const CtSlot *slot = &e->ir->slots[i];
    if (!slot->used) {
      continue;
    }
    ct_text_puts(&e->body, sep);
    put_parameter(e, slot, e->slot_names[i]);
    sep = ", ";
  }
  put_hidden(e, sep);
}

static void put_place(CtEmit *e) {
  if (e->opts.is_every_line) {
    ct_emit_locate(e, e->ir->loc);
  }
}

static void put_rest(CtEmit *e, const char *name) {
  ct_text_printf(&e->body, "%s(", name);
  put_parameters(e);
  ct_text_puts(&e->body, ") {");
  e->loc = e->ir->loc;
  if (e->opts.line_directives) {
    e->said = (CtLoc){UINT32_MAX, 0};
  }
  ct_emit_end(e);
}

static void put_function_head(CtEmit *e, const char *name) {
  const char *inlined = e->opts.function->is_noinline ? "__noinline__ " : "";
  put_place(e);
  e->line = e->body.len;
  ct_text_printf(&e->body, "static __device__ %svoid ", inlined);
  put_rest(e, name);
}

/* Arguments that are no parameters, for people. */
static void put_constants(CtEmit *e) {
  const char *at = e->opts.line_directives ? NULL : e->ir->constants;
  for (const char *end; at != NULL && *at != '\0'; at = end + 1) {
    end = strchr(at, '\n');
    ct_text_printf(&e->body, "  // %.*s\n", (int)(end - at), at);
  }
}

static void put_signature(CtEmit *e, const char *name) {
  const CtIr *ir = e->ir;
  int64_t threads = ct_ir_block_size(ir);
  if (e->opts.function != NULL) {
    put_function_head(e, name);
    return;
  }
  ct_text_puts(&e->body, "extern \"C\" __global__ void ");
  if (ct_ir_cluster_size(ir) > 1) {
    ct_text_printf(&e->body, "__cluster_dims__(%" PRId64 ", %" PRId64 ", %" PRId64 ") ",
                   ir->cluster[0], ir->cluster[1], ir->cluster[2]);
  }
  ct_text_printf(&e->body, "__launch_bounds__(%" PRId64, threads);
  /* ptxas ignores setmaxnreg if the launch bounds do not say how many registers a thread begins with */
  if (ir->min_blocks > 0 || ct_emit_has_setmaxnreg(ir)) {
    ct_text_printf(&e->body, ", %d", (int)ct_max(ir->min_blocks, 1));
  }
  ct_text_puts(&e->body, ")\n");
  put_place(e);
  e->line = e->body.len;
  put_rest(e, name);
  put_constants(e);
}

static void name_arguments(CtEmit *e) {
  for (size_t i = 0; i < e->ir->n_slots; i++) {
    const CtSlot *slot = &e->ir->slots[i];
    if (slot->used) {
      e->slot_names[i] = ct_names_add_operand(&e->names, slot->name);
    }
    if (slot->kind == CT_SLOT_POINTER) {
      e->buf_names[e->ir->params[slot->param].buf] = slot->used ? e->slot_names[i] : slot->name;
    }
  }
}

int64_t ct_emit_dynamic_shared(const CtIr *ir) {
  int64_t bytes = ct_ir_shared_bytes(ir) + ct_ir_shared_slack(ir);
  return bytes > STATIC_SHARED_MAX ? bytes : 0;
}

/* is_dynamic: all shared memory is dynamic. */
static void declare_shared(CtEmit *e, uint32_t id, bool is_dynamic) {
  const CtBuf *buf = &e->ir->bufs[id];
  const char *type = ct_dtypes[buf->dtype].cuda;
  if (is_dynamic) {
    ct_emit_line(e, buf->loc, "%s* const %s = reinterpret_cast<%s*>(smem + %" PRId64 ");", type,
                 e->buf_names[id], type, ct_ir_shared_offset(e->ir, id));
  } else if (id == e->ir->smem_buf) {
    ct_emit_line(e, buf->loc, "%s* const %s = reinterpret_cast<%s*>(smem);", type, e->buf_names[id],
                 type);
  } else {
    ct_emit_line(e, buf->loc, "__shared__ __align__(%u) %s %s[%" PRId64 "];", buf->align, type,
                 e->buf_names[id],
                 ct_max(ct_dtype_is_packed(buf->dtype) ? ct_dtype_span(buf->dtype, buf->n_elems.v)
                                                       : buf->n_elems.v,
                        1));
  }
}

static void declare_alias(CtEmit *e, uint32_t id) {
  const CtBuf *buf = &e->ir->bufs[id];
  const char *type = ct_dtypes[buf->dtype].cuda;
  bool is_const = buf->space == CT_CONSTANT ||
                  (buf->space == CT_GLOBAL && !e->ir->bufs[buf->alias_of].is_written);
  ct_emit_line(e, buf->loc, "%s%s* const %s = reinterpret_cast<%s%s*>(%s);",
               is_const ? "const " : "", type, e->buf_names[id], is_const ? "const " : "", type,
               e->buf_names[buf->alias_of]);
}

/* Needs the buffer a declaration of its own? */
static bool is_declared(const CtEmit *e, uint32_t id) {
  const CtBuf *buf = &e->ir->bufs[id];
  return !ct_emit_is_outside(buf) && buf->space != CT_TENSOR && buf->remote == 0 && e->buf_used[id];
}

static void declare_buffer(CtEmit *e, uint32_t id, bool is_dynamic) {
  const CtBuf *buf = &e->ir->bufs[id];
  if (buf->alias_of != 0) {
    declare_alias(e, id);
  } else if (buf->space == CT_SHARED) {
    declare_shared(e, id, is_dynamic);
  } else {
    ct_emit_line(e, buf->loc, "%s%s %s[%" PRId64 "];", buf->has_words ? "__align__(16) " : "",
                 ct_dtypes[buf->dtype].cuda, e->buf_names[id], ct_max(buf->n_elems.v, 1));
  }
}

/* Those that look at no other buffer come first, in the order that the emission asks for. */
static void declare_ordered(CtEmit *e, bool is_dynamic) {
  uint32_t *ids = ct_arena_alloc(&e->arena, e->ir->n_bufs * sizeof *ids);
  size_t n = 0;
  if (ids == NULL) {
    ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
    return;
  }
  for (uint32_t i = 1; i < e->ir->n_bufs; i++) {
    if (is_declared(e, i) && e->ir->bufs[i].alias_of == 0) {
      e->buf_names[i] = ct_names_add_operand(&e->names, e->ir->bufs[i].name);
      ids[n++] = i;
    }
  }
  ct_emit_order_arrays(e, ids, n);
  for (size_t i = 0; i < n; i++) {
    declare_buffer(e, ids[i], is_dynamic);
  }
}

static void declare_buffers(CtEmit *e) {
  bool is_ordered = e->ir->emission.order > 1;
  bool is_dynamic = ct_emit_dynamic_shared(e->ir) > 0;
  if (is_dynamic || (e->ir->smem_buf != 0 && e->buf_used[e->ir->smem_buf])) {
    uint32_t align = is_dynamic ? ct_ir_shared_align(e->ir) : 0;
    bool is_rounded = align > CT_SHARED_DYNAMIC_ALIGN;
    ct_emit_line(e, nowhere, "extern __shared__ __align__(128) unsigned char smem%s[];",
                 is_rounded ? "_begin" : "");
    if (is_rounded) {
      ct_emit_line(e, nowhere,
                   "unsigned char* const smem = smem_begin + "
                   "(-(unsigned)__cvta_generic_to_shared(smem_begin) & %u);",
                   align - 1);
    }
  }
  if (is_ordered) {
    declare_ordered(e, is_dynamic);
  }
  for (uint32_t i = 1; i < e->ir->n_bufs; i++) {
    const CtBuf *buf = &e->ir->bufs[i];
    if (!is_declared(e, i) || (is_ordered && buf->alias_of == 0)) {
      continue;
    }
    if (buf->cache != CT_CACHE_NONE && buf->dtype == e->ir->bufs[buf->alias_of].dtype) {
      e->buf_names[i] = e->buf_names[buf->alias_of];
      continue;
    }
    e->buf_names[i] = ct_names_add_operand(&e->names, buf->name);
    declare_buffer(e, i, is_dynamic);
  }
}

/* Tensor memory begins where the shared word says: tmem[0]. */
static void name_tensor_memory(CtEmit *e) {
  for (uint32_t i = 1; i < e->ir->n_bufs; i++) {
    const CtBuf *buf = &e->ir->bufs[i];
    if (buf->space == CT_TENSOR && e->buf_used[i]) {
      char text[CT_EMIT_NAME_MAX + 8];
      snprintf(text, sizeof text, "%.*s[0]", CT_EMIT_NAME_MAX, e->buf_names[buf->address]);
      e->buf_names[i] = ct_arena_strdup(&e->arena, text, strlen(text));
      if (e->buf_names[i] == NULL) {
        ct_emit_fail(e, e->ir->loc, CT_ENOMEM, "out of memory");
      }
    }
  }
}

/* const int tid_x = threadIdx.x; for the axes in use, under the script's name if it has one. */
static void declare_axes(CtEmit *e) {
  static const struct {
    CtOp op;
    const char *name, *builtin;
  } axes[] = {{CT_OP_TID, "tid", "threadIdx"},
              {CT_OP_BID, "bid", "blockIdx"},
              {CT_OP_GDIM, "grid", "gridDim"}};
  for (size_t k = 0; k < 3 * CT_ARRAY_LEN(axes); k++) {
    for (CtVal v = 1; v < e->ir->n_insts; v++) {
      const CtInst *inst = ct_inst(e->ir, v);
      if (inst->op == axes[k / 3].op && inst->imm.i == (int64_t)(k % 3) && e->vals[v].n_uses > 0) {
        char text[16];
        snprintf(text, sizeof text, "%s_%c", axes[k / 3].name, "xyz"[inst->imm.i]);
        e->vals[v].name = ct_names_add_operand(&e->names, inst->name != NULL ? inst->name : text);
        ct_emit_line(e, inst->name != NULL ? inst->loc : nowhere, "const int %s = %s.%c;",
                     e->vals[v].name, axes[k / 3].builtin, "xyz"[inst->imm.i]);
      }
    }
  }
}

static void check_cluster(CtEmit *e) {
  const CtIr *ir = e->ir;
  if (ct_ir_cluster_size(ir) > 1 && ir->target.sm < CLUSTER_SM) {
    ct_emit_fail(e, ir->loc, CT_EUNSUPPORTED,
                 "%s: clusters of blocks need compute capability 9.0, but %s has %d.%d; launch "
                 "without cluster, or on the CPU engine",
                 ir->name, ir->target.name, ir->target.sm / 10, ir->target.sm % 10);
  }
}

/* Locals must not hide them. */
static void name_functions(CtEmit *e) {
  for (const CtIrFunction *f = e->opts.callees; f != NULL; f = f->next) {
    char name[CT_EMIT_FUNCTION_MAX];
    ct_emit_function_name(f, e->opts.suffix, name);
    ct_names_add(&e->names, name);
  }
}

static void hide_words(CtEmit *e) {
  for (uint32_t i = 1; i < e->n_order; i++) {
    const CtInst *inst = ct_inst(e->ir, e->order[i]);
    if (inst->op == CT_OP_ESCAPE && !inst->u.escape->is_ptx) {
      ct_names_hide(&e->names, inst->u.escape->text);
    }
  }
}

static void emit_kernel(CtEmit *e) {
  char name[CT_EMIT_NAME_MAX];
  check_cluster(e);
  ct_emit_check_emission(e);
  ct_emit_kernel_name(e->ir, name);
  if (e->opts.name != NULL) {
    snprintf(name, sizeof name, "%s", e->opts.name);
  }
  ct_names_add(&e->names, name);
  name_functions(e);
  hide_words(e);
  name_arguments(e);
  ct_emit_name_maps(e);
  e->fault = ct_emit_has_asserts(e->ir) ? ct_names_add(&e->names, "fault") : NULL;
  e->grid_word = ct_ir_has_grid_barrier(e->ir) ? ct_names_add(&e->names, "grid_word") : NULL;
  if (e->opts.print_records && ct_emit_has_prints(e->ir)) {
    e->print_log = ct_names_add(&e->names, "print_log");
    e->first_print = ct_names_add(&e->names, "first_print");
  }
  ct_emit_constants(e, name);
  ct_emit_declare_marks(e, name);
  put_signature(e, name);
  ct_emit_open(e);
  declare_buffers(e);
  name_tensor_memory(e);
  declare_axes(e);
  ct_emit_prefetch_maps(e);
  ct_emit_declare_warp(e);
  ct_emit_begin_marks(e);
  ct_emit_statements(e);
  ct_emit_end_marks(e);
  ct_emit_close(e, 0);
}

static bool alloc_tables(CtEmit *e) {
  const CtIr *ir = e->ir;
  e->vals = ct_arena_alloc(&e->arena, ir->n_insts * sizeof *e->vals);
  e->regions = ct_arena_alloc(&e->arena, ir->n_regions * sizeof *e->regions);
  e->order = ct_arena_alloc(&e->arena, (ir->n_insts + 1) * sizeof *e->order);
  e->buf_names = ct_arena_alloc(&e->arena, ir->n_bufs * sizeof *e->buf_names);
  e->buf_used = ct_arena_alloc(&e->arena, ir->n_bufs * sizeof *e->buf_used);
  e->slot_names = ct_arena_alloc(&e->arena, (ir->n_slots + 1) * sizeof *e->slot_names);
  e->map_names = ct_arena_alloc(&e->arena, (ir->n_maps + 1) * sizeof *e->map_names);
  return e->vals != NULL && e->regions != NULL && e->order != NULL && e->buf_names != NULL &&
         e->buf_used != NULL && e->slot_names != NULL && e->map_names != NULL;
}

/* NVRTC knows printf by itself, nvcc by a header. */
static const char *includes_of(const CtEmit *e) {
  bool is_needed = e->opts.functions != NULL && ct_emit_has_prints(e->ir);
  return is_needed ? "#ifndef __CUDACC_RTC__\n#include <cstdio>\n#endif\n" : "";
}

static CtStatus run(CtEmit *e, CtText *out) {
  if (!alloc_tables(e)) {
    return ct_fail_nomem(e->err);
  }
  ct_emit_plan(e);
  if (e->status == CT_OK) {
    emit_kernel(e);
  }
  if (e->status != CT_OK) {
    return e->status;
  }
  if (e->names.failed || e->body.failed || e->functions.failed) {
    return ct_fail_nomem(e->err);
  }
  ct_emit_put_prelude(e, includes_of(e), out);
  ct_text_add(out, ct_text_str(&e->body), e->body.len);
  return ct_text_status(out, e->err);
}

static CtStatus emit_one(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) {
  CtEmit e = {.ir = ir, .opts = *opts, .put_operation = ct_emit_operation, .err = err};
  size_t before = out->len;
  ct_arena_init(&e.arena, ir->arena.alloc);
  ct_text_init(&e.body, ir->arena.alloc);
  ct_text_init(&e.functions, ir->arena.alloc);
  ct_names_init(&e.names, &e.arena);
  CtStatus status = run(&e, out);
  if (status != CT_OK && out->s != NULL) {
    out->len = before;
    out->s[before] = '\0';
  }
  ct_names_clear(&e.names);
  ct_text_clear(&e.body);
  ct_text_clear(&e.functions);
  ct_arena_clear(&e.arena);
  return status;
}

/* Nothing that the functions before it brought is brought twice. */
static CtStatus emit_function(const CtIrFunction *f, const CtEmitOpts *opts, CtText *out,
                              CtErr *err) {
  CtEmitOpts own = *opts;
  char name[CT_EMIT_FUNCTION_MAX];
  ct_emit_function_name(f, opts->suffix, name);
  own.function = f;
  own.name = name;
  own.callees = f->next;
  size_t from = out->len;
  CtStatus status = emit_one(&f->ir, &own, out, err);
  if (status == CT_OK) {
    ct_emit_keep_new(opts->functions, out, from);
    ct_text_puts(out, out->len > from ? "\n" : "");
  }
  return status;
}

/* Callees come first: they stand later in the list. */
static CtStatus emit_functions(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) {
  size_t n = 0;
  for (const CtIrFunction *f = ir->functions; f != NULL; f = f->next) {
    n++;
  }
  const CtIrFunction **all = ct_alloc(ir->arena.alloc, (n + 1) * sizeof *all);
  CtStatus status = all == NULL ? ct_fail_nomem(err) : CT_OK;
  size_t at = 0;
  for (const CtIrFunction *f = ir->functions; f != NULL && status == CT_OK; f = f->next) {
    all[at++] = f;
  }
  while (at > 0 && status == CT_OK) {
    status = emit_function(all[--at], opts, out, err);
  }
  ct_free(ir->arena.alloc, (void *)all, (n + 1) * sizeof *all);
  return status;
}

CtStatus ct_emit_cuda(const CtIr *ir, const CtEmitOpts *opts, CtText *out, CtErr *err) {
  CtEmitOpts own = *opts;
  char kernel[CT_EMIT_NAME_MAX];
  CtText known;
  size_t before = out->len;
  ct_text_init(&known, ir->arena.alloc);
  ct_emit_kernel_name(ir, kernel);
  own.callees = ir->functions;
  own.suffix = ""; /* kernels of one name have numbers: their functions get these, too */
  if (own.name != NULL && strncmp(own.name, kernel, strlen(kernel)) == 0) {
    own.suffix = own.name + strlen(kernel);
  }
  if (ir->functions != NULL && own.functions == NULL) {
    own.functions = &known;
  }
  CtStatus status = emit_functions(ir, &own, out, err);
  status = status == CT_OK ? emit_one(ir, &own, out, err) : status;
  if (status != CT_OK && out->s != NULL) {
    out->len = before;
    out->s[before] = '\0';
  }
  ct_text_clear(&known);
  return status;
}
