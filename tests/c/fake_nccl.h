/* fake_nccl.h: NCCL for tests, on the memory of fake_libcuda.c, which is the host's. fake_nccl.c is compiled to a
   shared library by the test that uses it and named by CUTTLE_NCCL. Ranks may be in one process or in
   several: what they send is kept in memory, or in files of the folder FAKE_NCCL_DIR. A collective that lacks a
   rank hangs, and the streams of its process with it, until the rank comes or the communicator is aborted.

   Variables, read at each call:
     FAKE_NCCL_LOG    a file that gets a line for each call
     FAKE_NCCL_FAIL   "ncclAllReduce 5": this entry point returns 5
     FAKE_NCCL_ASYNC  "6 2": communicators report 6 from their 2nd collective on
     FAKE_NCCL_MUTE   the n-th collective of its kind and those after it never end
     FAKE_NCCL_SLOW   so many questions find a communicator in progress after each group */
#ifndef FAKE_NCCL_H
#define FAKE_NCCL_H

typedef struct FakeNccl {
  int live;      /* communicators */
  int n_aborted; /* so far, */
  int n_destroyed, n_finalized, n_groups, n_open_groups;
  int n_asked;          /* for errors */
  void (*forget)(void); /* frees the communicators that are left */
} FakeNccl;

#endif
