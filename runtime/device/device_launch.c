/* device_launch.c: modules, functions and launches. A launch is on the path of every script's inner
   loop: it makes three calls of the driver's (current context, launch), writes one entry of the
   ring, and looks at nothing else; whatever explains a refused launch is found out afterwards. */
#include <stdio.h>
#include <string.h>

#include "device_priv.h"

struct CtFunction {
  CtFunction *next; /* in the module */
  CtModule *module;
  CuFunction handle;
  CtLabel *label;
  size_t shared_max;   /* dynamic bytes that launches may use so far */
  size_t params_bytes; /* of the whole parameter block; SIZE_MAX when the driver does not tell */
  bool large_clusters; /* clusters over 8 blocks are allowed */
  CtFunctionInfo info;
};

struct CtModule {
  CtDevice *device;
  CuModule handle;
  CtFunction *functions;
};

enum { PORTABLE_CLUSTER = 8, SHARED_DEFAULT = 48 * 1024 };

/* {====== Labels and the ring ====== */

static CtLabel *new_label(CtAlloc alloc, const char *name, const char *chunk, int line) {
  const char *where = chunk == NULL ? "" : chunk;
  size_t name_bytes = strlen(name) + 1, where_bytes = strlen(where) + 1;
  size_t bytes = sizeof(CtLabel) + name_bytes + where_bytes;
  CtLabel *l = ct_alloc(alloc, bytes);
  if (l == NULL) {
    return NULL;
  }
  char *text = (char *)(l + 1);
  memcpy(text, name, name_bytes);
  memcpy(text + name_bytes, where, where_bytes);
  *l = (CtLabel){.bytes = bytes, .line = line, .name = text, .chunk = text + name_bytes};
  return l;
}

static bool is_in_ring(const CtDevice *d, const CtLabel *l) {
  for (int i = 0; i < CT_RING_LEN; i++) {
    if (d->ring[i].label == l) {
      return true;
    }
  }
  return false;
}

void ct_device_prune_labels(CtDevice *d) {
  for (CtLabel **link = &d->dead_labels; *link != NULL;) {
    CtLabel *l = *link;
    if (is_in_ring(d, l)) {
      link = &l->next;
    } else {
      *link = l->next;
      ct_free(d->alloc, l, l->bytes);
    }
  }
}

static void retire_label(CtDevice *d, CtLabel *l) {
  l->next = d->dead_labels;
  d->dead_labels = l;
}

void ct_device_note_label(CtDevice *d, const CtLabel *label, CtStream stream) {
  d->ring[d->n_launched++ % CT_RING_LEN] = (CtLaunched){label, stream};
  d->n_pending++;
}

void ct_device_note_waited(CtDevice *d, CtStream stream) {
  bool pending = false;
  for (int i = 0; i < CT_RING_LEN; i++) {
    if (d->ring[i].stream == stream) {
      d->ring[i].label = NULL;
    }
    pending = pending || d->ring[i].label != NULL;
  }
  if (!pending && d->n_pending <= CT_RING_LEN) {
    d->n_pending = 0;
  }
}

void ct_device_note_all_waited(CtDevice *d) {
  for (int i = 0; i < CT_RING_LEN; i++) {
    d->ring[i].label = NULL;
  }
  d->n_pending = 0;
}

/* {====== Modules ====== */

/* What the driver's own compiler says about a PTX image: its first line. */
static const char *first_line(char *log) {
  log[strcspn(log, "\n")] = '\0';
  return log;
}

static CtStatus load_image(CtModule *m, const void *image, CtErr *err) {
  char log[256] = "";
  CuJitOption options[] = {CT_CU_JIT_ERROR_LOG_BUFFER, CT_CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *values[] = {log, (void *)(uintptr_t)sizeof log};
  CtDevice *d = m->device;
  if (!ct_device_enter_aside(d, err)) {
    return CT_EDEVICE;
  }
  CuResult r = d->cu->cuModuleLoadDataEx(&m->handle, image, 2, options, values);
  return ct_device_done(d, "cuModuleLoadDataEx", r, err, "%s", first_line(log));
}

CtStatus ct_module_new(CtDevice *d, const void *image, CtModule **out, CtErr *err) {
  CtModule *m = ct_alloc(d->alloc, sizeof *m);
  if (m == NULL) {
    return ct_fail_nomem(err);
  }
  *m = (CtModule){.device = d};
  CtStatus s = load_image(m, image, err);
  if (s != CT_OK) {
    ct_free(d->alloc, m, sizeof *m);
    return s;
  }
  *out = m;
  return CT_OK;
}

static void free_functions(CtModule *m) {
  while (m->functions != NULL) {
    CtFunction *f = m->functions;
    m->functions = f->next;
    retire_label(m->device, f->label);
    ct_free(m->device->alloc, f, sizeof *f);
  }
  ct_device_prune_labels(m->device);
}

void ct_module_free(CtModule *m) {
  if (m == NULL) {
    return;
  }
  CtDevice *d = m->device;
  if (ct_device_enter_aside(d, NULL)) {
    (void)d->cu->cuModuleUnload(m->handle);
    ct_device_leave(d);
  }
  free_functions(m);
  ct_free(d->alloc, m, sizeof *m);
}

/* {====== Functions ====== */

static int get_attribute(const CtDevice *d, CuFunction f, CuFunctionAttribute a) {
  int value = 0;
  return d->cu->cuFuncGetAttribute(&value, a, f) == CT_CUDA_SUCCESS ? value : 0;
}

static void read_info(const CtDevice *d, CtFunction *f) {
  f->info = (CtFunctionInfo){
      .registers = get_attribute(d, f->handle, CT_CU_FUNC_ATTRIBUTE_NUM_REGS),
      .shared_bytes = (size_t)get_attribute(d, f->handle, CT_CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES),
      .local_bytes = (size_t)get_attribute(d, f->handle, CT_CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
      .const_bytes = (size_t)get_attribute(d, f->handle, CT_CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES),
      .max_threads = get_attribute(d, f->handle, CT_CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
      .binary_version = get_attribute(d, f->handle, CT_CU_FUNC_ATTRIBUTE_BINARY_VERSION),
  };
}

/* End of the last parameter; the driver reads that far whatever the caller packed. */
static size_t measure_params(const CtDevice *d, CuFunction f) {
  size_t end = 0, offset = 0, bytes = 0;
  if (d->cu->cuFuncGetParamInfo == NULL) {
    return SIZE_MAX;
  }
  for (size_t i = 0; d->cu->cuFuncGetParamInfo(f, i, &offset, &bytes) == CT_CUDA_SUCCESS; i++) {
    end = offset + bytes;
  }
  return end;
}

static CtStatus find_function(CtFunction *f, const char *symbol, CtErr *err) {
  CtDevice *d = f->module->device;
  if (!ct_device_enter_aside(d, err)) {
    return CT_EDEVICE;
  }
  CuResult r = d->cu->cuModuleGetFunction(&f->handle, f->module->handle, symbol);
  if (r == CT_CUDA_SUCCESS) {
    read_info(d, f);
    if (f->params_bytes == SIZE_MAX) {
      f->params_bytes = measure_params(d, f->handle);
    }
  }
  return ct_device_done(d, "cuModuleGetFunction", r, err, "'%s'", symbol);
}

CtStatus ct_module_function(CtModule *m, const char *symbol, const char *name, const char *chunk,
                            int line, size_t params_bytes, CtFunction **out, CtErr *err) {
  CtAlloc alloc = m->device->alloc;
  CtFunction *f = ct_alloc(alloc, sizeof *f);
  CtLabel *label = new_label(alloc, name, chunk, line);
  CtStatus s = f == NULL || label == NULL ? ct_fail_nomem(err) : CT_OK;
  if (s == CT_OK) {
    *f = (CtFunction){.module = m, .label = label, .params_bytes = params_bytes};
    s = find_function(f, symbol, err);
  }
  if (s != CT_OK) {
    ct_free(alloc, f, sizeof *f);
    ct_free(alloc, label, label == NULL ? 0 : label->bytes);
    return s;
  }
  f->shared_max = f->info.shared_bytes < SHARED_DEFAULT ? SHARED_DEFAULT - f->info.shared_bytes : 0;
  f->next = m->functions;
  m->functions = f;
  *out = f;
  return CT_OK;
}

CtStatus ct_module_global(CtModule *m, const char *symbol, CtDevPtr *at, size_t *bytes,
                          CtErr *err) {
  CtDevice *d = m->device;
  CuDevicePtr p = 0;
  if (d->cu->cuModuleGetGlobal_v2 == NULL) {
    return ct_fail(err, CT_EUNSUPPORTED, "the driver has no cuModuleGetGlobal");
  }
  if (!ct_device_enter_aside(d, err)) {
    return CT_EDEVICE;
  }
  CuResult r = d->cu->cuModuleGetGlobal_v2(&p, bytes, m->handle, symbol);
  *at = (CtDevPtr)p;
  return ct_device_done(d, "cuModuleGetGlobal", r, err, "'%s'", symbol);
}

const CtFunctionInfo *ct_function_info(const CtFunction *f) { return &f->info; }

static CtStatus fail_shared(const CtFunction *f, size_t bytes, CtErr *err) {
  const CtDeviceInfo *info = &f->module->device->info;
  return ct_fail(err, CT_EINVAL,
                 "launch: kernel '%s' needs %zu bytes of shared memory "
                 "(%zu static, %zu dynamic); '%s' has %zu per block",
                 f->label->name, f->info.shared_bytes + bytes, f->info.shared_bytes, bytes,
                 info->name, info->shared_block_optin_bytes);
}

/* Lets launches use up to `bytes` of dynamic shared memory. */
static CtStatus set_shared(CtFunction *f, size_t bytes, CtErr *err) {
  CtDevice *d = f->module->device;
  size_t limit = d->info.shared_block_optin_bytes;
  if (bytes <= f->shared_max) {
    return CT_OK;
  }
  if (bytes > limit || bytes + f->info.shared_bytes > limit) {
    return fail_shared(f, bytes, err);
  }
  CtStatus s =
      CT_CALL_ASIDE(d, err, cuFuncSetAttribute,
                    (f->handle, CT_CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes),
                    "kernel '%s', %zu bytes of shared memory", f->label->name, bytes);
  if (s == CT_OK) {
    f->shared_max = bytes;
  }
  return s;
}

CtStatus ct_function_occupancy(CtFunction *f, int n_threads, size_t shared_bytes, int *n_blocks,
                               CtErr *err) {
  CtStatus s = set_shared(f, shared_bytes, err);
  if (s != CT_OK) {
    return s;
  }
  return CT_CALL(f->module->device, err, cuOccupancyMaxActiveBlocksPerMultiprocessor,
                 (n_blocks, f->handle, n_threads, shared_bytes), "kernel '%s', %d threads",
                 f->label->name, n_threads);
}

/* {====== Launch ====== */

static uint64_t volume(CtDim3 d) { return (uint64_t)d.x * d.y * d.z; }

static bool is_within(CtDim3 d, CtDim3 max) {
  return d.x >= 1 && d.y >= 1 && d.z >= 1 && d.x <= max.x && d.y <= max.y && d.z <= max.z;
}

static void explain_dims(const char *what, CtDim3 max, char *why, size_t cap) {
  snprintf(why, cap, "; each extent of the %s must be 1 to (%u,%u,%u)", what, max.x, max.y, max.z);
}

/* Why the driver refused a launch, if that can be seen from outside. */
static void explain(const CtFunction *f, const CtLaunch *l, char *why, size_t cap) {
  const CtDeviceInfo *info = &f->module->device->info;
  why[0] = '\0';
  if (!is_within(l->grid, info->max_grid)) {
    explain_dims("grid", info->max_grid, why, cap);
  } else if (!is_within(l->block, info->max_block)) {
    explain_dims("block", info->max_block, why, cap);
  } else if (volume(l->block) > (uint64_t)f->info.max_threads) {
    snprintf(why, cap, "; this kernel can have at most %d threads per block (%d registers each)",
             f->info.max_threads, f->info.registers);
  } else if (l->cluster.x != 0 && !info->has_clusters) {
    snprintf(why, cap, "; '%s' has no clusters", info->name);
  }
}

static CtStatus fail_launch(CtFunction *f, const CtLaunch *l, CuResult r, CtErr *err) {
  char why[200], cluster[64] = "";
  explain(f, l, why, sizeof why);
  if (l->cluster.x != 0) {
    snprintf(cluster, sizeof cluster, " cluster (%u,%u,%u)", l->cluster.x, l->cluster.y,
             l->cluster.z);
  }
  return ct_device_fail(f->module->device, "cuLaunchKernelEx", r, err,
                        "grid (%u,%u,%u) block (%u,%u,%u)%s shared %u bytes, kernel '%s'%s",
                        l->grid.x, l->grid.y, l->grid.z, l->block.x, l->block.y, l->block.z,
                        cluster, l->shared_bytes, f->label->name, why);
}

/* Lets launches have clusters of more blocks than every device runs. */
static CtStatus allow_cluster(CtFunction *f, CtDim3 cluster, CtErr *err) {
  CtDevice *d = f->module->device;
  if (volume(cluster) <= PORTABLE_CLUSTER || f->large_clusters) {
    return CT_OK;
  }
  CtStatus s = CT_CALL_ASIDE(d, err, cuFuncSetAttribute,
                             (f->handle, CT_CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1),
                             "kernel '%s', clusters of %llu blocks", f->label->name,
                             (unsigned long long)volume(cluster));
  f->large_clusters = s == CT_OK;
  return s;
}

/* What a launch needs once per function, and what must not reach the driver. */
static CtStatus prepare(CtFunction *f, const CtLaunch *l, size_t params_bytes, CtErr *err) {
  if (params_bytes != f->params_bytes && f->params_bytes != SIZE_MAX) {
    return ct_fail(err, CT_EINVAL, "launch: kernel '%s' takes %zu bytes of parameters, got %zu",
                   f->label->name, f->params_bytes, params_bytes);
  }
  CtStatus s = allow_cluster(f, l->cluster, err);
  return s == CT_OK ? set_shared(f, l->shared_bytes, err) : s;
}

static bool is_prepared(const CtFunction *f, const CtLaunch *l, size_t params_bytes) {
  return (params_bytes == f->params_bytes || f->params_bytes == SIZE_MAX) &&
         l->shared_bytes <= f->shared_max &&
         (volume(l->cluster) <= PORTABLE_CLUSTER || f->large_clusters);
}

/* Room for the attributes of one launch. */
typedef struct Attributes {
  CuLaunchAttribute a[3];
} Attributes;

static CuLaunchConfig config_of(const CtLaunch *l, Attributes *at) {
  CuLaunchConfig config = {
      .grid = {l->grid.x, l->grid.y, l->grid.z},
      .block = {l->block.x, l->block.y, l->block.z},
      .shared_bytes = l->shared_bytes,
      .stream = l->stream,
      .attributes = at->a,
  };
  if (l->cluster.x != 0) {
    CuLaunchAttribute *a = &at->a[config.n_attributes++];
    *a = (CuLaunchAttribute){.id = CT_CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION};
    a->value.cluster[0] = l->cluster.x;
    a->value.cluster[1] = l->cluster.y;
    a->value.cluster[2] = l->cluster.z;
  }
  if (l->is_cooperative) {
    CuLaunchAttribute *a = &at->a[config.n_attributes++];
    *a = (CuLaunchAttribute){.id = CT_CU_LAUNCH_ATTRIBUTE_COOPERATIVE};
    a->value.is_cooperative = 1;
  }
  if (l->is_dependent) {
    CuLaunchAttribute *a = &at->a[config.n_attributes++];
    *a = (CuLaunchAttribute){.id = CT_CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    a->value.is_dependent = 1;
  }
  return config;
}

CtStatus ct_function_clusters(CtFunction *f, const CtLaunch *launch, int *n_clusters, CtErr *err) {
  CtDevice *d = f->module->device;
  CtLaunch one = *launch; /* of one cluster: the grid does not count */
  Attributes attributes;
  if (d->cu->cuOccupancyMaxActiveClusters == NULL || !d->info.has_clusters) {
    return ct_fail(err, CT_EUNSUPPORTED, "launch: '%s' or its driver has no clusters",
                   d->info.name);
  }
  one.grid = launch->cluster;
  one.is_cooperative = false; /* asks the same */
  CtStatus s = allow_cluster(f, one.cluster, err);
  s = s == CT_OK ? set_shared(f, one.shared_bytes, err) : s;
  if (s != CT_OK) {
    return s;
  }
  CuLaunchConfig config = config_of(&one, &attributes);
  return CT_CALL(d, err, cuOccupancyMaxActiveClusters, (n_clusters, f->handle, &config),
                 "kernel '%s', cluster (%u,%u,%u)", f->label->name, one.cluster.x, one.cluster.y,
                 one.cluster.z);
}

/* How many blocks of such a launch the device runs at once. */
static CtStatus count_resident(CtFunction *f, const CtLaunch *l, uint64_t *n, CtErr *err) {
  int each = 0;
  CtStatus s;
  if (l->cluster.x != 0) {
    s = ct_function_clusters(f, l, &each, err);
    *n = (uint64_t)each * volume(l->cluster);
  } else {
    s = ct_function_occupancy(f, (int)volume(l->block), l->shared_bytes, &each, err);
    *n = (uint64_t)each * (uint64_t)f->module->device->info.n_sms;
  }
  return s;
}

/* The driver refuses a cooperative grid that does not fit, too, but does not say what fits. */
static CtStatus check_resident(CtFunction *f, const CtLaunch *l, CtErr *err) {
  uint64_t n = 0, wanted = volume(l->grid);
  CtStatus s = count_resident(f, l, &n, err);
  if (s != CT_OK || wanted <= n) {
    return s;
  }
  return ct_fail(err, CT_EINVAL,
                 "launch: a cooperative grid of %llu blocks; '%s' runs at most "
                 "%llu blocks of kernel '%s' at once. Launch at most that many, and let each do "
                 "several parts of the work",
                 (unsigned long long)wanted, f->module->device->info.name, (unsigned long long)n,
                 f->label->name);
}

static void note_launch(CtDevice *d, const CtFunction *f, CtStream stream) {
  if (d->capture != NULL) {
    ct_device_note_captured(d, f->label);
  } else {
    ct_device_note_label(d, f->label, stream);
  }
}

/* The packed block goes to the driver as it is, one copy of known size; or each parameter. */
static CuResult enqueue(const CtFunction *f, const CtLaunch *l, CtStream stream, const void *params,
                        size_t params_bytes) {
  Attributes attributes;
  CuLaunchConfig config = config_of(l, &attributes);
  config.stream = stream;
  void *extra[] = {
      (void *)(uintptr_t)CT_CU_LAUNCH_PARAM_BUFFER_POINTER_AS_INT,
      (void *)(uintptr_t)params,
      (void *)(uintptr_t)CT_CU_LAUNCH_PARAM_BUFFER_SIZE_AS_INT,
      &params_bytes,
      (void *)(uintptr_t)CT_CU_LAUNCH_PARAM_END_AS_INT,
  };
  bool is_packed = l->params == NULL && params_bytes != 0;
  return f->module->device->cu->cuLaunchKernelEx(&config, f->handle, l->params,
                                                 is_packed ? extra : NULL);
}

/* The address of each parameter in the packed block; NULL where there is no room for the list. */
static void **list_params(const CtFunction *f, const void *params, size_t *n) {
  const CtDevice *d = f->module->device;
  size_t offset = 0, bytes = 0;
  *n = 0;
  while (d->cu->cuFuncGetParamInfo(f->handle, *n, &offset, &bytes) == CT_CUDA_SUCCESS) {
    ++*n;
  }
  void **list = ct_alloc(d->alloc, (*n + 1) * sizeof *list);
  for (size_t i = 0; i < *n && list != NULL; i++) {
    (void)d->cu->cuFuncGetParamInfo(f->handle, i, &offset, &bytes);
    list[i] = (char *)(uintptr_t)params + offset;
  }
  return list;
}

/* While its stream is captured, the driver takes a cooperative launch's parameters only one by one. */
static CuResult enqueue_captured(const CtFunction *f, const CtLaunch *l, CtStream stream,
                                 const void *params) {
  size_t n;
  CtLaunch each = *l;
  each.params = list_params(f, params, &n);
  CuResult r =
      each.params == NULL ? CT_CUDA_ERROR_OUT_OF_MEMORY : enqueue(f, &each, stream, NULL, 0);
  ct_free(f->module->device->alloc, each.params, (n + 1) * sizeof *each.params);
  return r;
}

static bool wants_list(CtDevice *d, const CtLaunch *l, CtStream stream) {
  return l->is_cooperative && l->params == NULL && d->cu->cuFuncGetParamInfo != NULL &&
         ct_device_is_capturing(d, stream);
}

CtStatus ct_function_prepare(CtFunction *f, const CtLaunch *launch, size_t params_bytes,
                             CtErr *err) {
  CtStatus s = is_prepared(f, launch, params_bytes) ? CT_OK : prepare(f, launch, params_bytes, err);
  return s == CT_OK && launch->is_cooperative ? check_resident(f, launch, err) : s;
}

CtStatus ct_function_launch(CtFunction *f, const CtLaunch *launch, const void *params,
                            size_t params_bytes, CtErr *err) {
  CtDevice *d = f->module->device;
  if (launch->grid.x == 0 || launch->grid.y == 0 || launch->grid.z == 0) {
    return CT_OK; /* which the driver refuses */
  }
  CtStream stream = launch->stream;
  CtStatus status = ct_function_prepare(f, launch, params_bytes, err);
  status = status == CT_OK && d->watch.ask != NULL ? ct_device_pace(d, stream, err) : status;
  status = status == CT_OK ? ct_device_route(d, &stream, err) : status;
  if (status != CT_OK) {
    return status;
  }
  if (!ct_device_enter(d, err)) {
    return CT_EDEVICE;
  }
  CuResult r = wants_list(d, launch, stream) ? enqueue_captured(f, launch, stream, params)
                                             : enqueue(f, launch, stream, params, params_bytes);
  ct_device_leave(d);
  if (r != CT_CUDA_SUCCESS) {
    return fail_launch(f, launch, r, err);
  }
  note_launch(d, f, stream);
  return CT_OK;
}
