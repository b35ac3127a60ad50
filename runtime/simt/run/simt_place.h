/* simt_place.h: parts of messages: threads, blocks and elements as scripts know them. */
#ifndef CT_SIMT_PLACE_H
#define CT_SIMT_PLACE_H

#include "simt_run.h"

/* A short text; what has no room in it is cut off. */
enum { CT_PART_BYTES = 256 };
typedef struct CtPart {
  char s[CT_PART_BYTES];
  size_t len;
} CtPart;

void ct_part_add(CtPart *p, const char *s);
void ct_part_int(CtPart *p, int64_t v);
CtPart ct_part_block(const CtWorker *k); /* "(0,1,0)"; "(0,1,0) of rank 2" if its launch has one */
CtPart ct_part_thread(const CtSimtProgram *prog, const CtWarp *w, int lane);
/* " at (0,2048), extent (2048,2048)"; of a list's table, which tensor was asked for. */
CtPart ct_part_place(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin, int64_t off,
                     int64_t n_elems);
/* "x", or "l[2]" of a list's tensor. */
CtPart ct_part_name(const CtSimtJob *job, const CtSimtBuf *buf, const char *begin);

#endif
