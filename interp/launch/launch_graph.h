/* launch_graph.h: launches that a graph records, and carries out again on the CPU engine. */
#ifndef CUTTLE_LAUNCH_GRAPH_H
#define CUTTLE_LAUNCH_GRAPH_H

#include "interp/state/recorder.h"
#include "launch.h"

/* What a graph is made of on one device. A graph's user value is a table: launches by their numbers (each a table of the launch,
   the kernel and the arguments, on the CPU engine only), functions of calls by their negative numbers and, as keys,
   what else must live as long. */
typedef struct GraphParts {
  StateRecorder recorder; /* first: CuttleState.recorder points to that of the head */
  Spec **specs;           /* one reference to each */
  size_t n_specs, cap_specs;
  CtGraph *exec; /* on a device, when it was recorded */
} GraphParts;

/* Registry: the table of the graph that is being recorded. */
#define GRAPH_RECORDING "cuttle.recording"

/* Records n launches in a row instead of launching. Raises. */
void launch_record(lua_State *L, int kernel, const LaunchConfig *config, LaunchArgs *args,
                   Spec *spec, int64_t n);
/* The value at idx lives as long as the graph that is being recorded. */
void launch_record_anchor(lua_State *L, int idx);
/* Carries out launch number i of the table at `launches`. Raises. */
void launch_replay(lua_State *L, int launches, int i);
void launch_parts_clear(GraphParts *p);

#endif
