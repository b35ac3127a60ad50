/* repl_files.h: the files that a path, typed so far, may become. */
#ifndef CUTTLE_REPL_FILES_H
#define CUTTLE_REPL_FILES_H

#include <stdbool.h>
#include <stddef.h>

/* What the path lacks of a file's name, and whether that is a folder. */
typedef void (*FileFn)(void *ud, const char *rest, bool is_folder);

/* Calls fn for each file whose path begins with the `len` bytes at `path`; hidden ones only after a dot. */
void files_each(const char *path, size_t len, FileFn fn, void *ud);

#endif
