/* repl_files.c: names of files as candidates of completion. */
#include "repl_parts.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_BYTES = 1024 };

static bool is_folder(const char *folder, const char *name) {
  char path[2 * PATH_BYTES];
  struct stat st;
  return snprintf(path, sizeof path, "%s%s", folder, name) < (int)sizeof path &&
         stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Adds to the list at the top what `base` lacks of each name in the folder. */
static void add_rests(lua_State *L, DIR *dir, const char *folder, const char *base) {
  size_t len = strlen(base);
  lua_Integer n = 0;
  for (struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    const char *name = e->d_name;
    bool is_hidden = name[0] == '.' && len == 0;
    if (!is_hidden && strncmp(name, base, len) == 0 && strcmp(name, ".") != 0 &&
        strcmp(name, "..") != 0) {
      lua_pushfstring(L, "%s%s", name + len, is_folder(folder, name) ? "/" : "");
      lua_rawseti(L, -2, ++n);
    }
  }
}

void files_push(lua_State *L, const char *path) {
  char folder[PATH_BYTES];
  const char *slash = strrchr(path, '/'), *base = slash == NULL ? path : slash + 1;
  bool fits = snprintf(folder, PATH_BYTES, "%.*s", (int)(base - path), path) < PATH_BYTES;
  DIR *dir = fits ? opendir(*folder == '\0' ? "." : folder) : NULL;
  lua_newtable(L);
  if (dir != NULL) {
    add_rests(L, dir, folder, base);
    closedir(dir);
  }
}
