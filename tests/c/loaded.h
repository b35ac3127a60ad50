/* loaded.h: whether this process has loaded a library, asked of the dynamic linker. */
#ifndef LOADED_H
#define LOADED_H

#include <dlfcn.h>
#include <stdbool.h>

static inline bool is_loaded(const char *path) {
  void *handle = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  return handle != NULL && dlclose(handle) == 0;
}

#endif
