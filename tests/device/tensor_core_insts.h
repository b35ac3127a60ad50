/* tensor_core_insts.h: atoms of floats, their registers by thread and value, and a kernel for each, which
   only loads registers, multiplies and stores them. Part of test_tensor_core_bits.c. */
#ifndef TENSOR_CORE_INSTS_H
#define TENSOR_CORE_INSTS_H

/* {====== Atoms and their registers ====== */

typedef struct Operand {
  CtDtype dtype;
  int bytes, reg_bytes, n_values, n_regs;
  const char *reg, *constraint; /* CUDA's type of a register, and asm's letter */
  int index[128][MAX_VALUES];   /* of (thread, value): element, by columns */
} Operand;

typedef struct Inst {
  CtAtom atom;
  bool is_wgmma;
  int threads, n_lanes, tiles_per_warp;
  int lane[128];
  Operand op[4];
} Inst;

static Inst insts[MAX_ATOMS];
static int n_insts;

typedef struct Flat {
  int n, shape[12], stride[12];
} Flat;

static Flat flat_of(const char *text) {
  Flat f = {0};
  const char *colon = strchr(text, ':');
  int n_strides = 0;
  for (const char *p = text; *p != '\0';) {
    if (*p >= '0' && *p <= '9') {
      char *end;
      int v = (int)strtol(p, &end, 10);
      if (p < colon) {
        f.shape[f.n++] = v;
      } else {
        f.stride[n_strides++] = v;
      }
      p = end;
    } else {
      p++;
    }
  }
  return f;
}

static int at_flat(const Flat *f, int i) {
  int sum = 0;
  for (int m = 0; m < f->n; m++) {
    sum += i % f->shape[m] * f->stride[m];
    i /= f->shape[m];
  }
  return sum;
}

static int size_flat(const Flat *f) {
  int size = 1;
  for (int m = 0; m < f->n; m++) {
    size *= f->shape[m];
  }
  return size;
}

static void set_operand(Inst *in, CtAtomOperand which, const char *layout) {
  Operand *o = &in->op[which];
  Flat f = flat_of(layout);
  o->dtype = ct_dtype_from_name(in->atom.types[which].name);
  o->bytes = (int)ct_value_bytes(o->dtype);
  o->reg_bytes = o->bytes == 8 ? 8 : 4;
  o->n_values = size_flat(&f) / in->threads;
  o->n_regs = o->n_values * o->bytes / o->reg_bytes;
  bool is_f32 = o->dtype == CT_f32;
  o->reg = o->bytes == 8 ? "double" : is_f32 ? "float" : "unsigned";
  o->constraint = o->bytes == 8 ? "d" : is_f32 ? "f" : "r";
  for (int t = 0; t < in->threads; t++) {
    for (int v = 0; v < o->n_values; v++) {
      o->index[t][v] = at_flat(&f, t + in->threads * v);
    }
  }
}

static bool is_floats(const CtAtom *a) {
  for (int o = 0; o < 4; o++) {
    CtDtype t = ct_dtype_from_name(a->types[o].name);
    if (t == CT_VOID || !ct_is_float(t)) {
      return false;
    }
  }
  return true;
}

/* Atoms of two generations may be one instruction. */
static bool is_known(const CtAtom *a) {
  for (int i = 0; i < n_insts; i++) {
    if (strcmp(insts[i].atom.ptx, a->ptx) == 0 && insts[i].atom.m == a->m) {
      return true;
    }
  }
  return false;
}

static void find_insts(int sm) {
  for (int i = 0; i < ct_atom_count(); i++) {
    CtAtom a;
    ct_atom_get(i, &a);
    bool is_wgmma = a.kind == CT_ATOM_MMA && strcmp(a.family, "wgmma") == 0 && a.n == 8 &&
                    !a.from_shared[CT_ATOM_A];
    if (a.kind != CT_ATOM_MMA || a.sm > sm || (a.targets != CT_TARGETS_FROM && a.sm != sm) ||
        !is_floats(&a) || is_known(&a) || (strcmp(a.family, "mma.sync") != 0 && !is_wgmma)) {
      continue;
    }
    CT_ASSERT(n_insts < MAX_ATOMS);
    Inst *in = &insts[n_insts++];
    Flat lanes = flat_of(a.thr_id);
    in->atom = a;
    in->is_wgmma = is_wgmma;
    in->threads = a.threads;
    in->n_lanes = is_wgmma ? 128 : 32;
    in->tiles_per_warp = in->n_lanes / a.threads;
    for (int t = 0; t < a.threads; t++) {
      in->lane[t] = at_flat(&lanes, t);
    }
    set_operand(in, CT_ATOM_A, a.layouts[0]);
    if (!is_wgmma) {
      set_operand(in, CT_ATOM_B, a.layouts[1]);
    } else {
      in->op[CT_ATOM_B].dtype = ct_dtype_from_name(a.types[CT_ATOM_B].name);
      in->op[CT_ATOM_B].bytes = (int)ct_value_bytes(in->op[CT_ATOM_B].dtype);
    }
    set_operand(in, CT_ATOM_C, a.layouts[2]);
    set_operand(in, CT_ATOM_D, a.layouts[2]);
  }
}

/* {====== Kernels ====== */

/* "{%4,%5}": operands of asm. */
static void add_list(CtText *t, int first, int n) {
  for (int i = 0; i < n; i++) {
    ct_text_printf(t, "%s%%%d", i > 0 ? "," : "{", first + i);
  }
  ct_text_puts(t, "}");
}

static void add_operands(CtText *t, const char *flag, const Operand *o, char name) {
  for (int i = 0; i < o->n_regs; i++) {
    ct_text_printf(t, "%s\"%s%s\"(%c%d)", i > 0 ? ", " : "", flag, o->constraint, name, i);
  }
}

static void add_loads(CtText *t, const Inst *in, const Operand *o, char from, char name) {
  for (int i = 0; i < o->n_regs; i++) {
    ct_text_printf(t, "  %s %c%d = ((const %s *)%c)[(blockIdx.x * %d + %d) * %d + threadIdx.x];\n",
                   o->reg, name, i, o->reg, from, o->n_regs, i, in->n_lanes);
  }
}

static void add_mma(CtText *t, const Inst *in) {
  const Operand *a = &in->op[CT_ATOM_A], *b = &in->op[CT_ATOM_B], *d = &in->op[CT_ATOM_D];
  add_loads(t, in, b, 'b', 'B');
  add_loads(t, in, d, 'c', 'C');
  for (int i = 0; i < d->n_regs; i++) {
    ct_text_printf(t, "  %s D%d;\n", d->reg, i);
  }
  ct_text_printf(t, "  asm volatile(\"%s ", in->atom.ptx);
  add_list(t, 0, d->n_regs);
  ct_text_puts(t, ", ");
  add_list(t, d->n_regs, a->n_regs);
  ct_text_puts(t, ", ");
  add_list(t, d->n_regs + a->n_regs, b->n_regs);
  ct_text_puts(t, ", ");
  add_list(t, d->n_regs + a->n_regs + b->n_regs, d->n_regs);
  ct_text_puts(t, ";\"\n    : ");
  add_operands(t, "=", d, 'D');
  ct_text_puts(t, "\n    : ");
  add_operands(t, "", a, 'A');
  ct_text_puts(t, ", ");
  add_operands(t, "", b, 'B');
  ct_text_puts(t, ", ");
  add_operands(t, "", d, 'C');
  ct_text_puts(t, ");\n");
}

/* B is an image of shared memory: core matrices of 8 rows of 16 bytes, one after another along k. */
static void add_wgmma(CtText *t, const Inst *in) {
  const Operand *a = &in->op[CT_ATOM_A], *d = &in->op[CT_ATOM_D];
  bool is_16 = in->op[CT_ATOM_A].bytes == 2;
  add_loads(t, in, d, 'c', 'D');
  ct_text_puts(t, "  __shared__ __align__(128) unsigned s[64];\n"
                  "  if (threadIdx.x < 64) s[threadIdx.x] = b[blockIdx.x * 64 + threadIdx.x];\n"
                  "  asm volatile(\"fence.proxy.async.shared::cta;\" ::: \"memory\");\n"
                  "  __syncthreads();\n"
                  "  unsigned long long at = (unsigned long long)__cvta_generic_to_shared(s);\n"
                  "  unsigned long long desc = (at & 0x3FFFF) >> 4 | 8ull << 16 | 8ull << 32;\n");
  ct_text_printf(
      t, "  asm volatile(\"{ .reg .pred p; setp.eq.u32 p, 0, 0; wgmma.fence.sync.aligned; %s ",
      in->atom.ptx);
  add_list(t, 0, d->n_regs);
  ct_text_puts(t, ", ");
  add_list(t, d->n_regs, a->n_regs);
  ct_text_printf(t,
                 ", %%%d, p, 1, 1%s; wgmma.commit_group.sync.aligned; "
                 "wgmma.wait_group.sync.aligned 0; }\"\n    : ",
                 d->n_regs + a->n_regs, is_16 ? ", 0" : "");
  add_operands(t, "+", d, 'D');
  ct_text_puts(t, "\n    : ");
  add_operands(t, "", a, 'A');
  ct_text_puts(t, ", \"l\"(desc) : \"memory\");\n");
}

static void add_kernel(CtText *t, int which) {
  const Inst *in = &insts[which];
  const Operand *d = &in->op[CT_ATOM_D];
  ct_text_printf(t,
                 "// %s\nextern \"C\" __global__ void __launch_bounds__(%d) k%d(const unsigned *a, "
                 "const unsigned *b, const unsigned *c, unsigned *d) {\n",
                 in->atom.name, in->n_lanes, which);
  add_loads(t, in, &in->op[CT_ATOM_A], 'a', 'A');
  if (in->is_wgmma) {
    add_wgmma(t, in);
  } else {
    add_mma(t, in);
  }
  for (int i = 0; i < d->n_regs; i++) {
    ct_text_printf(t, "  ((%s *)d)[(blockIdx.x * %d + %d) * %d + threadIdx.x] = D%d;\n", d->reg,
                   d->n_regs, i, in->n_lanes, i);
  }
  ct_text_puts(t, "}\n");
}

static CtText all_kernels(void) {
  CtText t;
  ct_text_init(&t, ct_alloc_std);
  for (int i = 0; i < n_insts; i++) {
    add_kernel(&t, i);
  }
  need(ct_text_status(&t, &err), "writes the kernels");
  return t;
}

#endif
