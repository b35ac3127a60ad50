/* {====== Errors ====== */

/* Cold: what leads to it lies apart from what a launch runs. */
__attribute__((cold, format(printf, 3, 4))) static NAME_status NAME_fail(NAME_error *err,
                                                                         NAME_status status,
                                                                         const char *format, ...) {
  if (err != NULL) {
    va_list list;
    va_start(list, format);
    err->status = status;
    err->driver = 0;
    vsnprintf(err->text, sizeof err->text, format, list);
    va_end(list);
  }
  return status;
}

static NAME_status NAME_succeed(NAME_error *err) {
  if (err != NULL) {
    err->status = UPPER_OK;
    err->driver = 0;
    err->text[0] = '\0';
  }
  return UPPER_OK;
}

/* {====== The driver ====== */

typedef struct NAME_attribute {
  int id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int flag;
  } value;
} NAME_attribute;

typedef struct NAME_config { /* CUlaunchConfig */
  NAME_dim3 grid, block;
  unsigned smem;
  void *stream;
  NAME_attribute *attributes;
  unsigned n_attributes;
} NAME_config;

enum { UPPER_COOPERATIVE = 2, UPPER_CLUSTER = 4, UPPER_DEPENDENT = 6 };
enum { UPPER_SMEM_ATTRIBUTE = 8, UPPER_CLUSTER_ATTRIBUTE = 14 };
enum { UPPER_BLOCK_POINTER = 1, UPPER_BLOCK_BYTES = 2 };
enum { UPPER_MAJOR = 75, UPPER_MINOR = 76, UPPER_NO_GPU = 100 };

/* What a launch needs lies first: after a call of the driver little of it is in the caches. */
__attribute__((aligned(64))) static struct {
  bool is_ready;      /* set last: the rest is known */
  NAME_status status; /* of loading it */
  int (*current)(void **context);
  int (*launch)(const NAME_config *config, void *function, void **params, void **extra);
  int (*fill)(uint64_t at, unsigned char byte, size_t bytes, void *stream);
  int (*init)(unsigned flags);
  int (*device_count)(int *n);
  int (*get_attribute)(int *value, int attribute, int device);
  int (*device)(int *device);
  int (*error_name)(int r, const char **name);
  int (*error_text)(int r, const char **text);
  int (*load)(void **module, const void *image);
  int (*unload)(void *module);
  int (*function)(void **function, void *module, const char *name);
  int (*set_attribute)(void *function, int attribute, int value);
  int (*alloc_host)(void **p, size_t bytes);
  int (*alloc)(uint64_t *at, size_t bytes);
  int (*write)(uint64_t to, const void *from, size_t bytes);
@LIST_CALLS@  int (*map)(void *map, int dtype, uint32_t rank, void *at, const uint64_t *extents,
             const uint64_t *strides, const uint32_t *box, const uint32_t *steps, int interleave,
             int swizzle, int promotion, int outside);
  char why[256];
} NAME_cu;

static pthread_once_t NAME_once = PTHREAD_ONCE_INIT;
static pthread_mutex_t NAME_lock = PTHREAD_MUTEX_INITIALIZER;

/* `slot` is the address of a pointer to a function. */
static bool NAME_find(void *library, const char *name, void *slot) {
  void *p = dlsym(library, name);
  memcpy(slot, &p, sizeof p);
  return p != NULL;
}

static bool NAME_find_all(void *library) {
  (void)NAME_find(library, "cuTensorMapEncodeTiled", &NAME_cu.map); /* CUDA 12 and later */
  return @FIND_LIST_CALLS@NAME_find(library, "cuInit", &NAME_cu.init) &&
         NAME_find(library, "cuDeviceGetCount", &NAME_cu.device_count) &&
         NAME_find(library, "cuDeviceGetAttribute", &NAME_cu.get_attribute) &&
         NAME_find(library, "cuCtxGetCurrent", &NAME_cu.current) &&
         NAME_find(library, "cuCtxGetDevice", &NAME_cu.device) &&
         NAME_find(library, "cuGetErrorName", &NAME_cu.error_name) &&
         NAME_find(library, "cuGetErrorString", &NAME_cu.error_text) &&
         NAME_find(library, "cuModuleLoadData", &NAME_cu.load) &&
         NAME_find(library, "cuModuleUnload", &NAME_cu.unload) &&
         NAME_find(library, "cuModuleGetFunction", &NAME_cu.function) &&
         NAME_find(library, "cuFuncSetAttribute", &NAME_cu.set_attribute) &&
         NAME_find(library, "cuLaunchKernelEx", &NAME_cu.launch) &&
         NAME_find(library, "cuMemsetD8Async", &NAME_cu.fill) &&
         NAME_find(library, "cuMemAllocHost_v2", &NAME_cu.alloc_host) &&
         NAME_find(library, "cuMemAlloc_v2", &NAME_cu.alloc) &&
         NAME_find(library, "cuMemcpyHtoD_v2", &NAME_cu.write);
}

static void NAME_load_driver(void) {
  int n = 0;
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  NAME_cu.status = UPPER_NO_DEVICE;
  if (library == NULL) {
    snprintf(NAME_cu.why, sizeof NAME_cu.why, "no device: %s", dlerror());
  } else if (!NAME_find_all(library)) {
    snprintf(NAME_cu.why, sizeof NAME_cu.why, "no device: the driver is older than CUDA 11.8");
  } else {
    int r = NAME_cu.init(0);
    r = r == 0 ? NAME_cu.device_count(&n) : r;
    if (r == 0 && n > 0) {
      NAME_cu.status = UPPER_OK;
    } else {
      snprintf(NAME_cu.why, sizeof NAME_cu.why, "no device: the driver has none (CUresult %d)",
               r == 0 ? UPPER_NO_GPU : r);
    }
  }
  __atomic_store_n(&NAME_cu.is_ready, true, __ATOMIC_RELEASE);
}

/* Fails with what the driver says of its result. */
static NAME_status NAME_driver_fail(NAME_error *err, int r, const char *kernel, const char *call) {
  const char *name = NULL, *text = NULL;
  (void)NAME_cu.error_name(r, &name);
  (void)NAME_cu.error_text(r, &text);
  NAME_fail(err, UPPER_DRIVER_ERROR, "%s: %s: %s: %s", kernel, call, name == NULL ? "?" : name,
            text == NULL ? "?" : text);
  if (err != NULL) {
    err->driver = r;
  }
  return UPPER_DRIVER_ERROR;
}

/* The current context. */
static NAME_status NAME_enter(const char *kernel, void **context, NAME_error *err) {
  if (!__atomic_load_n(&NAME_cu.is_ready, __ATOMIC_ACQUIRE)) {
    (void)pthread_once(&NAME_once, NAME_load_driver);
  }
  if (NAME_cu.status != UPPER_OK) {
    return NAME_fail(err, NAME_cu.status, "%s: %s", kernel, NAME_cu.why);
  }
  int r = NAME_cu.current(context);
  if (r != 0) {
    return NAME_driver_fail(err, r, kernel, "cuCtxGetCurrent");
  }
  if (*context == NULL) {
    return NAME_fail(err, UPPER_NO_DEVICE,
                     "%s: no CUDA context is current in this thread; call cuCtxSetCurrent, or any "
                     "function of the CUDA runtime such as cudaFree(0)",
                     kernel);
  }
  return UPPER_OK;
}

/* {====== What this file holds ====== */

/* A value of 8 bytes: a parameter of a kernel, or an argument. */
typedef union NAME_slot {
  int64_t i;
  uint64_t u;
  double f64;
  float f32;
  uint16_t bits;
  const NAME_tensor *tensor;
@LIST_SLOT@} NAME_slot;

typedef enum NAME_kind { UPPER_TENSOR, UPPER_NUMBER, UPPER_CONSTANT@LIST_KIND@ } NAME_kind;

/* What the kernel takes for granted of an extent or a stride: low <= v <= high, and v & mask is 0. */
typedef struct NAME_leaf {
  int64_t low, high;
  uint32_t mask;
  uint32_t slot; /* that gets the value, from the address on; 0: it is a constant of the kernel */
} NAME_leaf;

typedef struct NAME_mode {
  NAME_leaf extent, stride;
} NAME_mode;

typedef struct NAME_rule { /* of an argument */
  uint8_t kind, dtype;
  uint8_t rank;    /* of a tensor */
  uint8_t bytes;   /* of an element; 0: the kernel uses none */
  uint16_t slot;   /* of a tensor's address, or of a number */
  uint16_t modes;  /* of a tensor: where they begin */
  unsigned align;  /* of the address, bytes */
  int64_t value;   /* no element of a TENSOR has a larger index; bits of a CONSTANT */
  int64_t most;    /* elements of a tensor that the kernel can count: with strides of 0 few bytes may have many */
} NAME_rule;

typedef struct NAME_text { /* what messages say of an argument */
  const char *title;
  const int64_t *examples; /* of its extents, then of its strides */
} NAME_text;

typedef struct NAME_pack { /* a slot in the block of parameters, by rising offsets */
  uint16_t slot, offset;
} NAME_pack;

typedef struct NAME_site { /* an assert */
  const char *text;
  int line;
} NAME_site;

typedef struct NAME_map { /* a tensor map, before it is encoded */
  const char *name;
  int dtype, swizzle, promotion; /* as the driver numbers them */
  int rank;
  uint64_t at;
  uint64_t extent[5], stride[5]; /* elements; bytes */
  uint32_t box[5];
} NAME_map;

/* The code of one specialisation for one capability. First what each launch reads. */
typedef struct NAME_code {
  int number;     /* in this file */
  bool is_listed; /* its parameters are passed one by one */
  int n_packs, n_maps, n_sites;
  unsigned bytes; /* of the block of parameters */
  int maps_at, fault_at;
  int grid_at; /* place of the address of the word of sync_grid; -1: none */
  unsigned smem;
  const NAME_pack *packs;
  NAME_status (*maps)(const NAME_slot *s, NAME_map *m, NAME_error *err);
  const int *map_slots; /* that the maps are made of, ended by -1 */
  const NAME_site *sites;
  const void *image;
  const char *symbol;
  int sm;      /* 90 */
  char suffix; /* 'a': for this one only; 'f': for its family; 'p': PTX, for this one and later */
} NAME_code;

/* A kernel for arguments of certain types, constants and divisors. First what each launch reads. */
typedef struct NAME_special {
  const NAME_rule *rules;
  const NAME_mode *modes; /* of all tensors; those with the same ones share them */
  NAME_status (*require)(const NAME_slot *s, NAME_error *err);
  const NAME_code *codes;
  const uint16_t *written; /* the arguments that the kernel writes */
  uint16_t n_codes, n_written;
  bool may_overlap; /* tensors may share memory */
  bool is_dependent, is_cooperative, is_deterministic;
  NAME_dim3 block, cluster;
  NAME_dim3 grid; /* that of the example */
  const NAME_text *texts;
} NAME_special;

typedef struct NAME_kernel {
  const char *name;
  int n_args;
  const NAME_special *specials;
  int n_specials;
} NAME_kernel;

@LIMITS@

@CHECK@
/* {====== Loading code ====== */

/* The code in one context. */
typedef struct NAME_loaded {
  void *context; /* NULL: this place is free. It is set last, so that readers need no lock */
  void *function;
  int *fault; /* what the asserts write to, or NULL */
} NAME_loaded;

static NAME_loaded NAME_loads[UPPER_CODES][UPPER_CONTEXTS];

static const NAME_loaded *NAME_find_loaded(const NAME_code *code, const void *context) {
  for (int i = 0; i < UPPER_CONTEXTS; i++) {
    const NAME_loaded *l = &NAME_loads[code->number][i];
    void *held = __atomic_load_n(&l->context, __ATOMIC_ACQUIRE);
    if (held == context || held == NULL) {
      return held == NULL ? NULL : l;
    }
  }
  return NULL;
}

/* Does a GPU of that capability run the code? */
static bool NAME_runs(const NAME_code *code, int sm) {
  switch (code->suffix) {
    case 'a': return code->sm == sm;
    case 'p': return code->sm <= sm;
    default: return code->sm / 10 == sm / 10 && code->sm <= sm;
  }
}

/* The first code that runs there: the table has the best ones first. */
static NAME_status NAME_code_for(const NAME_kernel *k, const NAME_special *special,
                                 const NAME_code **out, NAME_error *err) {
  int device = 0, major = 0, minor = 0;
  int r = NAME_cu.device(&device);
  r = r == 0 ? NAME_cu.get_attribute(&major, UPPER_MAJOR, device) : r;
  r = r == 0 ? NAME_cu.get_attribute(&minor, UPPER_MINOR, device) : r;
  if (r != 0) {
    return NAME_driver_fail(err, r, k->name, "cuDeviceGetAttribute");
  }
  for (int i = 0; i < special->n_codes; i++) {
    if (NAME_runs(&special->codes[i], 10 * major + minor)) {
      *out = &special->codes[i];
      return UPPER_OK;
    }
  }
  return NAME_fail(err, UPPER_NO_CODE,
                   "%s: there is no code for compute capability %d.%d; export it with --sm=%d%d",
                   k->name, major, minor, major, minor);
}

/* Asks for more shared memory and larger clusters than every kernel may have. */
static int NAME_allow(const NAME_code *code, const NAME_special *special, void *function) {
  NAME_dim3 c = special->cluster;
  int r = 0;
  if (code->smem > 0) {
    r = NAME_cu.set_attribute(function, UPPER_SMEM_ATTRIBUTE, (int)code->smem);
  }
  if (r == 0 && c.x * c.y * c.z > 8) {
    r = NAME_cu.set_attribute(function, UPPER_CLUSTER_ATTRIBUTE, 1);
  }
  return r;
}

static NAME_status NAME_load(const NAME_kernel *k, const NAME_special *special,
                             const NAME_code *code, NAME_loaded *out, NAME_error *err) {
  void *module = NULL, *fault = NULL;
  const char *call = "cuModuleLoadData";
  int r = NAME_cu.load(&module, code->image);
  if (r == 0) {
    call = "cuModuleGetFunction";
    r = NAME_cu.function(&out->function, module, code->symbol);
  }
  if (r == 0) {
    call = "cuFuncSetAttribute";
    r = NAME_allow(code, special, out->function);
  }
  if (r == 0 && code->n_sites > 0) {
    call = "cuMemAllocHost";
    r = NAME_cu.alloc_host(&fault, 8 * sizeof(int));
  }
  if (r != 0) {
    if (module != NULL) {
      (void)NAME_cu.unload(module);
    }
    return NAME_driver_fail(err, r, k->name, call);
  }
  if (fault != NULL) {
    memset(fault, 0, 8 * sizeof(int));
  }
  out->fault = (int *)fault;
  return UPPER_OK;
}

/* Loads the code into the context, unless another thread was faster. Called with the lock. */
static NAME_status NAME_load_locked(const NAME_kernel *k, const NAME_special *special,
                                    const NAME_code *code, void *context, const NAME_loaded **out,
                                    NAME_error *err) {
  *out = NAME_find_loaded(code, context);
  if (*out != NULL) {
    return UPPER_OK;
  }
  for (int i = 0; i < UPPER_CONTEXTS; i++) {
    NAME_loaded *l = &NAME_loads[code->number][i];
    if (l->context == NULL) {
      NAME_status status = NAME_load(k, special, code, l, err);
      if (status == UPPER_OK) {
        __atomic_store_n(&l->context, context, __ATOMIC_RELEASE);
        *out = l;
      }
      return status;
    }
  }
  return NAME_fail(err, UPPER_NO_DEVICE, "%s: it is loaded in %d contexts, which is the maximum",
                   k->name, UPPER_CONTEXTS);
}

static NAME_status NAME_ready(const NAME_kernel *k, const NAME_special *special, void *context,
                              const NAME_code **code, const NAME_loaded **out, NAME_error *err) {
  for (int i = 0; i < special->n_codes; i++) {
    *code = &special->codes[i];
    *out = NAME_find_loaded(*code, context);
    if (*out != NULL) {
      return UPPER_OK;
    }
  }
  NAME_status status = NAME_code_for(k, special, code, err);
  if (status == UPPER_OK) {
    (void)pthread_mutex_lock(&NAME_lock);
    status = NAME_load_locked(k, special, *code, context, out, err);
    (void)pthread_mutex_unlock(&NAME_lock);
  }
  return status;
}

@MAPS@
/* {====== Launching ====== */

/* Puts the slots where the kernel expects its parameters. A narrow one gets its low bytes; what follows them is
   overwritten by the next ones, or is beyond the last. */
static void NAME_fill(const NAME_code *code, const NAME_slot *s, unsigned char *block) {
  for (int i = 0; i < code->n_packs; i++) {
    memcpy(block + code->packs[i].offset, &s[code->packs[i].slot], sizeof *s);
  }
}

/* Where each parameter of the kernel lies, in order. */
static void NAME_place_params(const NAME_code *code, unsigned char *block, void **out) {
  for (int i = 0; i < code->n_packs; i++) {
    *out++ = block + code->packs[i].offset;
  }
  for (int i = 0; i < code->n_maps; i++) {
    *out++ = block + code->maps_at + 128 * i;
  }
  if (code->n_sites > 0) {
    *out++ = block + code->fault_at;
  }
  if (code->grid_at >= 0) {
    *out++ = block + code->grid_at;
  }
}

/* The driver takes the block as it is. One by one it takes parameters where it would not: maps, which are aligned to
   64 bytes; a cooperative launch whose stream is captured. */
static int NAME_pass(const NAME_code *code, const NAME_config *config, void *function,
                     unsigned char *block) {
  size_t bytes = code->bytes;
  if (code->is_listed) {
    void *params[UPPER_PARAMS];
    NAME_place_params(code, block, params);
    return NAME_cu.launch(config, function, params, NULL);
  }
  void *extra[] = {(void *)(uintptr_t)UPPER_BLOCK_POINTER, block,
                   (void *)(uintptr_t)UPPER_BLOCK_BYTES, &bytes, NULL};
  return NAME_cu.launch(config, function, NULL, extra);
}

static void NAME_add(NAME_config *config, int id, unsigned x, unsigned y, unsigned z) {
  NAME_attribute *a = &config->attributes[config->n_attributes++];
  memset(a, 0, sizeof *a);
  a->id = id;
  a->value.cluster[0] = x; /* a flag is its first 4 bytes */
  a->value.cluster[1] = y;
  a->value.cluster[2] = z;
}

static NAME_status NAME_enqueue(const NAME_kernel *k, const NAME_special *special,
                                const NAME_code *code, const NAME_loaded *loaded, NAME_dim3 grid,
                                unsigned char *block, void *stream, NAME_error *err) {
  NAME_attribute attributes[3];
  NAME_config config;
  NAME_dim3 cluster = special->cluster;
  config.grid = grid;
  config.block = special->block;
  config.smem = code->smem;
  config.stream = stream;
  config.attributes = attributes;
  config.n_attributes = 0;
  if (cluster.x * cluster.y * cluster.z > 1) {
    NAME_add(&config, UPPER_CLUSTER, cluster.x, cluster.y, cluster.z);
  }
  if (special->is_cooperative) {
    NAME_add(&config, UPPER_COOPERATIVE, 1, 0, 0);
  }
  if (special->is_dependent) {
    NAME_add(&config, UPPER_DEPENDENT, 1, 0, 0);
  }
  int r = NAME_pass(code, &config, loaded->function, block);
  if (r == 0) {
    return NAME_succeed(err);
  }
  NAME_driver_fail(err, r, k->name, "cuLaunchKernelEx");
  if (err != NULL) {
    size_t n = strlen(err->text);
    snprintf(err->text + n, sizeof err->text - n, "; grid (%u,%u,%u) block (%u,%u,%u) shared %u bytes",
             grid.x, grid.y, grid.z, config.block.x, config.block.y, config.block.z, config.smem);
  }
  return UPPER_DRIVER_ERROR;
}

/* The grid of the example is right for its extents only. */
static NAME_status NAME_check_grid(const NAME_kernel *k, const NAME_special *special,
                                   const NAME_slot *args, NAME_error *err) {
  for (int n = 0; n < k->n_args; n++) {
    const NAME_rule *rule = &special->rules[n];
@LIST_GRID@    for (int i = 0; rule->kind == UPPER_TENSOR && i < rule->rank; i++) {
      long long v = args[n].tensor->shape[i], example = special->texts[n].examples[i];
      if (v != example) {
        return NAME_fail(err, UPPER_BAD_ARGUMENT,
                         "%s: the extent of mode %d is %lld, and %lld in the example, whose grid "
                         "NULL stands for; pass a grid",
                         special->texts[n].title, i, v, example);
      }
    }
  }
  return UPPER_OK;
}

/* The caller's grid, or that of the example for NULL. */
static NAME_status NAME_choose_grid(const NAME_kernel *k, const NAME_special *special,
                                    const NAME_slot *args, const NAME_dim3 **grid, NAME_error *err) {
  const NAME_dim3 c = special->cluster;
  if (*grid == NULL) {
    *grid = &special->grid;
    return NAME_check_grid(k, special, args, err);
  }
  const NAME_dim3 g = **grid;
  if (g.y > 65535 || g.z > 65535 || (uint64_t)g.x * special->block.x > INT32_MAX) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: grid (%u,%u,%u); expected at most 65535 blocks in y and z, and less than 2^31 "
                     "threads in x",
                     k->name, g.x, g.y, g.z);
  }
  if (c.x * c.y * c.z > 1 && (g.x % c.x | g.y % c.y | g.z % c.z) != 0) {
    return NAME_fail(err, UPPER_BAD_ARGUMENT,
                     "%s: grid (%u,%u,%u) is not a multiple of cluster (%u,%u,%u)", k->name, g.x, g.y,
                     g.z, c.x, c.y, c.z);
  }
  return UPPER_OK;
}

/* What the kernel needs beside its arguments. */
static NAME_status NAME_finish(const NAME_kernel *k, const NAME_code *code,
                               const NAME_loaded *loaded, void *workspace, unsigned char *block,
                               void *stream, NAME_error *err) {
  int r = 0;
  if (code->n_sites > 0) {
    memcpy(block + code->fault_at, &loaded->fault, sizeof loaded->fault);
  }
  if (code->grid_at >= 0) {
    if (workspace == NULL) {
      return NAME_fail(err, UPPER_BAD_ARGUMENT, "%s: workspace is NULL; the kernel needs some", k->name);
    }
    memcpy(block + code->grid_at, &workspace, sizeof workspace);
    r = NAME_cu.fill((uint64_t)(uintptr_t)workspace, 0, sizeof(unsigned), stream);
  }
  return r == 0 ? UPPER_OK : NAME_driver_fail(err, r, k->name, "cuMemsetD8Async");
}

static NAME_status NAME_run(const NAME_kernel *k, const NAME_slot *args, const NAME_dim3 *grid,
                            void *workspace, void *stream, NAME_error *err) {
  __attribute__((aligned(64))) unsigned char block[UPPER_BYTES];
  NAME_slot s[UPPER_SLOTS];
  const NAME_special *special = NULL;
  const NAME_code *code = NULL;
  const NAME_loaded *loaded = NULL;
  void *context = NULL;
  /* What is read once the arguments are checked has left the caches since the last launch, which had as a rule the first
     code. It is asked for here: GCC drops calls of a function that does nothing else. */
  __builtin_prefetch(&NAME_cu);
  if (k->specials->n_codes > 0) {
    __builtin_prefetch(k->specials->codes);
    __builtin_prefetch(&NAME_loads[k->specials->codes->number]);
  }
  NAME_status status = NAME_choose(k, args, s, &special, err);
  status = status == UPPER_OK ? NAME_choose_grid(k, special, args, &grid, err) : status;
  status = status == UPPER_OK ? NAME_enter(k->name, &context, err) : status;
  status = status == UPPER_OK ? NAME_ready(k, special, context, &code, &loaded, err) : status;
  if (status != UPPER_OK) {
    return status;
  }
  if (grid->x == 0 || grid->y == 0 || grid->z == 0) {
    return NAME_succeed(err); /* nothing to do */
  }
@PUT_LISTS@  NAME_fill(code, s, block);
  @PUT_MAPS@
  status = status == UPPER_OK ? NAME_finish(k, code, loaded, workspace, block, stream, err) : status;
  return status == UPPER_OK ? NAME_enqueue(k, special, code, loaded, *grid, block, stream, err)
                            : status;
}
