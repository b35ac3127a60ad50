/* nvrtc_arch.c: which compute capabilities there are: those known when this was written, and those that the
   NVRTC of this machine compiles for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/device/nvrtc.h"

/* CUDA C++ Programming Guide, "Compute Capabilities"; times 10. */
static const int known[] = {50, 52, 53, 60, 61,  62,  70,  72,  75,  80, 86,
                            87, 88, 89, 90, 100, 101, 103, 110, 120, 121};

enum { FIRST_A = 90, FIRST_F = 100, LIST_BYTES = 256, MAX_SM = 9999 };

static bool contains(const int *sms, int n, int sm) {
  for (int i = 0; i < n; i++) {
    if (sms[i] == sm) {
      return true;
    }
  }
  return false;
}

static bool exists(int sm) {
  int sms[64], n = 0;
  if (contains(known, (int)CT_ARRAY_LEN(known), sm)) {
    return true;
  }
  return ct_nvrtc_archs(sms, (int)CT_ARRAY_LEN(sms), &n, NULL) == CT_OK && contains(sms, n, sm);
}

/* "50, 52, ... or 121" */
static void write_list(char out[LIST_BYTES]) {
  size_t len = 0, n = CT_ARRAY_LEN(known);
  for (size_t i = 0; i < n && len < LIST_BYTES; i++) {
    const char *before = i == 0 ? "" : (i + 1 == n ? " or " : ", ");
    len += (size_t)snprintf(out + len, LIST_BYTES - len, "%s%d", before, known[i]);
  }
}

CtStatus ct_nvrtc_check_arch(int sm, char suffix, CtErr *err) {
  if (!exists(sm)) {
    char list[LIST_BYTES];
    write_list(list);
    return ct_fail(err, CT_EINVAL, "%d is not a compute capability; %s was expected, 90 for 9.0",
                   sm, list);
  }
  int first = suffix == 'a' ? FIRST_A : (suffix == 'f' ? FIRST_F : 0);
  if (sm < first) {
    return ct_fail(err, CT_EINVAL, "%d%c is not a compute capability; '%c' is for %d and later", sm,
                   suffix, suffix, first);
  }
  return CT_OK;
}

const char *ct_nvrtc_read_arch(const char *text, int *sm, char arch[16]) {
  char *end;
  long n = strtol(text, &end, 10);
  bool has_suffix = (*end == 'a' || *end == 'f') && end[1] == '\0';
  if (*text < '0' || *text > '9' || (*end != '\0' && !has_suffix) || n > MAX_SM) {
    return NULL;
  }
  *sm = (int)n;
  ct_nvrtc_arch(*sm, arch);
  if (has_suffix) {
    snprintf(arch, 16, "sm_%d%s", *sm, end);
  }
  return end;
}
