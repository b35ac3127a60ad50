/* simt_engine.h: what the CPU engine, simt.c, is made of. */
#ifndef CT_SIMT_ENGINE_H
#define CT_SIMT_ENGINE_H

#include "simt_run.h"

/* The instruction set of that name, or the best that this CPU has for NULL, and its handlers.
   simt_isa.c */
CtStatus ct_simt_choose_isa(const char *name, const char **chosen,
                            CtHandler handlers[CT_SIMT_OP_COUNT], CtErr *err) CT_NODISCARD;

/* Runs clusters of the launch by the team of which this is the first, until none is left.
   simt_team.c */
void ct_simt_work(CtWorker *team);

/* An instruction as a watched launch has it: those who watch see each turn of a loop. simt_watch.c */
CtIn ct_simt_watched_form(CtIn in);

/* Puts the launch's watcher, who has begun, between the bound code and its handlers, which are kept
   in `handlers`. simt_watch.c */
void ct_simt_watch_code(const CtSimtJob *job, CtIn *code, CtHandler *handlers);

#endif
