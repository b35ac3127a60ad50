/* simt_engine.h: what the CPU engine, simt.c, is made of. */
#ifndef CT_SIMT_ENGINE_H
#define CT_SIMT_ENGINE_H

#include "simt_run.h"

/* simt_isa.c: the instruction set of that name and its handlers; NULL: the best one that this CPU
   has. */
CtStatus ct_simt_choose_isa(const char *name, const char **chosen,
                            CtHandler handlers[CT_SIMT_OP_COUNT], CtErr *err) CT_NODISCARD;

/* simt_team.c: runs clusters of the launches until none is left, on the thread of that number. */
void ct_simt_work(CtSimtGroup *group, int thread);

/* simt_grid.c: all warps of the block have stopped at the same barrier, `first` is one of them. May
   they go on? At the grid's barrier the first call counts the block's arrival. */
bool ct_simt_pass_grid(CtWarp *first);

/* simt_watch.c: the form of an instruction in a watched launch: watchers see each iteration of a
   loop. */
CtIn ct_simt_watched_form(CtIn in);

/* simt_watch.c: puts the launch's watcher, whose `begin` has run, between the bound code and its
   handlers. `handlers` keeps those. */
void ct_simt_watch_code(const CtSimtJob *job, CtIn *code, CtHandler *handlers);

#endif
