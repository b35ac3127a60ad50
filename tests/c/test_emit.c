/* test_emit.c: kernels as CUDA C: the text against goldens (run with --update to write them anew), what
   NVRTC and its assembler say of it, where its errors point, and failing memory. */
#include "runtime/emit/emit_cuda.h"

#include "emit_kernels.h"
#include "runtime/device/nvrtc.h"
#include "tap.h"

static void build_matmul(Kit *k, int sm) { build_moye_matmul(k, sm); }
static void build_sgemm_serpentine(Kit *k, int sm) { build_sgemm(k, sm, "serpentine"); }
static void build_sgemm_pairs(Kit *k, int sm) { build_sgemm(k, sm, "column_pairs"); }
static void build_sgemm_rows(Kit *k, int sm) { build_sgemm(k, sm, "rows"); }

/* printf of values of each type, and an assertion. */
static void build_messages(Kit *k, int sm) {
  CtIr *ir = &k->ir;
  kit_begin(k, "messages", sm, 32, 1);
  at(k, 1);
  const CtVal vals[] = {tid(k, 0),
                        number(k, "u", CT_u32, 0, UINT32_MAX),
                        any_long(k, "l"),
                        ct_ir_cast(ir, number(k, "h", CT_f16, INT64_MIN, INT64_MAX), CT_f64),
                        ct_ir_const_float(ir, CT_f64, 0.5),
                        lt(k, tid(k, 0), num(k, 3))};
  ct_ir_printf(ir, "%d %u %lld %g %g %s\n", 6, vals);
  at(k, 2);
  ct_ir_assert(ir, vals[5], "never");
  at(k, 3);
  ct_ir_printf(ir, "100%%\?\?!\n", 0, NULL);
}

static const struct Case {
  const char *name;
  void (*build)(Kit *k, int sm);
  int sm; /* of the golden */
} cases[] = {
    {"matmul", build_matmul, 80},           {"matmul_sm75", build_matmul, 75},
    {"notebook", build_notebook, 90},       {"saxpy", build_saxpy, 90},
    {"transpose", build_transpose, 75},     {"sgemm_serpentine", build_sgemm_serpentine, 80},
    {"sgemm_pairs", build_sgemm_pairs, 75}, {"sgemm_rows", build_sgemm_rows, 90},
    {"integers", build_integers, 90},       {"floats", build_floats, 90},
    {"control", build_control, 90},         {"tiles", build_tiles, 90},
    {"escape", build_escape, 90},           {"names", build_names, 90},
    {"messages", build_messages, 90},
};

static CtStatus emit(Kit *k, bool for_launch, CtText *out) {
  const CtEmitOpts opts = {.line_directives = for_launch, .print_records = for_launch};
  CtStatus status = ct_ir_finish(&k->ir, &k->err);
  return status == CT_OK ? ct_emit_cuda(&k->ir, &opts, out, &k->err) : status;
}

static char *read_file(const char *path) {
  FILE *f = fopen(path, "rb");
  if (f == NULL) {
    return NULL;
  }
  fseek(f, 0, SEEK_END);
  long size = ftell(f);
  rewind(f);
  char *text = malloc((size_t)size + 1);
  text[fread(text, 1, (size_t)size, f)] = '\0';
  fclose(f);
  return text;
}

/* Shows where two texts part. */
static void show_difference(const char *got, const char *want) {
  int line = 1;
  size_t start = 0, i = 0;
  for (; got[i] != '\0' && got[i] == want[i]; i++) {
    if (got[i] == '\n') {
      line++;
      start = i + 1;
    }
  }
  tap_diag("line %d differs", line);
  tap_diag("     got: %.*s", (int)strcspn(got + start, "\n"), got + start);
  tap_diag("expected: %.*s", (int)strcspn(want + start, "\n"), want + start);
}

static void check_golden(const struct Case *c, const char *text, bool update) {
  char path[256];
  snprintf(path, sizeof path, "tests/golden/emit_%s.cu", c->name);
  if (update) {
    FILE *f = fopen(path, "wb");
    if (OK(f != NULL, "%s can be written", path)) {
      fputs(text, f);
      fclose(f);
    }
    return;
  }
  char *want = read_file(path);
  bool same = want != NULL && strcmp(text, want) == 0;
  if (!OK(same, "%s as in %s", c->name, path) && want != NULL) {
    show_difference(text, want);
  }
  free(want);
}

static void test_goldens(bool update) {
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    Kit k;
    CtText text;
    ct_text_init(&text, ct_alloc_std);
    cases[i].build(&k, cases[i].sm);
    if (OK(emit(&k, false, &text) == CT_OK, "%s is emitted %s", cases[i].name, k.err.msg)) {
      check_golden(&cases[i], ct_text_str(&text), update);
    }
    ct_text_clear(&text);
    ct_ir_clear(&k.ir);
  }
}

/* --- NVRTC -------------------------------------------------------------------------------------- */

static bool has_nvrtc(void) {
  int major, minor;
  CtErr err;
  return ct_nvrtc_version(&major, &minor, &err) == CT_OK;
}

static CtNvrtcJob job_of(const Kit *k, const char *source, const char *arch) {
  static const char *const options[] = {"--ptxas-options=-v"};
  return (CtNvrtcJob){.alloc = ct_alloc_std,
                      .source = source,
                      .name = k->ir.name,
                      .arch = arch,
                      .options = options,
                      .n_options = 1};
}

static CtStatus compile(Kit *k, const char *source, const char *arch, CtNvrtcOutput *out) {
  CtNvrtcJob job = job_of(k, source, arch);
  return ct_nvrtc_compile(&job, out, &k->err);
}

/* The line of the ledger (scripts/ledger.lua) of a text that passes; its hash is the begin of the code's key. */
static bool ledger_line(const Kit *k, const char *source, const char *arch, char line[128]) {
  char key[CT_NVRTC_KEY_BYTES];
  CtErr err;
  CtNvrtcJob job = job_of(k, source, arch);
  if (ct_nvrtc_code_key(&job, key, &err) != CT_OK) {
    return false;
  }
  snprintf(line, 128, "%.16s %s test_emit %s\n", key, arch, k->ir.name);
  return true;
}

static bool is_listed(const char *line) {
  const char *wanted = getenv("LEDGER"); /* LEDGER=: all is compiled */
  char *lines = wanted == NULL || *wanted != '\0' ? read_file("tests/golden/cubins.txt") : NULL;
  bool is = lines != NULL && strstr(lines, line) != NULL;
  free(lines);
  return is;
}

/* For `make ledger`. */
static void record(const char *line) {
  char path[1024];
  const char *base = getenv("RECORD");
  snprintf(path, sizeof path, "%s.cubins", base != NULL ? base : "");
  FILE *f = base != NULL && *base != '\0' ? fopen(path, "a") : NULL;
  if (f != NULL) {
    fputs(line, f);
    fclose(f);
  }
}

/* Registers without addresses, no spilling, no warning. */
static bool check_log(const char *name, const char *arch, const char *log) {
  bool clean = strstr(log, " 0 bytes stack frame, 0 bytes spill stores") != NULL &&
               strstr(log, "warning") == NULL;
  if (!OK(clean, "%s: no warning and no local memory on %s", name, arch)) {
    tap_diag("%s", log);
  }
  return clean;
}

/* Compiles and checks a text; true: all of it holds. */
static bool passes(const struct Case *c, Kit *k, const char *text, const char *arch, bool has_log) {
  CtNvrtcOutput out;
  bool ok = compile(k, text, arch, &out) == CT_OK;
  if (!OK(ok, "%s compiles for %s %s", c->name, arch, k->err.msg)) {
    tap_diag("%s:%d", k->err.chunk, k->err.line);
    return false;
  }
  ok = !has_log || check_log(c->name, arch, ct_text_str(&out.log));
  ct_nvrtc_output_clear(&out);
  return ok;
}

static void compile_case(const struct Case *c, int sm, const char *arch, bool for_launch) {
  Kit k;
  CtText text;
  char line[128] = "";
  ct_text_init(&text, ct_alloc_std);
  c->build(&k, sm);
  if (OK(emit(&k, for_launch, &text) == CT_OK, "%s is emitted for %s %s", c->name, arch,
         k.err.msg)) {
    bool has_log = for_launch || k.ir.n_prints == 0; /* CUDA's printf takes its values in memory */
    bool has_line = ledger_line(&k, ct_text_str(&text), arch, line);
    bool is_known = has_line && is_listed(line);
    if ((is_known || passes(c, &k, ct_text_str(&text), arch, has_log)) && has_line) {
      record(line);
    }
  }
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

static void test_compiles(void) {
  static const struct {
    int sm;
    const char *arch;
  } archs[] = {{75, "sm_75"}, {80, "sm_80"}, {90, "sm_90a"}};
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    for (size_t j = 0; j < CT_ARRAY_LEN(archs); j++) {
      compile_case(&cases[i], archs[j].sm, archs[j].arch, j != 1);
    }
  }
}

/* A mistake in CUDA text, behind loops of many lines: the compiler names the script's line. */
static void test_blame(void) {
  Kit k;
  CtText text;
  CtNvrtcOutput out;
  kit_begin(&k, "blame", 90, 32, 1);
  at(&k, 1);
  CtView x = tensor(&k, "x", CT_f32, "(32,4)", "(1,32)");
  CtView r = ct_ir_fragment(&k.ir, "r", CT_f32, lay(&k, "(32,4)"));
  at(&k, 3);
  copy(&k, x, r);
  at(&k, 7);
  ct_ir_escape(&k.ir, CT_VOID, "nowhere = 1", 0, NULL, NULL);
  at(&k, 8);
  copy(&k, r, x);
  ct_text_init(&text, ct_alloc_std);
  CtStatus status = emit(&k, true, &text);
  status = status == CT_OK ? compile(&k, ct_text_str(&text), "sm_90a", &out) : status;
  IS_INT(status, CT_EDEVICE, "a mistake in CUDA text is found");
  IS_STR(k.err.chunk, "blame.lua", "in the script");
  IS_INT(k.err.line, 7, "at its line");
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

/* --- details ------------------------------------------------------------------------------------- */

/* Text of a kernel that stores one value made by `make`. */
static void check_text(CtVal (*make)(Kit *k), CtDtype type, const char *part) {
  Kit k;
  CtText text;
  kit_begin(&k, "one", 90, 32, 1);
  at(&k, 1);
  CtView out = tensor(&k, "out", type, "(32)", "(1)");
  ct_ir_store(&k.ir, out.buf, tid(&k, 0), make(&k));
  ct_text_init(&text, ct_alloc_std);
  if (OK(emit(&k, false, &text) == CT_OK, "is emitted %s", k.err.msg)) {
    HAS_STR(ct_text_str(&text), part, "%s", part);
  }
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

static CtVal natural(Kit *k, const char *name) { return number(k, name, CT_i32, 0, 1000); }
static CtVal make_wrap(Kit *k) {
  return op2(k, CT_OP_SUB, mul(k, any_int(k, "a"), num(k, 3)), num(k, 1));
}
static CtVal make_plain(Kit *k) {
  return add(k, natural(k, "a"), add(k, natural(k, "b"), natural(k, "c")));
}
static CtVal make_minus(Kit *k) {
  return op2(k, CT_OP_SUB, natural(k, "a"), op2(k, CT_OP_SUB, natural(k, "b"), natural(k, "c")));
}
static CtVal make_div(Kit *k) {
  return mul(k, op2(k, CT_OP_FLOORDIV, natural(k, "a"), num(k, 8)), num(k, 4));
}
static CtVal make_floor(Kit *k) { return op2(k, CT_OP_FLOORMOD, any_int(k, "a"), num(k, 6)); }
static CtVal make_floor_mask(Kit *k) {
  return mul(k, op2(k, CT_OP_FLOORMOD, any_int(k, "a"), num(k, 8)), num(k, 3));
}
static CtVal make_floor_shift(Kit *k) {
  return op2(k, CT_OP_FLOORDIV, op2(k, CT_OP_SUB, natural(k, "a"), natural(k, "b")), num(k, 16));
}
static CtVal make_div_extent(Kit *k) {
  return op2(k, CT_OP_FLOORMOD, op2(k, CT_OP_FLOORDIV, natural(k, "a"), natural(k, "b")),
             natural(k, "c"));
}
static CtVal make_shift(Kit *k) { return op2(k, CT_OP_SHR, any_int(k, "a"), any_int(k, "b")); }
static CtVal make_bits(Kit *k) {
  return op2(k, CT_OP_XOR, op2(k, CT_OP_AND, any_int(k, "a"), num(k, 1)), any_int(k, "b"));
}
static CtVal make_sum(Kit *k) {
  return add(k, f32(k, 0.1), add(k, number(k, "a", CT_f32, 0, 0), f32(k, 100)));
}
static CtVal make_nan(Kit *k) { return ct_ir_const_float(&k->ir, CT_f32, 0.0 / 0.0); }
static CtVal make_logic(Kit *k) {
  CtVal a = any_int(k, "a"), b = any_int(k, "b"), c = any_int(k, "c");
  CtVal both = op2(k, CT_OP_LAND, lt(k, a, b), lt(k, b, c));
  return ct_ir_select(&k->ir, op2(k, CT_OP_LOR, both, lt(k, num(k, 3), c)), a, b);
}

static void test_expressions(void) {
  check_text(make_wrap, CT_i32, "out[tid_x] = (int)((unsigned)a * 3 - 1);");
  check_text(make_plain, CT_i32, "out[tid_x] = a + b + c;");
  check_text(make_minus, CT_i32, "out[tid_x] = a - (b - c);");
  check_text(make_div, CT_i32, "out[tid_x] = a / 8 * 4;");
  check_text(make_floor, CT_i32, "out[tid_x] = floormod(a, 6);");
  check_text(make_floor_mask, CT_i32, "out[tid_x] = (a & 7) * 3;");
  check_text(make_floor_shift, CT_i32, "out[tid_x] = (a - b) >> 4;");
  check_text(make_div_extent, CT_i32, "out[tid_x] = a / b % c;");
  check_text(make_shift, CT_i32, "out[tid_x] = shift_right(a, b);");
  check_text(make_bits, CT_i32, "out[tid_x] = (a & 1) ^ b;");
  check_text(make_sum, CT_f32, "out[tid_x] = a + 100.0f + 0.1f;");
  check_text(make_nan, CT_f32, "out[tid_x] = __int_as_float(0x");
  check_text(make_logic, CT_i32, "out[tid_x] = (a < b && b < c) || c > 3 ? a : b;");
}

/* A read is written where it is used only if nothing changes it in between. */
static void test_snapshots(void) {
  Kit k;
  CtText text;
  kit_begin(&k, "snap", 90, 32, 1);
  at(&k, 1);
  CtView x = tensor(&k, "x", CT_f32, "(32)", "(1)");
  CtView y = tensor(&k, "y", CT_f32, "(32)", "(1)");
  CtVal t = tid(&k, 0);
  CtVal a = ct_ir_load(&k.ir, x.buf, t), b = ct_ir_load(&k.ir, y.buf, t);
  ct_ir_store(&k.ir, y.buf, num(&k, 0), f32(&k, 1));
  CtVal s = var_of(&k, "s", b);
  CtVal before = get(&k, s);
  ct_ir_set(&k.ir, s, a);
  ct_ir_store(&k.ir, y.buf, num(&k, 1), before);
  ct_ir_store(&k.ir, y.buf, num(&k, 2), get(&k, s));
  ct_text_init(&text, ct_alloc_std);
  OK(emit(&k, false, &text) == CT_OK, "is emitted %s", k.err.msg);
  const char *got = ct_text_str(&text);
  HAS_STR(got, "  const float y_tid_x = y[tid_x];\n  y[0] = 1.0f;\n",
          "a load is kept before a store");
  HAS_STR(got, "  float s = y_tid_x;\n  const float s_now = s;\n  s = x[tid_x];\n",
          "a variable is kept before an assignment; a tensor that nobody writes is read late");
  HAS_STR(got, "  y[1] = s_now;\n  y[2] = s;\n",
          "and where nothing intervenes it is read in place");
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

/* Launched text leaves records, with the parameters of CtPrintArgs behind all others. */
static void test_records(void) {
  Kit k;
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  build_messages(&k, 90);
  OK(emit(&k, true, &text) == CT_OK, "is emitted %s", k.err.msg);
  const char *got = ct_text_str(&text);
  HAS_STR(got, "int* fault, unsigned long long* print_log, unsigned first_print) {", "parameters");
  HAS_STR(got,
          "print_record(print_log, first_print + 0, tid_x, u, l, "
          "__double_as_longlong((double)f16_to_f32(h)), __double_as_longlong(0.5), tid_x < 3);",
          "values as words");
  HAS_STR(got, "print_record(print_log, first_print + 1);", "a text without values");
  OK(strstr(got, "printf(") == NULL, "CUDA's printf is not called");
  OK(ct_emit_has_prints(&k.ir) && k.ir.n_prints == 2, "the IR counts them");
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

static void test_names(void) {
  static const struct {
    const char *ir, *cuda;
  } names[] = {{"matmul", "matmul"},
               {"float", "float_kernel"},
               {"round", "round_kernel"},
               {"std", "std_kernel"},
               {"__trap", "v_trap"},
               {"a-b", "a_b"},
               {"_k__1", "_k__1"},
               {"9", "v9"},
               {"", "v"}};
  for (size_t i = 0; i < CT_ARRAY_LEN(names); i++) {
    char got[CT_EMIT_NAME_MAX];
    CtIr ir = {.name = names[i].ir};
    ct_emit_kernel_name(&ir, got);
    IS_STR(got, names[i].cuda, "kernel '%s'", names[i].ir);
  }
}

/* Assembly has its operands also where its text does not name them, as in the kernel of a file. */
static void test_unnamed_operand(void) {
  Kit k;
  kit_begin(&k, "unnamed", 90, 32, 1);
  at(&k, 1);
  CtView x = tensor(&k, "x", CT_f32, "(32)", "(1)");
  const char *const names[] = {"v"};
  const CtVal vals[] = {bid(&k, 0)};
  const CtTextPlace place = {.name = "p", .buf = x.buf, .at = tid(&k, 0)};
  ct_ir_code(&k.ir, CT_VOID,
             &(CtEscape){.text = "membar.gl;",
                         .n = 1,
                         .names = names,
                         .vals = vals,
                         .n_places = 1,
                         .places = &place,
                         .is_ptx = true});
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  IS_INT(emit(&k, false, &text), CT_OK, "%s", k.err.msg);
  OK(strstr(ct_text_str(&text), "\"r\"(bid_x), \"l\"(&x[tid_x])") != NULL, "both are declared");
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

static void test_shared_limit(void) {
  Kit k;
  build_names(&k, 90);
  IS_INT(ct_emit_dynamic_shared(&k.ir), ct_ir_shared_bytes(&k.ir), "beyond 48 KiB: all dynamic");
  ct_ir_clear(&k.ir);
  build_moye_matmul(&k, 90);
  IS_INT(ct_emit_dynamic_shared(&k.ir), 0, "within 48 KiB: none");
  ct_ir_clear(&k.ir);
}

static void test_overlap(void) {
  Kit k;
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  build_saxpy(&k, 90);
  k.ir.may_overlap = true;
  OK(emit(&k, false, &text) == CT_OK, "tensors that may overlap %s", k.err.msg);
  OK(strstr(ct_text_str(&text), "__restrict__") == NULL, "no __restrict__");
  ct_text_clear(&text);
  ct_ir_clear(&k.ir);
}

/* --- failures ------------------------------------------------------------------------------------ */

static void check_failure(Kit *k, CtStatus status, int line, const char *msg) {
  CtText text;
  ct_text_init(&text, ct_alloc_std);
  ct_text_puts(&text, "before");
  IS_INT(emit(k, false, &text), status, "fails");
  IS_STR(k->err.msg, msg, "says why");
  IS_INT(k->err.line, line, "and where");
  IS_STR(ct_text_str(&text), "before", "the text stays as it was");
  ct_text_clear(&text);
  ct_ir_clear(&k->ir);
}

static void test_failures(void) {
  Kit k;
  kit_begin(&k, "bad", 90, 32, 1);
  at(&k, 5);
  const char *const names[] = {"v"};
  const CtVal vals[] = {tid(&k, 0)};
  ct_ir_escape(&k.ir, CT_VOID, "f($v, $value)", 1, names, vals);
  check_failure(&k, CT_EINVAL, 5,
                "cuda: '$value' has no operand of that name; give it one, or write $$ for a $");
  kit_begin(&k, "bad", 90, 32, 1);
  at(&k, 6);
  CtView b = ct_ir_fragment(&k.ir, "flags", CT_bool, lay(&k, "8"));
  kit_must(&k, ct_ir_gemm(&k.ir, b, b, b, &(CtGemmOrder){0}, &k.err));
  check_failure(&k, CT_EUNSUPPORTED, 6, "gemm: the elements of 'flags' are bool; expected numbers");
  kit_begin(&k, "bad", 90, 32, 1);
  at(&k, 7);
  CtView x = tensor(&k, "x", CT_f32, "(?,4)", "(4,1)"),
         y = tensor(&k, "y", CT_f32, "(4,?)", "(1,4)");
  CtNode shape[3];
  memcpy(shape, y.layout.shape, sizeof shape);
  shape[2].i = x.layout.shape[1].i; /* the same number of elements, split differently */
  y.layout.shape = shape;
  copy(&k, x, y);
  check_failure(&k, CT_EUNSUPPORTED, 7,
                "copy: the shapes of 'y' and 'x' split a run-time extent differently; give both "
                "tensors the same modes");
}

/* Whether something of the kernel is at that line. The text of an escape goes on in the lines after its own. */
static bool is_place(const CtIr *ir, long line) {
  bool found = ir->loc.line == line;
  for (CtVal v = 1; v < ir->n_insts; v++) {
    const CtInst *inst = ct_inst(ir, v);
    found = found || inst->loc.line == line;
    found = found || (inst->op == CT_OP_ESCAPE && inst->loc.line + 1 == line);
  }
  for (uint32_t i = 1; i < ir->n_bufs; i++) {
    found = found || ir->bufs[i].loc.line == line;
  }
  return found;
}

/* With is_every_line, a compiler takes each line of the kernel to be one of the script's that it is made of. */
static void test_every_line(void) {
  const CtEmitOpts opts = {.line_directives = true, .is_every_line = true};
  for (size_t i = 0; i < CT_ARRAY_LEN(cases); i++) {
    Kit k;
    CtText text;
    long line = 0, n = 0, n_bad = 0;
    cases[i].build(&k, cases[i].sm);
    kit_must(&k, ct_ir_finish(&k.ir, &k.err));
    ct_text_init(&text, ct_alloc_std);
    kit_must(&k, ct_emit_cuda(&k.ir, &opts, &text, &k.err));
    for (const char *s = strstr(ct_text_str(&text), "#line "); s != NULL && *s != '\0';) {
      bool is_directive = strncmp(s, "#line ", 6) == 0;
      line = is_directive ? strtol(s + 6, NULL, 10) : line + 1;
      n += !is_directive;
      n_bad += !is_directive && !is_place(&k.ir, line - 1);
      s += strcspn(s, "\n");
      s += *s == '\n';
    }
    OK(n > 0 && n_bad == 0, "%s: each of %ld lines has a place, not %ld", cases[i].name, n, n_bad);
    ct_text_clear(&text);
    ct_ir_clear(&k.ir);
  }
}

typedef struct Meter {
  long left;
} Meter;

static void *metered(void *ud, void *ptr, size_t old_bytes, size_t new_bytes) {
  Meter *m = ud;
  if (new_bytes > 0 && m->left-- <= 0) {
    return NULL;
  }
  return ct_alloc_std.fn(ct_alloc_std.ud, ptr, old_bytes, new_bytes);
}

/* Whichever request for memory fails, the emission fails cleanly. */
static void test_memory(void) {
  Kit k;
  build_notebook(&k, 90);
  kit_must(&k, ct_ir_finish(&k.ir, &k.err));
  CtAlloc alloc = k.ir.arena.alloc;
  const CtEmitOpts opts = {.line_directives = true};
  bool clean = true, done = false;
  long n = 0;
  for (; n < 10000 && clean && !done; n++) {
    Meter meter = {n};
    CtText text;
    CtErr err = {0};
    ct_text_init(&text, ct_alloc_std);
    k.ir.arena.alloc = (CtAlloc){metered, &meter};
    CtStatus status = ct_emit_cuda(&k.ir, &opts, &text, &err);
    k.ir.arena.alloc = alloc;
    done = status == CT_OK;
    clean = done || (status == CT_ENOMEM && text.len == 0);
    ct_text_clear(&text);
  }
  OK(clean && done && n > 5, "memory that fails at any of %ld requests is reported", n - 1);
  ct_ir_clear(&k.ir);
}

int main(int argc, char **argv) {
  test_goldens(argc > 1 && strcmp(argv[1], "--update") == 0);
  test_expressions();
  test_snapshots();
  test_records();
  test_names();
  test_unnamed_operand();
  test_shared_limit();
  test_overlap();
  test_failures();
  test_memory();
  test_every_line();
  if (has_nvrtc()) {
    if (TAP_IS_SANITIZED) {
      SKIP(1, "what NVRTC makes of the texts: it runs no code of ours");
    } else {
      test_compiles();
    }
    test_blame();
  } else {
    SKIP(1, "no NVRTC to compile the text with");
  }
  return done_testing();
}
