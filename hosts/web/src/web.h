/* web.h: what a page calls of the program: prompts whose inputs come as texts, completion, pictures. Commands
   it runs by main(). All that is said goes to standard output and standard error; how these reach the page is
   the page's matter.

   A state has a number: 0 is the prompt's, 1 that of a script's lines, 2 one in which no script runs. A state is
   opened at its first use. Functions return 0 when what they ran ended without an error, if nothing else is
   said. */
#ifndef CUTTLE_WEB_H
#define CUTTLE_WEB_H

/* Opens the state anew. `greets`: with the prompt's greeting. */
int web_open(int state, int greets);

/* Runs an input of one or more lines as the prompt does. -1: nothing ran, another line may complete it. */
int web_input(int state, const char *text);

/* Runs a text as a script without arguments, whose locals later inputs see. os.exit ends the script only. */
int web_script(int state, const char *text);

/* The candidates for the name that ends at the end of the line, sorted, each with a newline. Lives until the
   next call. */
const char *web_complete(int state, const char *line);

/* Prints what an expression is worth, and writes the page with its picture to a file. */
int web_picture(int state, const char *expression, const char *path);

/* Calls a function of the module cuttle.web with a text. */
int web_call(const char *name, const char *argument);

/* What a cell of a notebook is. */
enum { WEB_EXPRESSION, WEB_LAYOUT, WEB_STATEMENT, WEB_BROKEN, WEB_FAILED = 8 };

/* Runs a cell as the input `number` and prints its values, or without one the value of the name `shows`, if
   that is not "". Where the value has a picture, the picture goes to the file, as SVG. Returns what the cell
   is, plus WEB_FAILED where it ended with an error. */
int web_cell(int state, int number, const char *text, const char *shows, const char *path);

#endif
