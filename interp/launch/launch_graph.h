/* launch_graph.h: launches that a graph records, and carries out again on the CPU engine. */
#ifndef CUTTLE_LAUNCH_GRAPH_H
#define CUTTLE_LAUNCH_GRAPH_H

#include "interp/state/recorder.h"
#include "launch_tap.h"

/* What a graph is made of on one device. A graph's user value is a table: launches by their numbers (each a table of the launch,
   the kernel and the arguments, on the CPU engine only), functions of calls by their negative numbers and, as keys,
   what else must live as long. */
typedef struct GraphParts {
  StateRecorder recorder; /* first: StateTaps.recorder points to that of the head */
  Spec **specs;           /* one reference to each */
  size_t n_specs, cap_specs;
  CtGraph *exec; /* on a device, when it was recorded */
} GraphParts;

/* Registry: the table of the graph that is being recorded. */
#define GRAPH_RECORDING "cuttle.recording"

/* The tap `graph`: records the launches instead of launching. Raises. */
TapAnswer launch_graph_before(Launch *l, CtErr *err);
/* The tap of a stream that the host captures: its graph launches the specialisation, nobody says for how long. */
TapAnswer launch_host_graph_before(Launch *l, CtErr *err);
/* The value at idx lives as long as the graph that is being recorded. */
void launch_record_anchor(lua_State *L, int idx);
/* A recorded launch, in its table; the kernel and the arguments follow. */
typedef struct KeptLaunch {
  LaunchConfig config;
  Spec *spec; /* of the graph */
  int64_t n;
  int n_args;
  int rank; /* of m:run, or -1 */
} KeptLaunch;

void launch_parts_clear(GraphParts *p);

#endif
