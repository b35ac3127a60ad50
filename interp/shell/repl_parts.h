/* repl_parts.h: what the prompt is made of, file by file. */
#ifndef CUTTLE_REPL_PARTS_H
#define CUTTLE_REPL_PARTS_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <lua.h>

/* repl_edit.c: lines from standard input for the read-eval-print loop: on a terminal edited by
   libedit or readline if one can be loaded, with completion and a history; else plain. */

/* Candidates for the word that ends at the cursor of the line `before`..: a list for readline, from
   malloc: their common beginning, each of them, NULL. NULL when there are none. */
typedef char **(*EditComplete)(void *ud, const char *line, size_t cursor);

typedef enum EditStatus { EDIT_LINE, EDIT_END, EDIT_INTERRUPTED } EditStatus;

typedef struct Editor {
  bool is_terminal;                       /* standard input is one: prompts are shown */
  const volatile sig_atomic_t *interrupt; /* set by the handler of SIGINT while a line is read */
  EditComplete complete;
  void *complete_ud;
  char *line; /* the latest, with its newline cut off; from malloc */
  size_t len;
  bool is_more;              /* the latest was asked for as one of an input that has begun */
  bool must_abort;           /* Ctrl-C came while readline completed */
  unsigned n_interrupt_keys; /* that the library got because Ctrl-C was pressed */

  /* of the library; NULL where it lacks them */
  char *(*readline)(const char *prompt);
  void (*add_history)(const char *line);
  void (*stifle_history)(int n);
  void (*check_signals)(void); /* readline: handles what its handlers have put off */
  int (*pending_signal)(void); /* what they have put off, or 0 */
  char **line_buffer;          /* its variables rl_line_buffer, */
  int *point;                  /* rl_point, */
  int *is_complete;            /* rl_attempted_completion_over */
  const unsigned long *state;  /* rl_readline_state; looked at with check_signals only */
  int *append;                 /* rl_completion_append_character */
  bool takes_wide;             /* libedit: a character read is a code point, not a byte */

  char history_path[1024]; /* "" when there is none */
  char *latest;            /* entry of the history; from malloc */
} Editor;

/* Prepares *e, whose fields up to complete_ud are set, and reads the history. One editor at a time:
   the libraries have one terminal. */
void edit_open(Editor *e);
void edit_close(Editor *e);

/* The next line into e->line; is_more: one of an input that has begun. EDIT_INTERRUPTED when
   *e->interrupt was set in the meantime. */
EditStatus edit_read(Editor *e, bool is_more);

/* Puts an input, of one or more lines, into the history and its file. */
void edit_remember(Editor *e, const char *input);

/* repl_input.c: from lines to a function to call. An input is an expression, a layout as CuTe writes
   it, or statements, over as many lines as it takes. */

enum { INPUT_CANCELLED = -1 }; /* Ctrl-C was pressed before it was complete */

/* Reads on, with `editor`, from the first line, which is at the top of the stack: it becomes the
   function, or the message of why there is none. Returns Lua's status, or INPUT_CANCELLED. `number`
   is that of the input, which its chunk is called after [-1, +1, m]. */
int input_load(lua_State *L, Editor *editor, int number);

/* The same of an input that the caller has whole, or as far as it goes: *more says that another line may
   complete it, and the message is then of no use [-1, +1, m]. */
int input_load_text(lua_State *L, int number, bool *more);
/* As src_load of a text: the function, too, sees the session's locals and keeps its own for the session when it has
   come to its end [-0, +1, m]. */
int input_load_chunk(lua_State *L, const char *text, const char *chunkname);

/* A lua_CFunction: calls the function of that name of prompt_input.lua with the other arguments. */
int input_call(lua_State *L);

/* repl_complete.c: what may stand at the cursor of a line: names, fields, methods, modes. */

/* The candidates for the name that ends at `cursor`, as readline takes them: their common beginning,
   then each, then NULL, all from malloc; NULL when there is none. Reads tables and metatables only:
   no script runs, except names() of a layout, and nothing raises. */
char **complete_line(lua_State *L, const char *line, size_t cursor);

/* repl_files.c: the files that a path, typed so far, may become. */

/* Pushes the list of what the path lacks of each file's name, with a '/' after a folder's; hidden ones only after a
   dot [-0, +1, m]. */
void files_push(lua_State *L, const char *path);

/* repl_print.c: how the read-eval-print loop shows what an input is worth. */

/* A lua_CFunction that prints its arguments as `print` does, but a plain table by its contents; on a
   terminal a small layout is drawn as well. */
int print_values(lua_State *L);

#endif
