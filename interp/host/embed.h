/* embed.h: what the files of the embedding API share: protected calls, and what the host holds. */
#ifndef CUTTLE_EMBED_H
#define CUTTLE_EMBED_H

#include "interp/launch/launch.h"

/* Calls fn with `ud` as its one argument. */
cuttle_Status embed_protect(CuttleState *s, lua_CFunction fn, void *ud);

/* Fails without a call of the Lua state. */
cuttle_Status embed_refuse(CuttleState *s, const char *msg);

/* From now on the call in progress enqueues on this stream of the host, or on none. */
void embed_set_guest(CuttleState *s, StateGuest guest);

/* Anchors the userdata at the top of the stack under its own address [-0, +0, m]. */
void embed_hold(lua_State *L);
void embed_let_go(lua_State *L, const void *p);

/* Pushes the tensor that the state holds at the address, or what is there in its place: then it returns NULL, and
   embed_refuse_tensor raises. The pointer is not followed before. */
Tensor *embed_test_tensor(lua_State *L, const void *t);
void embed_refuse_tensor(lua_State *L, const void *t, const char *what);
/* Each pushes what the state holds at the address, and raises if that is nothing, or something else. */
Tensor *embed_check_tensor(lua_State *L, const void *t, const char *op);
Kernel *embed_check_kernel(lua_State *L, const void *k, const char *op);

#endif
