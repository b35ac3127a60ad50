/* launch_site.h: what a kernel knows of launches with lent memory. The first launch leaves a site: tensors without memory
   of their own, the arguments as they were read, and what an argument has to be so that all this holds for it. A later
   launch whose arguments fit gets it, with its addresses, extents and numbers put in. */
#ifndef CUTTLE_LAUNCH_SITE_H
#define CUTTLE_LAUNCH_SITE_H

#include "launch.h"

/* launch_lent.c: launches with memory that a host lends for one launch (cuttle_Memory). */

typedef struct LaunchLent {
  int n;
  const cuttle_Arg *args;
  const CtStream *stream; /* of the device of the arguments; NULL: the device's own */
  /* Pushes argument i, counted from 0, of the kernel at an index, if it is no memory; may raise. */
  void (*push)(lua_State *L, int kernel, int i, const cuttle_Arg *arg);
} LaunchLent;

/* Launches the kernel at `kernel` once. Raises: then, when no call of the host is in progress any more,
   site_end_all makes the state forget the memory. */
void launch_lent(lua_State *L, int kernel, LaunchConfig *config, const LaunchLent *lent);
/* The same launch, on a device, without Lua: where the last one like it found all in place, and nothing that it
   depends on can have changed since. `kernel` is not followed before it is known. False: launch_lent is to do it.
   True: it was tried, and *status says how that ended. */
bool launch_lent_again(CuttleState *s, const void *kernel, LaunchConfig *config,
                       const LaunchLent *lent, CtStatus *status, CtErr *err);

/* launch_site.c. */

enum { SITE_ARGS = 1, SITE_TENSORS, SITE_VALUES = SITE_TENSORS }; /* user values */

/* What an argument of a site's launches has to be. */
typedef struct SiteArg {
  CtCallSpan span;      /* of the launch under way, of memory; first: ct_spans_overlap */
  cuttle_ArgKind kind;  /* I64 of an INT that needs 64 bits */
  CtDtype dtype;        /* of a number, as the kernel takes it */
  int slot;             /* of memory or a number, among the launch's values */
  int32_t rank, device; /* of memory, */
  bool is_read_only;
  CtTerms terms;     /* and the rest of it */
  int64_t value;     /* of a STATIC */
  size_t text_bytes; /* of a text; */
  char *text;        /* NULL: there was none */
} SiteArg;

/* A launch that was worked out before, in few lines of memory: the driver's work between two launches takes the rest
   out of the caches. It holds as long as nothing that launches depend on has changed, which launch_lent.c knows. */
enum { BRIEF_PACKS = 48, BRIEF_BYTES = 256 }; /* a launch with more has none */

typedef struct LaunchBrief {
  CtFunction *fn; /* NULL: there is none */
  CtDevice *device;
  bool is_captured; /* as Spec has it */
  int n_packs;
  unsigned n_bytes;
  CtLaunch launch;
  unsigned char params[BRIEF_BYTES];
  Pack packs[BRIEF_PACKS];
} LaunchBrief;

/* What a launch of the kernel learned of arguments like its own, for the next such launch. */
typedef struct LaunchSite {
  struct LaunchSite *next;
  int call;  /* the depth of the call of the host that uses it, or did when it failed; 0: none */
  int place; /* in the kernel's list of sites */
  bool is_read;
  /* StateTurn.number when a launch found all in place, and with what: launch_lent_again. 0: never. */
  uint64_t turn;
  CtDim3 grid;
  bool pdl, cooperative;
  int n;
  SiteArg *wants; /* n of them, after the struct; then terms and texts */
  LaunchBrief brief;
  LaunchArgs args;
} LaunchSite;

/* The site that takes the arguments, which becomes the kernel's first one; NULL: none does. Its slots and spans are those
   of the launch. */
LaunchSite *site_find(Kernel *k, const LaunchConfig *c, const LaunchLent *lent);
/* Pushes the site of a first launch, with what this launch has. Raises. */
LaunchSite *site_new(lua_State *L, int kernel, const LaunchConfig *config, const LaunchLent *lent);
/* Pushes one that was found. False: it had to read the arguments anew. */
bool site_use(lua_State *L, int kernel, const LaunchConfig *config, LaunchSite *site,
              const LaunchLent *lent);
/* Puts what the site has found of the launch into its tensors and arguments. */
void site_move(lua_State *L, CuttleState *s, LaunchSite *site, const LaunchLent *lent);
/* The trace has said what numbers without a type are. */
void site_note_types(LaunchSite *site);
/* The host may free its memory. */
void site_end(LaunchSite *site);
void site_end_all(CuttleState *s); /* of all launches: some did not come to their end */

/* launch_memory.c: memory that a host describes (cuttle_Memory), as a tensor. */

/* Raises if it is not described soundly. `what` is how messages call it. */
void launch_check_memory(lua_State *L, const cuttle_Memory *m, const char *what);
/* Can elements that span so many bytes be at the host's address? Not at NULL, nor at one that no element of the type may
   have: a GPU faults there. */
CtStatus launch_check_pointer(const char *what, const void *ptr, size_t bytes, CtDtype dtype,
                              CtErr *err) CT_NODISCARD;
/* Pushes a tensor without memory, of the extents and strides of *m [-0, +1, e].
   *bytes: those that its elements span. */
Tensor *launch_push_lent(lua_State *L, const cuttle_Memory *m, const char *what, size_t *bytes);
/* Puts the host's memory into such a tensor, which `free` (may be NULL) gives back. */
CtStatus launch_lend(CuttleState *s, Tensor *t, const cuttle_Memory *m, size_t bytes,
                     CtStorageFree free, void *free_ud, CtErr *err) CT_NODISCARD;

#endif
