/* front_record.h: the nodes of records, shared by front_record.c and front_alias.c. */
#ifndef CUTTLE_FRONT_RECORD_H
#define CUTTLE_FRONT_RECORD_H

#include "interp/trace/front_state.h"

enum { RECORD_MAX_NESTED = 20 };

/* Parts of a node, by keys that no record has: its metatable, its keys in order, its family as a list, the table that
   it holds now, its box, what is stale: key -> text of why, and the clock when what it holds was changed. */
extern char record_meta_key, record_order_key, record_family_key, record_current_key,
    record_box_key, record_stale_key, record_changed_key;
/* In the registry, of the running trace: table -> {node = whether it is merged there}, for each family that it is
   in. */
extern char record_nodes_key;

int record_get_part(lua_State *L, int node, char *part);  /* pushes it */
void record_put_part(lua_State *L, int node, char *part); /* pops it */
/* Pushes "best.value", or "best[1]". */
const char *record_push_name(lua_State *L, const char *name, int key);
int record_fail_shape(lua_State *L, const char *name, const char *what);
/* The value at the top is stored into the part of a node that is below it; both are popped. */
void record_store_part(lua_State *L, Front *f, const char *name);

/* Pushes {node = whether it is merged there} of the table at idx; false, and pushes nothing: it is in no family. */
bool record_push_nodes(lua_State *L, const Front *f, int idx);

/* The node takes the table at `record`: raises if a change in this loop would reach, in the next turn, what shares
   the table with it. */
void record_check_turns(lua_State *L, Front *f, int node, int record);

#endif
