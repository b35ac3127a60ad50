/* tuple_parse.h: a cursor over the text of tuples, layouts and tilers. Each function skips spaces,
   reads one thing and leaves the cursor after it. The context keeps failures; results after a
   failure mean nothing. Internal to the algebra. */
#ifndef CT_TUPLE_PARSE_H
#define CT_TUPLE_PARSE_H

#include "tuple_context.h"

typedef struct CtParse {
  CtAlg g;
  const char *what;    /* "tuple", "layout" or "tiler", for messages */
  const char *unnamed; /* NULL if nodes may have names, else what to say about a name */
  const char *s;
  size_t len, at;
} CtParse;

void ct_parse_init(CtParse *p, CtArena *arena, const char *what, const char *s, size_t len,
                   CtErr *err);
char ct_parse_peek(CtParse *p);           /* the next byte that is not a space; 0 at the end */
bool ct_parse_accept(CtParse *p, char c); /* steps over c if it is next */
void ct_parse_expect(CtParse *p, char c); /* the same, but fails if it is not next */
/* fails if text follows; returns the status of the whole parse */
CtStatus ct_parse_end(CtParse *p);
CtTuple ct_parse_tuple(CtParse *p);
CtTuple ct_parse_unnamed(CtParse *p); /* a tuple without names */
int64_t ct_parse_number(CtParse *p);
int64_t ct_parse_static(CtParse *p); /* the same, or as CuTe prints a static integer: _4 */
bool ct_parse_word(CtParse *p, const char *word); /* steps over the word if it is next */

/* Fails with `<what>: <msg> at column <at> of '<text>'`. */
void ct_parse_fail(CtParse *p, size_t at, const char *msg);

#endif
