/* fake_device.h: devices on the driver of fake_cuda.h, for tests that include it once. */
#ifndef FAKE_DEVICE_H
#define FAKE_DEVICE_H

#include "runtime/device/device.h"

#include "fake_cuda.h"
#include "tap.h"

static FakeCuda *fake;
static char temp_dir[] = "/tmp/cuttle-test-XXXXXX";
static CtErr err;

/* Ends the test if the device cannot be opened. */
static inline CtDevice *open_with(CtDeviceOptions o) {
  CtDevice *d = NULL;
  o.alloc = ct_alloc_std;
  if (ct_device_open(&o, &d, &err) != CT_OK) {
    OK(false, "opens");
    tap_diag("%s", err.msg);
    exit(done_testing());
  }
  return d;
}

static inline CtDevice *open_fake(void) { return open_with((CtDeviceOptions){.ordinal = 0}); }

#endif
