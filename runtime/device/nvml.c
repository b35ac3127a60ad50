/* nvml.c: NVML by dlopen, at first use. */
#include "nvml.h"

#include "dl.h"
#include "nvml_types.h"

enum { REQUIRED = 1, OPTIONAL = 0 };

typedef struct Nvml {
#define X(need, name, args) NvmlResult(*name) args;
#include "nvml_syms.def"
#undef X
} Nvml;

static const CtDlSymbol symbols[] = {
#define X(need, name, args) {#name, offsetof(Nvml, name), need},
#include "nvml_syms.def"
#undef X
};

static const char *const names[] = {"libnvidia-ml.so.1"};
static Nvml table;

static CtStatus check(NvmlResult r, const char *call, CtErr *err) {
  return r == CT_NVML_SUCCESS ? CT_OK : ct_fail(err, CT_EDEVICE, "%s: status %u", call, r);
}

static CtStatus start(const char *path, CtErr *err) {
  (void)path;
  return check(table.nvmlInit_v2(), "nvmlInit", err);
}

static CtDlLibrary library = {
    .spec = {.what = "nvml",
             .env = "CUTTLE_NVML",
             .advice = "install the NVIDIA driver or set CUTTLE_NVML to its path",
             .names = names,
             .n_names = CT_ARRAY_LEN(names)},
    .symbols = symbols,
    .n_symbols = CT_ARRAY_LEN(symbols),
    .table = &table,
    .start = start,
};

/* The power of now, where the driver tells, else the average of the last second. */
static CtStatus read_power(NvmlDevice device, double *watts, CtErr *err) {
  NvmlField field = {.field = CT_NVML_POWER_INSTANT};
  unsigned milliwatts = 0;
  CtStatus s = CT_OK;
  if (table.nvmlDeviceGetFieldValues != NULL &&
      table.nvmlDeviceGetFieldValues(device, 1, &field) == CT_NVML_SUCCESS &&
      field.result == CT_NVML_SUCCESS) {
    milliwatts = field.value.u32;
  } else {
    s = check(table.nvmlDeviceGetPowerUsage(device, &milliwatts), "nvmlDeviceGetPowerUsage", err);
  }
  *watts = milliwatts * 1e-3;
  return s;
}

CtStatus ct_nvml_read(const CtDevice *d, CtSensors *out, CtErr *err) {
  NvmlDevice device = NULL;
  CtStatus s = ct_dl_load(&library, err);
  if (s == CT_OK) {
    NvmlResult r = table.nvmlDeviceGetHandleByUUID(ct_device_info(d)->uuid, &device);
    s = check(r, "nvmlDeviceGetHandleByUUID", err);
  }
  if (s == CT_OK) {
    NvmlResult r = table.nvmlDeviceGetClockInfo(device, CT_NVML_CLOCK_SM, &out->sm_mhz);
    s = check(r, "nvmlDeviceGetClockInfo", err);
  }
  if (s == CT_OK) {
    s = read_power(device, &out->watts, err);
  }
  return s;
}
