/* dl.h: libraries that are loaded at run time, and our own declarations of the CUDA driver and
   NVRTC. The build needs no CUDA toolkit; a program that never asks for CUDA loads none of it.

   A table is filled at first use, under a lock, and then never changes or goes away. A failure is
   an ordinary error that lists the names tried; it is not remembered, so a later call tries
   again. */
#ifndef CT_DL_H
#define CT_DL_H

#include "runtime/base/err.h"

/* {====== The driver's types. Handles carry the driver's own struct tags; its enumerations are
   passed as the unsigned int that they are on every ABI it supports. ====== */

typedef unsigned CuResult, CuDeviceAttribute, CuFunctionAttribute, CuMemPoolAttribute, CuJitOption;
typedef unsigned CuMapDtype, CuMapInterleave, CuMapSwizzle, CuMapPromotion, CuMapFill;
typedef int CuDevice;
typedef unsigned long long CuDevicePtr;
typedef struct CUctx_st *CuContext;
typedef struct CUstream_st *CuStream;
typedef struct CUevent_st *CuEvent;
typedef struct CUmod_st *CuModule;
typedef struct CUfunc_st *CuFunction;
typedef struct CUmemPoolHandle_st *CuMemPool;
typedef struct CUgraph_st *CuGraph;
typedef struct CUgraphExec_st *CuGraphExec;
typedef struct CUgraphNode_st *CuGraphNode;
typedef unsigned CuCaptureMode;
typedef unsigned CuCaptureStatus;

typedef struct CuGraphUpdate { /* what stood in the way of an update */
  unsigned result;
  CuGraphNode node, from;
} CuGraphUpdate;

typedef struct CuUuid {
  char bytes[16];
} CuUuid;

typedef struct CuIpcMemHandle { /* an allocation, for another process */
  char bytes[64];
} CuIpcMemHandle;

typedef struct CuTensorMap {
  _Alignas(128) uint64_t words[16]; /* the driver asks for 64, later headers for more */
} CuTensorMap;

typedef struct CuMemPoolProps {
  unsigned alloc_type, handle_types, location_type;
  int location_id;
  void *security_attributes;
  size_t max_bytes;
  unsigned short usage;
  unsigned char reserved[54];
} CuMemPoolProps;

typedef struct CuMemAccess { /* who may use a pool's memory */
  unsigned location_type;
  int location_id;
  unsigned flags;
} CuMemAccess;

typedef struct CuLaunchAttribute {
  unsigned id;
  char pad[4];
  union {
    char bytes[64];
    unsigned cluster[3];
    int is_cooperative;
    int is_dependent; /* programmaticStreamSerializationAllowed */
    void *align;
  } value;
} CuLaunchAttribute;

typedef struct CuLaunchConfig {
  unsigned grid[3], block[3];
  unsigned shared_bytes;
  CuStream stream;
  CuLaunchAttribute *attributes;
  unsigned n_attributes;
} CuLaunchConfig;

enum {
#define X(name, value) CT_##name = value,
#include "cuda_consts.def"
#undef X
};

/* {====== NVRTC's types ====== */

typedef unsigned NvrtcResult;
typedef struct NvrtcProgramRec *NvrtcProgram;

enum { CT_NVRTC_SUCCESS = 0, CT_NVRTC_ERROR_INVALID_OPTION = 5, CT_NVRTC_ERROR_COMPILATION = 6 };

/* {====== The tables ====== */

enum { CT_DL_PATH_BYTES = 1024 };

typedef struct CtCuda {
#define X(need, name, args) CuResult(*name) args;
#include "cuda_syms.def"
#undef X
  int version; /* of CUDA that the driver implements: 13000 for 13.0 */
  char path[CT_DL_PATH_BYTES];
} CtCuda;

typedef struct CtNvrtc {
#define X(need, name, args) NvrtcResult(*name) args;
#include "nvrtc_syms.def"
#undef X
  const char *(*nvrtcGetErrorString)(NvrtcResult r);
  int major, minor;
  char path[CT_DL_PATH_BYTES]; /* of the file, where it is known; else the name it was loaded by */
} CtNvrtc;

/* The CUDA driver: libcuda.so.1, or the file that CUTTLE_LIBCUDA names. Not initialised: that is
   cuInit's business. */
CtStatus ct_dl_cuda(const CtCuda **out, CtErr *err) CT_NODISCARD;

/* NVRTC: the file that CUTTLE_NVRTC names, or the newest of those found whose major version the
   driver's is not below (any, where there is no driver). */
CtStatus ct_dl_nvrtc(const CtNvrtc **out, CtErr *err) CT_NODISCARD;

/* Path of the NVRTC that ct_dl_nvrtc would load, or has loaded. Loads one only when the usual
   folders have none and the dynamic linker must be asked. */
CtStatus ct_dl_nvrtc_path(char path[CT_DL_PATH_BYTES], CtErr *err) CT_NODISCARD;

/* {====== Any other library ====== */

typedef struct CtDlSymbol {
  const char *name;
  size_t offset; /* of the function pointer in the table */
  bool required;
} CtDlSymbol;

typedef struct CtDlSpec {
  const char *what;         /* messages begin with it */
  const char *env;          /* a variable that replaces the search by one path; may be NULL */
  const char *advice;       /* what to do when there is none */
  const char *const *names; /* file names, the best first */
  size_t n_names;
} CtDlSpec;

/* Opens the first of the names that loads, trying each by itself and then in the folders where
   toolkits live. */
CtStatus ct_dl_open(const CtDlSpec *lib, void **handle, char path[CT_DL_PATH_BYTES],
                    CtErr *err) CT_NODISCARD;

/* Stores the symbols' addresses in `table`; a missing required one is an error. */
CtStatus ct_dl_fill(const char *what, void *handle, const char *path, const CtDlSymbol *symbols,
                    size_t n_symbols, void *table, CtErr *err) CT_NODISCARD;

void ct_dl_close(void *handle);

/* A library and its one table, for a static variable of the file that calls it. */
typedef struct CtDlLibrary {
  CtDlSpec spec;
  const CtDlSymbol *symbols;
  size_t n_symbols;
  void *table;
  CtStatus (*start)(const char *path, CtErr *err); /* after the table is filled; may be NULL */
  bool is_loaded;                                  /* ct_dl_load's own */
} CtDlLibrary;

/* Fills the library's table, if it is not filled yet. */
CtStatus ct_dl_load(CtDlLibrary *lib, CtErr *err) CT_NODISCARD;

#endif
