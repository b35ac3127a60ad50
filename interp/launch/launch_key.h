/* launch_key.h: what the key of an argument says, for launch_spec.c, which makes the IR agree with it. */
#ifndef CUTTLE_LAUNCH_KEY_H
#define CUTTLE_LAUNCH_KEY_H

#include "launch.h"

CtDtype launch_index_type(const Arg *arg); /* i32 where the tensor spans < 2^31 bytes */
int launch_align(const Arg *arg);          /* bytes, a power of two <= 16 */
/* Is a number of the tensor's shape or stride a value of the launch? `leaf`: its place among them. */
bool launch_is_slot(const Kernel *k, const Tensor *t, bool is_extent, int leaf, int64_t v);
int64_t launch_leaf_div(bool is_extent, int64_t v, CtDtype dtype); /* the divisor the key knows */

#endif
