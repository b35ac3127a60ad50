/* tuple_parse.h: a cursor over the text of tuples, layouts and tilers. Each function skips spaces,
   reads one thing and leaves the cursor behind it. Internal to the algebra. */
#ifndef CT_TUPLE_PARSE_H
#define CT_TUPLE_PARSE_H

#include "inttuple.h"

typedef struct CtParse {
  CtArena *arena;
  CtErr *err;
  const char *what;    /* "tuple", "layout" or "tiler", for messages */
  const char *unnamed; /* NULL where nodes may have names, else what is said of a name */
  const char *s;
  size_t len, at;
} CtParse;

void ct_parse_init(CtParse *p, CtArena *arena, const char *what, const char *s, size_t len,
                   CtErr *err);
char ct_parse_peek(CtParse *p);               /* the next byte that is no space; 0 at the end */
bool ct_parse_accept(CtParse *p, char c);     /* steps over c if it is next */
CtStatus ct_parse_expect(CtParse *p, char c); /* likewise, or fails */
CtStatus ct_parse_end(CtParse *p);            /* nothing may follow */
CtStatus ct_parse_tuple(CtParse *p, CtTuple *out) CT_NODISCARD;
CtStatus ct_parse_number(CtParse *p, int64_t *out) CT_NODISCARD;
bool ct_parse_word(CtParse *p, const char *word); /* steps over the word if it is next */

/* Fails with `<what>: <msg> at column <at> of '<text>'`. */
CtStatus ct_parse_fail(CtParse *p, size_t at, const char *msg);

#endif
