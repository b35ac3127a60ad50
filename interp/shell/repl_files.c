/* repl_files.c: names of files as candidates of completion. */
#include "repl_files.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024 };

/* The folder that a path names with all up to its last '/': "" is this one. False: too long. */
static bool folder_of(const char *path, size_t len, char folder[PATH_BYTES], size_t *base) {
  *base = len;
  while (*base > 0 && path[*base - 1] != '/') {
    --*base;
  }
  return snprintf(folder, PATH_BYTES, "%.*s", (int)*base, path) < PATH_BYTES;
}

static bool is_folder(const char *folder, const char *name) {
  char path[2 * PATH_BYTES];
  struct stat st;
  return snprintf(path, sizeof path, "%s%s", folder, name) < (int)sizeof path &&
         stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

void files_each(const char *path, size_t len, FileFn fn, void *ud) {
  char folder[PATH_BYTES];
  size_t base;
  DIR *dir = folder_of(path, len, folder, &base) ? opendir(*folder == '\0' ? "." : folder) : NULL;
  if (dir == NULL) {
    return;
  }
  for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    bool is_hidden = e->d_name[0] == '.' && base == len;
    if (!is_hidden && strncmp(e->d_name, path + base, len - base) == 0 &&
        strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
      fn(ud, e->d_name + (len - base), is_folder(folder, e->d_name));
    }
  }
  closedir(dir);
}
