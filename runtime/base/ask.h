/* ask.h: work that looks at a flag (ct_flag_is_up) also asks its owner now and then whether it is to stop. The
   question is put in the thread that began the work, at a place where that thread looks at the flag: a host may
   run its handlers of signals there. Between two questions the work pays nothing, because one thread of the
   process puts the flags up (CT_FLAG_ASK) about twenty times a second. */
#ifndef CT_ASK_H
#define CT_ASK_H

#include <stdatomic.h>
#include <stdbool.h>

typedef struct CtAsk {
  volatile int *flag;      /* that the work looks at */
  bool (*stops)(void *ud); /* the question; true: the flag becomes CT_FLAG_STOP */
  void *ud;
  /* The rest is ask.c's. */
  struct CtAsk *outer; /* of the thread's work that this one began in; NULL: there is none */
  struct CtAsk *next;
  atomic_bool is_busy;
  bool is_asking;
} CtAsk;

/* Registers an owner, whose first three fields are set. Any thread may call these two. */
void ct_ask_open(CtAsk *a);
void ct_ask_close(CtAsk *a);

/* Around the work, in its thread. Work of several owners may be nested, that of one may not. */
void ct_ask_begin(CtAsk *a);
void ct_ask_end(CtAsk *a);

#endif
