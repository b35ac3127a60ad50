/* repl_edit.h: lines from standard input for the read-eval-print loop: on a terminal edited by
   libedit or readline if one can be loaded, with completion and a history; else plain. */
#ifndef CUTTLE_REPL_EDIT_H
#define CUTTLE_REPL_EDIT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

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

#endif
