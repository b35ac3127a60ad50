/* test_tensor_core_bits.c: the results of every atom of floats on a GPU against the model of tensor
   cores, bit for bit. Skipped where there is no device. Options of other uses:
     fit            which of many arithmetics fits each atom best
     cases FILE     writes cases for tests/c/test_tensor_core.c
     save FILE      keeps what the device computed
     replay FILE    takes that, of an sm_90, instead of a device
     source         prints the kernels only: needs no device */
#include "runtime/device/device.h"
#include "runtime/device/nvrtc.h"
#include "runtime/base/text.h"
#include "tap.h"
#include "tests/c/tensor_core_oracle.h"
#include "tests/c/tensor_core_cases.h"

enum { N_TILES = 160 /* of each kind */, MAX_ATOMS = 96, MAX_VALUES = 64 };

static CtErr err;
static int target_sm;

static void need(CtStatus s, const char *what) {
  if (s != CT_OK) {
    OK(false, "%s", what);
    tap_diag("%s", err.msg);
    exit(done_testing());
  }
}

#include "tensor_core_insts.h"

/* {====== Running them ====== */

/* Products of one atom. A by rows, B by rows of n, C and D by rows: as bits in 64, and as numbers. */
typedef struct Product {
  Kind kind;
  uint64_t *bits[4];
  double *v[4];
} Product;

static int sizes_of(const Inst *in, int which) {
  const CtAtom *a = &in->atom;
  return which == CT_ATOM_A ? a->m * a->k : which == CT_ATOM_B ? a->k * a->n : a->m * a->n;
}

/* Where the layouts' element `index`, by columns of A (m, k), B (n, k), C (m, n), is in a Product. */
static int place_in(const Inst *in, int which, int index) {
  const CtAtom *a = &in->atom;
  int rows = which == CT_ATOM_B ? a->n : a->m;
  int x = index % rows, y = index / rows;
  return which == CT_ATOM_A ? x * a->k + y : which == CT_ATOM_B ? y * a->n + x : x * a->n + y;
}

static size_t bytes_of(const Inst *in, int which) {
  const Operand *o = &in->op[which];
  return in->is_wgmma && which == CT_ATOM_B
             ? 256
             : (size_t)o->n_regs * (size_t)o->reg_bytes * (size_t)in->n_lanes;
}

/* Calls for the bytes of all elements of a product in the registers of its warp: to or from them. */
static void move(const Inst *in, int which, int quad, Product *p, char *warp, bool to_warp) {
  const Operand *o = &in->op[which];
  for (int t = 0; t < in->threads; t++) {
    for (int v = 0; v < o->n_values; v++) {
      int lane = in->lane[t] + (in->tiles_per_warp > 1 ? 4 * quad : 0);
      int byte = v * o->bytes;
      size_t at =
          (size_t)((byte / o->reg_bytes * in->n_lanes + lane) * o->reg_bytes + byte % o->reg_bytes);
      uint64_t *bits = &p->bits[which][place_in(in, which, o->index[t][v])];
      if (to_warp) {
        memcpy(warp + at, bits, (size_t)o->bytes);
      } else {
        *bits = 0;
        memcpy(bits, warp + at, (size_t)o->bytes);
      }
    }
  }
}

static void put_image(const Inst *in, Product *p, char *image) {
  int k = in->atom.k, bytes = in->op[CT_ATOM_B].bytes;
  for (int l = 0; l < k; l++) {
    for (int j = 0; j < 8; j++) {
      int byte = l * bytes;
      memcpy(image + byte / 16 * 128 + j * 16 + byte % 16, &p->bits[CT_ATOM_B][l * 8 + j],
             (size_t)bytes);
    }
  }
}

static CtBuffer new_buffer(CtDevice *d, size_t bytes) {
  CtBuffer b;
  need(ct_buffer_new(d, bytes, ct_device_stream(d), &b, &err), "allocates");
  return b;
}

static void run(CtDevice *dev, CtFunction *f, const Inst *in, Product *products, int n) {
  CtStream s = ct_device_stream(dev);
  int warps = n / in->tiles_per_warp;
  CtBuffer buffers[4];
  char *host[4];
  struct {
    CtDevPtr p[4];
  } params;
  for (int o = 0; o < 4; o++) {
    size_t bytes = bytes_of(in, o);
    buffers[o] = new_buffer(dev, bytes * (size_t)warps);
    params.p[o] = buffers[o].ptr;
    host[o] = calloc((size_t)warps, bytes);
    need(host[o] == NULL ? ct_fail_nomem(&err) : CT_OK, "allocates");
    for (int i = 0; i < n && o != CT_ATOM_D; i++) {
      char *warp = host[o] + (size_t)(i / in->tiles_per_warp) * bytes;
      if (in->is_wgmma && o == CT_ATOM_B) {
        put_image(in, &products[i], warp);
      } else {
        move(in, o, i % in->tiles_per_warp, &products[i], warp, true);
      }
    }
    need(ct_device_write(dev, buffers[o].ptr, host[o], bytes * (size_t)warps, s, &err), "writes");
  }
  CtLaunch launch = {
      .grid = {(unsigned)warps, 1, 1}, .block = {(unsigned)in->n_lanes, 1, 1}, .stream = s};
  need(ct_function_launch(f, &launch, &params, sizeof params, &err), "launches");
  size_t bytes = bytes_of(in, CT_ATOM_D);
  need(ct_device_read(dev, host[CT_ATOM_D], buffers[CT_ATOM_D].ptr, bytes * (size_t)warps, s, &err),
       "reads");
  for (int i = 0; i < n; i++) {
    move(in, CT_ATOM_D, i % in->tiles_per_warp, &products[i],
         host[CT_ATOM_D] + (size_t)(i / in->tiles_per_warp) * bytes, false);
  }
  for (int o = 0; o < 4; o++) {
    ct_buffer_free(dev, &buffers[o], s);
    free(host[o]);
  }
}

/* {====== Products ====== */

static void fill_f64(CtRand *r, const Inst *in, Product *p) {
  for (int o = 0; o < 3; o++) {
    for (int i = 0; i < sizes_of(in, o); i++) {
      int e = any_int(r, -8, 8);
      double x = ldexp(ct_rand_f64(r) - 0.5, e);
      bool copies = p->kind == CANCEL && o == CT_ATOM_B && i >= in->atom.n && any_int(r, 0, 1) != 0;
      x = copies ? -p->v[o][i - in->atom.n] : x;
      memcpy(&p->bits[o][i], &x, sizeof x);
      p->v[o][i] = x;
    }
  }
}

static void fill(CtRand *r, const Inst *in, Product *p) {
  static float a[64 * CT_TC_MAX_K], b[CT_TC_MAX_K * 8], c[64 * 8];
  float *v[3] = {a, b, c};
  if (in->op[CT_ATOM_A].dtype == CT_f64) {
    fill_f64(r, in, p);
    return;
  }
  CtDtype types[3] = {in->op[0].dtype, in->op[1].dtype, in->op[2].dtype};
  fill_case(r, p->kind, types, in->atom.m, in->atom.n, in->atom.k, a, b, c);
  for (int o = 0; o < 3; o++) {
    for (int i = 0; i < sizes_of(in, o); i++) {
      uint64_t bits = ct_bits_of_float(types[o], (double)v[o][i]);
      if (types[o] == CT_tf32 && any_int(r, 0, 1) != 0) {
        bits |= (uint64_t)ct_rand_int(r, INT64_MIN, INT64_MAX) &
                0x1FFF; /* bits that are not to be read */
      }
      p->bits[o][i] = bits;
      p->v[o][i] = types[o] == CT_tf32 ? (double)float_from((uint32_t)bits)
                                       : ct_float_of_bits(types[o], bits);
    }
  }
}

static Product *new_products(const Inst *in, int *n) {
  CtRand r;
  *n = (in->is_wgmma ? N_TILES / 4 : N_TILES) * N_KINDS;
  Product *products = calloc((size_t)*n, sizeof *products);
  need(products == NULL ? ct_fail_nomem(&err) : CT_OK, "allocates");
  ct_rand_seed(&r, (uint64_t)in->atom.k);
  for (int i = 0; i < *n; i++) {
    Product *p = &products[i];
    p->kind = (Kind)(i % N_KINDS);
    for (int o = 0; o < 4; o++) {
      p->bits[o] = calloc((size_t)sizes_of(in, o), sizeof *p->bits[o]);
      p->v[o] = calloc((size_t)sizes_of(in, o), sizeof *p->v[o]);
      need(p->bits[o] == NULL || p->v[o] == NULL ? ct_fail_nomem(&err) : CT_OK, "allocates");
    }
    fill(&r, in, p);
  }
  return products;
}

static void free_products(Product *products, int n) {
  for (int i = 0; i < n; i++) {
    for (int o = 0; o < 4; o++) {
      free(products[i].bits[o]);
      free(products[i].v[o]);
    }
  }
  free(products);
}

/* One element of D: its row of A, its column of B, and what came out. */
typedef struct Element {
  Kind kind;
  int k;
  float a[CT_TC_MAX_K], b[CT_TC_MAX_K], c;
  uint64_t a_bits[CT_TC_MAX_K], b_bits[CT_TC_MAX_K], c_bits, d_bits;
} Element;

/* As a float; of tf32 all its bits, a NaN's too, which is an infinity where only bits that are not read
   tell them apart. */
static float number_in(const Inst *in, const Product *p, int which, int at) {
  return in->op[which].dtype == CT_tf32 ? float_from((uint32_t)p->bits[which][at])
                                        : (float)p->v[which][at];
}

static Element element_of(const Inst *in, const Product *p, int i, int j) {
  Element e = {.kind = p->kind, .k = in->atom.k};
  int n = in->atom.n, at = i * n + j;
  for (int l = 0; l < e.k; l++) {
    int x = i * e.k + l, y = l * n + j;
    e.a[l] = number_in(in, p, CT_ATOM_A, x);
    e.b[l] = number_in(in, p, CT_ATOM_B, y);
    e.a_bits[l] = p->bits[0][x];
    e.b_bits[l] = p->bits[1][y];
  }
  e.c = (float)p->v[2][at];
  e.c_bits = p->bits[2][at];
  e.d_bits = p->bits[3][at];
  return e;
}

static uint64_t result_bits(const Inst *in, float r) {
  return in->op[CT_ATOM_D].dtype == CT_f16 ? ct_bits_of_float(CT_f16, (double)r) : bits_from(r);
}

#include "tensor_core_fit.h"

/* {====== The test ====== */

/* What fused multiply-adds make of it, k ascending. */
static uint64_t f64_bits(const Product *p, int n, int k, int i, int j) {
  double sum = p->v[CT_ATOM_C][i * n + j];
  uint64_t bits;
  for (int l = 0; l < k; l++) {
    sum = fma(p->v[CT_ATOM_A][i * k + l], p->v[CT_ATOM_B][l * n + j], sum);
  }
  memcpy(&bits, &sum, sizeof bits);
  return bits;
}

/* What the model computes of a product: by f64's rule without one. */
static void expect(const Inst *in, const CtTcModel *model, const Variant *variant, const Product *p,
                   uint64_t *want) {
  static float v[3][64 * CT_TC_MAX_K], d[64 * 8];
  int m = in->atom.m, n = in->atom.n, k = in->atom.k;
  for (int o = 0; o < 3 && model != NULL; o++) {
    for (int i = 0; i < sizes_of(in, o); i++) {
      v[o][i] = number_in(in, p, o, i);
    }
  }
  if (model != NULL) {
    multiply(variant, model, m, n, k, v[CT_ATOM_A], v[CT_ATOM_B], v[CT_ATOM_C], d);
  }
  for (int x = 0; x < m * n; x++) {
    want[x] = model != NULL ? result_bits(in, d[x]) : f64_bits(p, n, k, x / n, x % n);
  }
}

static void diag_element(const Element *e, uint64_t want) {
  char line[4096];
  int at = snprintf(line, sizeof line, "kind %d: got %llx, not %llx; c %llx;", (int)e->kind,
                    (unsigned long long)e->d_bits, (unsigned long long)want,
                    (unsigned long long)e->c_bits);
  for (int l = 0; l < e->k && at < 3900; l++) {
    at += snprintf(line + at, sizeof line - (size_t)at, " %llx*%llx",
                   (unsigned long long)e->a_bits[l], (unsigned long long)e->b_bits[l]);
  }
  tap_diag("%s", line);
}

/* Counts wrong results by kind. */
static int count_all_wrong(const Inst *in, const CtTcModel *model, const Variant *variant,
                           const Product *products, int n, int n_shown, int *wrong) {
  static uint64_t want[64 * 8];
  int n_wrong = 0;
  for (int i = 0; i < n; i++) {
    expect(in, model, variant, &products[i], want);
    for (int x = 0; x < in->atom.m * in->atom.n; x++) {
      if (want[x] == products[i].bits[CT_ATOM_D][x]) {
        continue;
      }
      n_wrong++;
      if (wrong[products[i].kind]++ < n_shown) {
        Element e = element_of(in, &products[i], x / in->atom.n, x % in->atom.n);
        diag_element(&e, want[x]);
      }
    }
  }
  return n_wrong;
}

static void check(const Inst *in, const Product *products, int n, int n_shown) {
  CtTcModel model = {0};
  int wrong[N_KINDS] = {0}, n_wrong = 0;
  bool has_model = ct_tc_model(&in->atom, target_sm, &model);
  if (!has_model && in->op[CT_ATOM_A].dtype != CT_f64) {
    OK(false, "%s has a model", in->atom.name);
    return;
  }
  for (size_t v = 0; v < (has_model ? CT_ARRAY_LEN(variants) : 1); v++) {
    if (can_run(v)) {
      n_wrong +=
          count_all_wrong(in, has_model ? &model : NULL, &variants[v], products, n, n_shown, wrong);
    }
  }
  if (!IS_INT(n_wrong, 0, "%s: %d results", in->atom.name, n * in->atom.m * in->atom.n)) {
    char line[256];
    int at = 0;
    for (Kind kind = 0; kind < N_KINDS; kind++) {
      at += snprintf(line + at, sizeof line - (size_t)at, " %d:%d", (int)kind, wrong[kind]);
    }
    tap_diag("wrong by kind:%s", line);
  }
}

/* {====== The device, or what it said ====== */

typedef struct Source {
  CtDevice *dev;
  CtModule *module;
  FILE *save, *replay;
} Source;

static void open_device(Source *s) {
  CtDeviceOptions options = {.alloc = ct_alloc_std};
  need(ct_device_open(&options, &s->dev, &err), "opens");
  target_sm = ct_device_info(s->dev)->sm;
  find_insts(target_sm);
  CtText source = all_kernels();
  CtNvrtcOutput out;
  CtNvrtcJob job = {.alloc = ct_alloc_std,
                    .source = ct_text_str(&source),
                    .name = "tensor_core_bits",
                    .arch = ct_device_info(s->dev)->arch};
  need(ct_nvrtc_build(&job, NULL, &out, &err), "compiles");
  need(ct_module_new(s->dev, out.image.s, &s->module, &err), "loads");
  ct_nvrtc_output_clear(&out);
  ct_text_clear(&source);
}

static void compute(Source *s, int which, Product *products, int n) {
  const Inst *in = &insts[which];
  size_t bytes = (size_t)in->op[CT_ATOM_D].bytes;
  if (s->replay == NULL) {
    char name[16];
    CtFunction *f = NULL;
    snprintf(name, sizeof name, "k%d", which);
    need(ct_module_function(s->module, name, name, NULL, 0, SIZE_MAX, &f, &err), name);
    run(s->dev, f, in, products, n);
  }
  for (int i = 0; i < n; i++) {
    for (int x = 0; x < in->atom.m * in->atom.n; x++) {
      uint64_t *bits = &products[i].bits[CT_ATOM_D][x];
      if (s->replay != NULL && fread(bits, bytes, 1, s->replay) != 1) {
        need(ct_fail(&err, CT_EINVAL, "the file ends in %s", in->atom.name), "replays");
      }
      if (s->save != NULL) {
        fwrite(bits, bytes, 1, s->save);
      }
    }
  }
}

static FILE *file_of(int argc, char **argv, const char *option, const char *how) {
  for (int i = 1; i + 1 < argc; i++) {
    if (strcmp(argv[i], option) == 0) {
      FILE *f = fopen(argv[i + 1], how);
      need(f == NULL ? ct_fail(&err, CT_EINVAL, "%s cannot be opened", argv[i + 1]) : CT_OK,
           option);
      return f;
    }
  }
  return NULL;
}

static bool has_option(int argc, char **argv, const char *option) {
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], option) == 0) {
      return true;
    }
  }
  return false;
}

int main(int argc, char **argv) {
  Source source = {.save = file_of(argc, argv, "save", "wb"),
                   .replay = file_of(argc, argv, "replay", "rb")};
  FILE *cases = file_of(argc, argv, "cases", "w");
  int n_devices = 0;
  if (has_option(argc, argv, "source") || source.replay != NULL) {
    target_sm = 90;
    find_insts(target_sm);
    CtText t = all_kernels();
    fputs(source.replay == NULL ? ct_text_str(&t) : "", stdout);
    ct_text_clear(&t);
    if (source.replay == NULL) {
      return 0;
    }
  } else if (ct_device_count(&n_devices, &err) != CT_OK || n_devices == 0) {
    return skip_all("no CUDA device");
  } else {
    open_device(&source);
  }
  for (int i = 0; i < n_insts; i++) {
    int n;
    Product *products = new_products(&insts[i], &n);
    compute(&source, i, products, n);
    check(&insts[i], products, n, argc > 1 ? 2 : 1);
    if (has_option(argc, argv, "fit")) {
      fit(&insts[i], products, n);
    }
    if (cases != NULL) {
      write_cases(cases, &insts[i], products, n);
    }
    free_products(products, n);
  }
  for (int i = 0; i < 3; i++) {
    FILE *f = i == 0 ? cases : i == 1 ? source.save : source.replay;
    if (f != NULL) {
      fclose(f);
    }
  }
  if (source.dev != NULL) {
    ct_module_free(source.module);
    ct_device_close(source.dev);
  }
  return done_testing();
}
