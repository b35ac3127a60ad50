/* std_modules.h: the Lua modules of stdlib/, carried by the binary; scripts/embed.lua writes the table. */
#ifndef CUTTLE_STD_MODULES_H
#define CUTTLE_STD_MODULES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct StdModule {
  const char *name;   /* as in require "cuttle.show" */
  const char *source; /* Lua text, with any bytes in strings; a NUL follows */
  size_t len;         /* without the NUL */
  size_t text_len;    /* not 0: the text is so many bytes, which packed_text.c makes of those */
} StdModule;

/* How many arguments a function takes, by its annotation. */
typedef struct StdCount {
  const char *type; /* whose method it is, or the module or table that has it; NULL: none */
  const char *name;
  int n; /* with the object of a method; -1: as the function of that name */
  bool is_method;
} StdCount;

extern const StdCount std_counts[];   /* the last one's name is NULL */
extern const StdModule std_modules[]; /* the last one's name is NULL */
extern const char std_command_rows[]; /* of the commands among them, for --help of the program */

#endif
