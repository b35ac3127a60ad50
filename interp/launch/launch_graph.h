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

/* graph.c: a graph as a Lua value, for bind_graph.c, which records it, and graph_run.c, which launches it. */

/* A userdata. User value 1: the function; 2: a table of its arguments; 3: the table of GraphParts. */
typedef struct Graph {
  GraphParts *head; /* of the device where it began; the parts of others follow */
  CuttleState *state;
  CtDevice *device; /* where it began */
  int rank;         /* as StateRecorder.rank */
  int n_args;
  bool is_open, is_recording;
} Graph;

enum { USER_FN = 1, USER_ARGS, USER_KEPT };

/* The parts on the next device; NULL: there is none. */
static inline GraphParts *graph_next_part(const GraphParts *p) {
  return (GraphParts *)(void *)p->recorder.next;
}

/* Launches the graph at index 1, whose table is at 2. It may yield to other ranks. Raises. */
int graph_run(lua_State *L, const Graph *g);
/* Waits in ranks for what its devices still run. */
void graph_await_devices(lua_State *L, const Graph *g);

/* Reads launch number i of the table at `launches` again. Pushes what it keeps, of which the kernel is the third
   value. Raises. */
const KeptLaunch *graph_read_kept(lua_State *L, int launches, int i, LaunchArgs *args);

#endif
