/* check_flag_table.h: the elements that atomic operations touched, and what was handed on at each. check_flag.c says
   when; nobody else reads it. Whoever calls holds the lock of the flags. */
#ifndef CT_WATCH_CHECK_FLAG_TABLE_H
#define CT_WATCH_CHECK_FLAG_TABLE_H

#include "check_known.h"
#include "runtime/base/hash_table.h"

/* What a rank's threads handed on at an element. */
typedef struct CtFlagHanded {
  int rank;
  CtKnowledge *known;
} CtFlagHanded;

/* Lanes that have read all atomic writes of an element. */
typedef struct CtFlagReader {
  CtCheckEvent event;
  uint32_t lanes;
} CtFlagReader;

typedef struct CtFlagElement {
  const char *at;
  int job; /* of shared memory: whose it is; -1: of global memory */
  int64_t block;
  CtFlagHanded *of; /* to threads of the same rank */
  size_t n_of, cap_of;
  CtKnowledge *sys; /* to all */
  bool is_written;
  uint64_t stored_by;    /* the thread whose release was the last write + 1; 0: none */
  CtFlagReader *readers; /* the first of each warp, since the last write */
  size_t n_readers, cap_readers;
} CtFlagElement;

typedef struct CtFlagTable {
  CtAlloc alloc;
  CtFlagElement *elements; /* as many as by_address.n */
  size_t cap;
  CtHashTable by_address;
} CtFlagTable;

void ct_flag_table_clear(CtFlagTable *t);
/* The element at that address; NULL: there is none, or, if it is to be made, no memory. Shared memory is that of one
   block after the other: job and block say whose, and what another one left is forgotten. */
CtFlagElement *ct_flag_element(CtFlagTable *t, int job, int64_t block, const char *at, bool makes);
/* Forgets what was handed on. */
void ct_flag_element_clear(const CtFlagTable *t, CtFlagElement *e);
/* What the rank's threads handed on there; NULL: nothing, or, if a place for it is to be made, no memory. */
CtKnowledge **ct_flag_handed(const CtFlagTable *t, CtFlagElement *e, int rank, bool makes);
/* False: no memory. */
bool ct_flag_add_reader(const CtFlagTable *t, CtFlagElement *e, const CtFlagReader *reader);

#endif
