/* storage_mirror.h: pages of memory on a device that the host keeps, for storage.c (ct_storage_get). */
#ifndef CT_STORAGE_MIRROR_H
#define CT_STORAGE_MIRROR_H

#include "storage.h"

/* `bytes` at `at` of a storage that is kept, which lie in it and on one page. */
CtStatus ct_mirror_get(CtStorage *s, size_t at, void *dst, size_t bytes, CtErr *err) CT_NODISCARD;
CtStatus ct_mirror_put(CtStorage *s, size_t at, const void *src, size_t bytes,
                       CtErr *err) CT_NODISCARD;

void ct_mirror_drop(CtStorage *s); /* before the memory is freed: what changed is lost */

#endif
