/* fork.h: a process that was made by fork has one thread, and none of the threads, contexts and locked locks of
   its parent. What depends on them remembers the count and compares. */
#ifndef CT_FORK_H
#define CT_FORK_H

/* How many forks lie between the process that first asked and this one. Safe in any thread. */
unsigned ct_fork_count(void);

#endif
