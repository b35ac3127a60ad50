/* device_fault.c: assertions of kernels that failed: the records that threads write and waits read. */
#include <stdio.h>

#include "device_priv.h"

enum { RECORD_INTS = 8, TAKEN = 7 };

struct CtFault {
  CtFault *next; /* of the device's */
  CtDevice *device;
  volatile int *record;
  const CtFaultSite *sites;
  int n;
};

CtStatus ct_fault_new(CtDevice *d, const CtFaultSite *sites, int n, CtFault **out, CtErr *err) {
  CtFault *f = ct_alloc(d->alloc, sizeof *f);
  void *record;
  if (f == NULL) {
    return ct_fail_nomem(err);
  }
  CtStatus status = ct_device_host_new(d, RECORD_INTS * sizeof(int), &record, err);
  if (status != CT_OK) {
    ct_free(d->alloc, f, sizeof *f);
    return status;
  }
  *f = (CtFault){.next = d->faults, .device = d, .record = record, .sites = sites, .n = n};
  for (int i = 0; i < RECORD_INTS; i++) {
    f->record[i] = 0;
  }
  d->faults = f;
  *out = f;
  return CT_OK;
}

void ct_fault_free(CtFault *f) {
  if (f == NULL) {
    return;
  }
  CtDevice *d = f->device;
  for (CtFault **link = &d->faults; *link != NULL; link = &(*link)->next) {
    if (*link == f) {
      *link = f->next;
      break;
    }
  }
  ct_device_host_free(d, (void *)(uintptr_t)f->record);
  ct_free(d->alloc, f, sizeof *f);
}

CtDevPtr ct_fault_address(const CtFault *f) { return (CtDevPtr)(uintptr_t)f->record; }

static CtStatus report(const CtFault *f, int which, CtErr *err) {
  char thread[48], block[48];
  const volatile int *r = f->record;
  snprintf(thread, sizeof thread, "(%d,%d,%d)", r[1], r[2], r[3]);
  snprintf(block, sizeof block, "(%d,%d,%d)", r[4], r[5], r[6]);
  bool is_known = which > 0 && which <= f->n;
  CtStatus status = ct_fail(err, CT_EINVAL, "assert: %s, by thread %s of block %s",
                            is_known ? f->sites[which - 1].text : "?", thread, block);
  if (is_known) {
    ct_err_at(err, f->sites[which - 1].chunk, f->sites[which - 1].line);
  }
  return status;
}

CtStatus ct_device_check_faults(CtDevice *d, CtErr *err) {
  CtStatus status = CT_OK;
  for (const CtFault *f = d->faults; f != NULL; f = f->next) {
    int which = f->record[0];
    if (which != 0) { /* of several the newest kernel's, which comes first, is told */
      status = status == CT_OK ? report(f, which, err) : status;
      f->record[0] = 0;
      f->record[TAKEN] = 0;
    }
  }
  return status;
}
