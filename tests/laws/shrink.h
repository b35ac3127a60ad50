/* shrink.h: a smaller case that breaks the same law. */
#ifndef CT_TESTS_SHRINK_H
#define CT_TESTS_SHRINK_H

#include "law.h"

bool is_empty_case(const Case *c); /* one of its layouts or shapes has no elements */

/* Tries smaller layouts and numbers in place of the case's as long as the law stays broken. `keep`
   holds the result; the arena of `run` is reset for each try. */
void shrink_case(const Law *law, Run *run, CtArena *keep, Case *c);

#endif
