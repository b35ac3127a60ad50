/* launch_engine.h: a launch on its engine. */
#ifndef CUTTLE_LAUNCH_ENGINE_H
#define CUTTLE_LAUNCH_ENGINE_H

#include "launch_tap.h"

/* Runs the launches on the CPU engine, or enqueues them on the device, which has the tables of lists. */
CtStatus launch_on_engine(const Launch *l, CtErr *err) CT_NODISCARD;
/* The tap `memory`: gives the device the tables of lists, and notes on which stream memory is used. */
TapAnswer launch_memory_before(Launch *l, CtErr *err);

#endif
