/* launch_list.h: lists of tensors as arguments: a Lua table of tensors of one type, nesting and device.
   What a launch needs of a list is kept with the table: the rows of the IR's table (ct_ir_list) and,
   on a device, a copy of them. It is made anew when the table holds other tensors. */
#ifndef CUTTLE_LAUNCH_LIST_H
#define CUTTLE_LAUNCH_LIST_H

#include "launch.h"

/* The copy of a table on a device, in the order of one stream. */
typedef struct LaunchTable {
  CtAlloc alloc;
  int n_refs;
  CtDevice *device;
  CtStream stream;
  CtBuffer buffer;
} LaunchTable;

/* Does the Lua table at idx hold a tensor as its first element? */
bool launch_is_list(lua_State *L, const Kernel *k, int idx);

/* The list of the table at idx, made or brought up to date. Raises; the text at `title` on the stack begins
   messages. Alive as long as the table. */
LaunchList *launch_list_read(lua_State *L, const Kernel *k, int idx, int title);
/* Is it that of the table at idx, which holds the same tensors as when its id was this? */
bool launch_list_is(lua_State *L, const Kernel *k, int idx, LaunchList *list, uint64_t id);

uint64_t launch_list_id(const LaunchList *l); /* of what it holds now; unlike that of any other */
CtDevice *launch_list_device(const LaunchList *l);
/* What the key says of the list. */
const LaunchKey *launch_list_key(const LaunchList *l);
/* What the trace takes for granted of its tensors, for ct_ir_list. Valid while the list is the same. */
CtTensorSpec launch_list_spec(const LaunchList *l, const char *name);
/* The argument's slots: the table, where the launch reads it, and how many tensors there are. */
int64_t launch_list_size(const LaunchList *l);
const Tensor *launch_list_tensor(const LaunchList *l, int64_t i); /* from 0 */
int64_t launch_list_elems(const LaunchList *l);                   /* of the table */
/* For the CPU engine. */
const void *launch_list_rows(const LaunchList *l);
CtSimtList launch_list_members(const LaunchList *l);
/* For a launch on the stream: copies the table there if it is not there yet, and says where it is. */
CtStatus launch_list_upload(LaunchList *l, CtStream stream, CtDevPtr *out, CtErr *err) CT_NODISCARD;
/* The table that was copied last: memory of a launch that has not begun, if that keeps it. */
LaunchTable *launch_list_table(const LaunchList *l);
void launch_table_release(LaunchTable *t); /* gives up one reference; NULL is allowed */

/* All tensors of a launch's arguments, those of lists one by one:
     for (LaunchTensors w = {.args = a}; launch_next_tensor(&w);) { w.arg, w.tensor } */
typedef struct LaunchTensors {
  const LaunchArgs *args;
  const Arg *arg;
  const Tensor *tensor;
  int at;         /* of the argument */
  int64_t member; /* the next one of its list */
} LaunchTensors;
bool launch_next_tensor(LaunchTensors *w);

#endif
