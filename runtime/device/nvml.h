/* nvml.h: what a device's own sensors say, by NVML, which comes with the driver; loaded at first use.
   For reports: figures of speed depend on clock and power. */
#ifndef CT_NVML_H
#define CT_NVML_H

#include "device.h"

typedef struct CtSensors {
  unsigned sm_mhz;
  double watts; /* the board's */
} CtSensors;

/* CT_EMISSING without NVML, CT_EDEVICE where it does not know the device or does not tell. */
CtStatus ct_nvml_read(const CtDevice *d, CtSensors *out, CtErr *err) CT_NODISCARD;

#endif
