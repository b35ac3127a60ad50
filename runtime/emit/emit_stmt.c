/* emit_stmt.c: operations with effects as statements: assignments, stores, what threads do together. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"

/* "s += x" for s = s + x; the operation's second operand, or 0. */
static CtVal updated_by(const CtEmit *e, const CtInst *set) {
  const CtInst *value = ct_inst(e->ir, set->args[0]);
  bool is_update = value->op == CT_OP_ADD || value->op == CT_OP_SUB || value->op == CT_OP_MUL ||
                   value->op == CT_OP_DIV;
  if (!is_update || e->vals[set->args[0]].print != CT_PRINT_INLINE) {
    return 0;
  }
  const CtInst *left = ct_inst(e->ir, value->args[0]);
  bool is_same = left->op == CT_OP_GET && left->imm.i == set->imm.i &&
                 e->vals[value->args[0]].print == CT_PRINT_INLINE;
  bool plain = ct_is_float((CtDtype)value->type) || ct_emit_is_exact(e->ir, set->args[0]);
  return is_same && plain ? value->args[1] : 0;
}

static void emit_set(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  CtVal var = (CtVal)inst->imm.i;
  CtVal by = e->vals[v].declares ? 0 : updated_by(e, inst);
  const char *name = e->vals[v].declares ? ct_emit_new_var_name(e, var) : e->vals[var].name;
  ct_emit_begin(e, inst->loc);
  if (e->vals[v].declares) {
    ct_text_printf(&e->body, "%s ", ct_emit_type_of(e->ir, var));
  }
  if (by != 0) {
    static const char token[CT_OP_COUNT] = {
        [CT_OP_ADD] = '+', [CT_OP_SUB] = '-', [CT_OP_MUL] = '*', [CT_OP_DIV] = '/'};
    ct_text_printf(&e->body, "%s %c= ", name, token[ct_inst(e->ir, inst->args[0])->op]);
    ct_emit_expr(e, by, CT_PREC_ANY);
  } else {
    ct_text_printf(&e->body, "%s = ", name);
    ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
  }
  e->vals[var].name = name;
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

static void emit_store(CtEmit *e, const CtInst *inst) {
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "%s[", e->buf_names[inst->imm.i]);
  ct_emit_expr(e, inst->args[0], CT_PREC_ANY);
  ct_text_puts(&e->body, "] = ");
  ct_emit_expr(e, inst->args[1], CT_PREC_ANY);
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
}

static void emit_wait(CtEmit *e, const CtInst *inst) {
  if (!e->has_async) {
    return;
  }
  if (inst->op == CT_OP_CP_FENCE) {
    ct_emit_line(e, inst->loc, "%s();", ct_emit_help(e, CT_HELP_CP_COMMIT, "cp_async_commit"));
  } else if (inst->imm.i == 0) {
    ct_emit_line(e, inst->loc, "%s();", ct_emit_help(e, CT_HELP_CP_WAIT_ALL, "cp_async_wait_all"));
  } else {
    ct_emit_line(e, inst->loc, "%s<%" PRId64 ">();",
                 ct_emit_help(e, CT_HELP_CP_WAIT_GROUP, "cp_async_wait_group"), inst->imm.i);
  }
}

/* An operation with a result: a declaration where somebody uses it. */
static void emit_warp(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  const char *name = inst->type != CT_VOID && e->vals[v].n_uses > 0 ? ct_emit_new_name(e, v) : NULL;
  ct_emit_begin(e, inst->loc);
  if (name != NULL) {
    ct_text_printf(&e->body, "const %s %s = ", ct_emit_type_of(e->ir, v), name);
  }
  if (ct_op_is_sync((CtOp)inst->op)) {
    ct_emit_sync(e, inst);
  } else {
    ct_emit_warp(e, inst);
  }
  ct_text_putc(&e->body, ';');
  ct_emit_end(e);
  e->vals[v].name = name;
}

/* The barrier of a cluster; dependent launches, which follow one another where there are none. */
static void emit_together(CtEmit *e, const CtInst *inst) {
  CtOp op = (CtOp)inst->op;
  CtHelper help = op == CT_OP_CLUSTER_ARRIVE ? CT_HELP_CLUSTER_ARRIVE
                  : op == CT_OP_CLUSTER_WAIT ? CT_HELP_CLUSTER_WAIT
                  : op == CT_OP_GRID_WAIT    ? CT_HELP_GRID_WAIT
                                             : CT_HELP_GRID_LAUNCH;
  bool is_grid = op == CT_OP_GRID_WAIT || op == CT_OP_GRID_LAUNCH;
  if (e->ir->target.sm >= 90) {
    ct_emit_line(e, inst->loc, "%s();", ct_emit_help(e, help, ct_ops[op].text));
  } else if (!is_grid) {
    ct_emit_fail(
        e, inst->loc, CT_EUNSUPPORTED,
        "%s: it needs compute capability 9.0, but %s has %d.%d; write cluster_sync, or run "
        "it on the CPU engine",
        ct_ops[op].text, e->ir->target.name, e->ir->target.sm / 10, e->ir->target.sm % 10);
  }
}

/* The pointer is generic: what reaches other blocks' shared memory is the same instruction. */
static void emit_remote(CtEmit *e, const CtInst *inst) {
  uint32_t id = (uint32_t)inst->imm.i;
  const CtBuf *buf = &e->ir->bufs[id], *of = &e->ir->bufs[buf->alias_of];
  const char *type = ct_dtypes[buf->dtype].cuda;
  bool casts = of->dtype != buf->dtype;
  e->buf_names[id] = ct_names_add(&e->names, buf->name);
  ct_emit_begin(e, inst->loc);
  ct_text_printf(&e->body, "%s* const %s = %s(", type, e->buf_names[id],
                 ct_emit_help(e, CT_HELP_CLUSTER_MAP, "cluster_map"));
  ct_text_printf(&e->body, casts ? "reinterpret_cast<%s*>(%s)" : "%.0s%s", type,
                 e->buf_names[buf->alias_of]);
  ct_text_puts(&e->body, ", ");
  ct_emit_expr(e, inst->args[0], CT_PREC_COND);
  ct_text_puts(&e->body, ");");
  ct_emit_end(e);
}

void ct_emit_effect(CtEmit *e, CtVal v) {
  const CtInst *inst = ct_inst(e->ir, v);
  switch ((CtOp)inst->op) {
    case CT_OP_SET: emit_set(e, v); break;
    case CT_OP_STORE: emit_store(e, inst); break;
    case CT_OP_BARRIER: ct_emit_line(e, inst->loc, "__syncthreads();"); break;
    case CT_OP_SYNC_WARP: ct_emit_line(e, inst->loc, "__syncwarp();"); break;
    case CT_OP_REMOTE: emit_remote(e, inst); break;
    case CT_OP_CLUSTER_ARRIVE:
    case CT_OP_CLUSTER_WAIT:
    case CT_OP_GRID_WAIT:
    case CT_OP_GRID_LAUNCH: emit_together(e, inst); break;
    case CT_OP_CP_FENCE:
    case CT_OP_CP_WAIT: emit_wait(e, inst); break;
    case CT_OP_WGMMA_FENCE:
    case CT_OP_WGMMA_COMMIT:
    case CT_OP_WGMMA_WAIT: ct_emit_wgmma_order(e, v); break;
    case CT_OP_ESCAPE: ct_emit_escape(e, v); break;
    case CT_OP_PRINT: ct_emit_printf(e, inst); break;
    case CT_OP_ASSERT: ct_emit_assert(e, inst); break;
    case CT_OP_WITHIN: break; /* for check */
    case CT_OP_TMA_LOAD:
    case CT_OP_TMA_STORE: ct_emit_tma(e, inst); break;
    case CT_OP_TMA_COMMIT:
    case CT_OP_TMA_WAIT:
    case CT_OP_PROXY_FENCE: ct_emit_tma_order(e, inst); break;
    default: emit_warp(e, v); break;
  }
}
