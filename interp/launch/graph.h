/* graph.h: a graph as a Lua value, for bind_graph.c, which records it, and graph_run.c, which launches it. */
#ifndef CUTTLE_GRAPH_H
#define CUTTLE_GRAPH_H

#include "launch_graph.h"

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
