/* mutants.c: linked in front of the CPU engine's lowering (--wrap=ct_simt_lower), breaks it in one place,
   for scripts/mutate_lowering.lua. It breaks what goes in or what comes out, so it knows nothing of how
   the lowering is written: each row of ops.def and of simt_ops.def is a case. The environment says
   which, by CUTTLE_MUTANT:
     list          print all mutants, one a line, and end
     as N M        operation N is lowered as if it were M, the next one with equal operands and result
     drop N        operation N, which has no result, is not lowered
     swap N        its first two operands are taken one for the other
     imm N         its immediate is another one: a bit of it is turned
     code N M      instruction N of the engine is M, the next one whose fields have equal roles
   CUTTLE_MUTANT_LOG names a file that gets a line for each operation and instruction that is lowered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/ir/ir.h"
#include "runtime/ir/ir_build.h"
#include "runtime/simt/code/simt_program.h"
#include "runtime/simt/simt.h"

typedef struct Mutant {
  char kind[8];
  unsigned what, as;
} Mutant;

/* {====== Which there are ====== */

/* The next of `count` rows after `row` that is like it, cyclically; row itself: there is no other. */
static unsigned next_like(unsigned row, unsigned count, bool (*is_like)(unsigned, unsigned)) {
  unsigned next = (row + 1) % count;
  while (!is_like(row, next)) {
    next = (next + 1) % count;
  }
  return next;
}

static bool is_like_op(unsigned a, unsigned b) {
  const CtOpInfo *x = &ct_ops[a], *y = &ct_ops[b];
  return x->n_args == y->n_args && x->result == y->result && x->cls == y->cls;
}

static bool is_like_code(unsigned a, unsigned b) {
  return strcmp(ct_simt_rows[a].roles, ct_simt_rows[b].roles) == 0;
}

/* A bit of the immediate that the CPU engine looks at; 0: none. */
static int64_t imm_bit(const CtOpInfo *info) {
  switch (info->data) {
    case CT_DATA_NONE:
    case CT_DATA_HINT:
    case CT_DATA_TILE:
    case CT_DATA_TMA:
    case CT_DATA_TEXT: return 0;
    case CT_DATA_GROUPS: return 2; /* bit 0 is for GPUs: boxes are moved at once here */
    default: return 1;
  }
}

static void list_op(unsigned op) {
  const CtOpInfo *info = &ct_ops[op];
  unsigned as = next_like(op, CT_OP_COUNT, is_like_op);
  if (as != op) {
    printf("as %u %u\t%s is lowered as %s\n", op, as, info->text, ct_ops[as].text);
  }
  if (info->result == CT_RES_VOID && info->cls != CT_CLS_PURE) {
    printf("drop %u\t%s is not lowered\n", op, info->text);
  }
  if (info->n_args >= 2 && (info->traits & CT_TRAIT_COMMUTES) == 0) {
    printf("swap %u\t%s takes its operands the other way round\n", op, info->text);
  }
  if (imm_bit(info) != 0) {
    printf("imm %u\t%s has another immediate\n", op, info->text);
  }
}

static void list_code(unsigned code) {
  unsigned as = next_like(code, CT_SIMT_OP_COUNT, is_like_code);
  if (as != code) {
    printf("code %u %u\tinstruction %s is %s\n", code, as, ct_simt_rows[code].name,
           ct_simt_rows[as].name);
  }
}

static void list(void) {
  for (unsigned op = 0; op < CT_OP_COUNT; op++) {
    list_op(op);
  }
  for (unsigned code = 0; code < CT_SIMT_OP_COUNT; code++) {
    list_code(code);
  }
}

/* The mutant of this process: kind "" is none. */
static const Mutant *mutant(void) {
  static Mutant m;
  static bool is_read;
  if (!is_read) {
    const char *text = getenv("CUTTLE_MUTANT");
    is_read = true;
    if (text != NULL && sscanf(text, "%7s %u %u", m.kind, &m.what, &m.as) < 1) {
      abort();
    }
  }
  return &m;
}

/* Lists before main begins, so that any program linked with this does. */
__attribute__((constructor)) static void list_if_asked(void) {
  if (strcmp(mutant()->kind, "list") == 0) {
    list();
    exit(0);
  }
}

/* {====== Breaking ====== */

/* A copy of the operations and regions in place of those of `ir`; it is never freed. */
static CtIr copy_of(const CtIr *ir) {
  CtIr copy = *ir;
  copy.insts = malloc(ir->n_insts * sizeof *copy.insts);
  copy.regions = malloc(ir->n_regions * sizeof *copy.regions);
  if (copy.insts == NULL || copy.regions == NULL) {
    abort();
  }
  memcpy(copy.insts, ir->insts, ir->n_insts * sizeof *copy.insts);
  memcpy(copy.regions, ir->regions, ir->n_regions * sizeof *copy.regions);
  return copy;
}

static void swap_operands(CtInst *inst) {
  CtVal first = inst->args[0];
  inst->args[0] = inst->args[1];
  inst->args[1] = first;
}

static void break_op(CtIr *ir, CtVal v, const Mutant *m) {
  CtInst *inst = &ir->insts[v];
  if (strcmp(m->kind, "as") == 0) {
    inst->op = (uint16_t)m->as;
  } else if (strcmp(m->kind, "swap") == 0) {
    swap_operands(inst);
  } else if (strcmp(m->kind, "imm") == 0) {
    inst->imm.i ^= imm_bit(&ct_ops[m->what]);
  } else if (strcmp(m->kind, "drop") == 0 && inst->region != 0) {
    ct_ir_unlink(ir, v);
  }
}

static void break_ops(CtIr *ir, const Mutant *m) {
  for (CtVal v = 1; v < ir->n_insts && strcmp(m->kind, "code") != 0; v++) {
    if (m->kind[0] != '\0' && ir->insts[v].op == m->what) {
      break_op(ir, v, m);
    }
  }
}

static void break_code(CtSimtProgram *p, const Mutant *m) {
  for (uint32_t i = 0; i < p->n_code && strcmp(m->kind, "code") == 0; i++) {
    if (p->code[i].u.op == m->what) {
      p->code[i].u.op = m->as;
    }
  }
}

/* {====== Which operations and instructions a program needs ====== */

static FILE *open_log(void) {
  const char *path = getenv("CUTTLE_MUTANT_LOG");
  return path == NULL ? NULL : fopen(path, "a");
}

static void write_used(FILE *log, const char *kind, const bool *used, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    if (used[i]) {
      fprintf(log, "%s:%u\n", kind, i);
    }
  }
  fclose(log);
}

static void log_ops(const CtIr *ir) {
  bool used[CT_OP_COUNT] = {false};
  FILE *log = open_log();
  for (CtVal v = 1; v < ir->n_insts && log != NULL; v++) {
    used[ir->insts[v].op] = true;
  }
  if (log != NULL) {
    write_used(log, "op", used, CT_OP_COUNT);
  }
}

static void log_codes(const CtSimtProgram *p) {
  bool used[CT_SIMT_OP_COUNT] = {false};
  FILE *log = open_log();
  for (uint32_t i = 0; i < p->n_code && log != NULL; i++) {
    used[p->code[i].u.op] = true;
  }
  if (log != NULL) {
    write_used(log, "code", used, CT_SIMT_OP_COUNT);
  }
}

/* {====== In place of ct_simt_lower ====== */

CtStatus __real_ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err);
CtStatus __wrap_ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err);

CtStatus __wrap_ct_simt_lower(CtAlloc alloc, const CtIr *ir, CtSimtProgram **out, CtErr *err) {
  CtIr copy = copy_of(ir);
  log_ops(ir);
  break_ops(&copy, mutant());
  CtStatus status = __real_ct_simt_lower(alloc, &copy, out, err);
  if (status == CT_OK) {
    log_codes(*out);
    break_code(*out, mutant());
  }
  return status;
}
