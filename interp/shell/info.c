/* info.c: what this machine has for the program: devices, compilers and caches. */
#include "program.h"

#include <lua.h>
#include <stdio.h>
#include <string.h>

#include "runtime/device/cache.h"
#include "runtime/device/nvrtc.h"

static void print_device(CuttleState *s) {
  CtDevice *d = NULL;
  CtErr err;
  if (state_device(s, &d, &err) != CT_OK) {
    printf("device     none: %s\n", err.msg);
  } else if (d != NULL) {
    const CtDeviceInfo *info = ct_device_info(d);
    printf("device     cuda:%d, %s, sm_%d, %zu MiB; %s was asked for\n", info->ordinal, info->name,
           info->sm, info->memory_bytes >> 20, s->device_text);
  } else if (s->device_why[0] != '\0') {
    printf("device     cpu, because there is no CUDA device: %s\n", s->device_why);
  } else if (state_cpu_devices(s) > 1) {
    printf("device     cpu, acting as %d devices; %s was asked for\n", state_cpu_devices(s),
           s->device_text);
  } else {
    printf("device     cpu; it was asked for\n");
  }
}

static void print_simt(CuttleState *s) {
  CtSimtEngine *e;
  CtErr err;
  if (state_simt(s, &e, &err) == CT_OK) {
    printf("CPU engine %s, %d threads\n", ct_simt_isa(e), ct_simt_threads(e));
  } else {
    printf("CPU engine none: %s\n", err.msg);
  }
}

/* What --sm may name. */
static void print_targets(void) {
  int sms[64], n = 0;
  char arch[16];
  if (ct_nvrtc_archs(sms, (int)CT_ARRAY_LEN(sms), &n, NULL) != CT_OK) {
    return;
  }
  printf("targets   ");
  for (int i = 0; i < n; i++) {
    ct_nvrtc_arch(sms[i], arch);
    printf(" %s", arch + strlen("sm_"));
  }
  printf("\n");
}

static void print_nvrtc(void) {
  CtNvrtcId id;
  CtErr err;
  int major, minor;
  if (ct_nvrtc_identity(&id, &err) == CT_OK && ct_nvrtc_version(&major, &minor, &err) == CT_OK) {
    printf("NVRTC      %d.%d, %s\n", major, minor, id.path);
    print_targets();
  } else {
    printf("NVRTC      none: %s\n", err.msg);
  }
}

void info_print(CuttleState *s) {
  CtCache cache;
  CtErr err;
  CtStatus status = ct_cache_init(&cache, &err);
  printf("Cuttle     %s\n", CUTTLE_VERSION);
  printf("Lua        %s.%s.%s\n", LUA_VERSION_MAJOR, LUA_VERSION_MINOR, LUA_VERSION_RELEASE);
  print_device(s);
  print_simt(s);
  print_nvrtc();
  const char *place = cache.dir[0] == '\0' ? "off" : cache.dir;
  printf("cache      %s\n", status == CT_OK ? place : err.msg);
}
