/* sandbox.h: what a sandboxed script gets in place of some of Lua's functions, so that it has no files,
   and nothing that it calls runs on after the state is told to stop. docs/sandbox.md says what is
   promised. Each file opens the functions of one kind. */
#ifndef CUTTLE_SANDBOX_H
#define CUTTLE_SANDBOX_H

#include <lua.h>

#include "interp/state/standard.h"
#include "interp/state/state.h"

/* Lua's libraries that a sandboxed script has, with `require` [-0, +0, e]. */
void sandbox_open_libs(lua_State *L);
/* Takes names out of the language's table at the top [-0, +0, e]. */
void sandbox_cut_language(lua_State *L);
/* Takes what reaches files, bytecode or the collector out of the globals [-0, +0, e]. */
void sandbox_close(lua_State *L);

/* Functions of the globals, of `table` and of `string` that poll. For sandbox_open_libs. */
void sandbox_open_guards(lua_State *L);
void sandbox_open_table(lua_State *L);
void sandbox_open_string(lua_State *L);

/* sandbox_match.c: Lua's patterns, matched step by step under the state's limit and its interrupt. */

enum { MATCH_CAPTURES = 32, CAPTURE_OPEN = -1, CAPTURE_POSITION = -2 };

typedef struct Match {
  lua_State *L;
  CuttleState *state;
  const char *src, *src_end, *pattern_end;
  int depth;     /* of match_at inside match_at */
  int n_steps;   /* not charged yet */
  int n_capture; /* captures, finished or not */
  struct {
    const char *from;
    ptrdiff_t len; /* or CAPTURE_OPEN, CAPTURE_POSITION */
  } capture[MATCH_CAPTURES];
} Match;

void match_init(Match *m, lua_State *L, const char *src, size_t len, const char *pattern,
                size_t pattern_len);
/* The end of the match of `pattern` that begins at s; NULL: there is none. Raises for a malformed
   pattern, and when the state is to stop. */
const char *match_at(Match *m, const char *s, const char *pattern);
/* Pushes capture i, of the match from s to e; the first of a pattern without any is all of that. */
void match_push(Match *m, int i, const char *s, const char *e);
/* Pushes all captures and returns how many. With s NULL a pattern without captures gives none. */
int match_push_all(Match *m, const char *s, const char *e);
/* The place where the text `what` begins in `in`; NULL: nowhere. */
const char *match_plain(Match *m, const char *in, size_t len, const char *what, size_t what_len);

#endif
