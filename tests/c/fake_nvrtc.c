/* fake_nvrtc.c: a compiler whose cubin is its source after the first byte of a cubin, which is all that
   fake_libcuda.c looks at. With FAKE_NVRTC_LOG it adds a line with the program's name and the process to that file
   whenever it compiles: for tests of what is compiled, how often, and by whom. Then it takes its time, so that workers
   meet, and kills its process at the program "die". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct Program {
  char *source, *name;
} Program;

static char *copy_of(const char *s) {
  char *copy = malloc(strlen(s) + 1);
  return copy == NULL ? NULL : strcpy(copy, s);
}

int nvrtcVersion(int *major, int *minor) {
  *major = 13;
  *minor = 0;
  return 0;
}

int nvrtcCreateProgram(Program **p, const char *source, const char *name, int n_headers,
                       const char *const *headers, const char *const *include_names) {
  (void)n_headers, (void)headers, (void)include_names;
  *p = malloc(sizeof **p);
  if (*p == NULL) {
    return 1;
  }
  **p = (Program){copy_of(source), copy_of(name)};
  return (*p)->source == NULL || (*p)->name == NULL;
}

int nvrtcDestroyProgram(Program **p) {
  free((*p)->source);
  free((*p)->name);
  free(*p);
  *p = NULL;
  return 0;
}

int nvrtcCompileProgram(Program *p, int n_options, const char *const *options) {
  const char *path = getenv("FAKE_NVRTC_LOG");
  (void)n_options, (void)options;
  if (path == NULL) {
    return 0;
  }
  FILE *log = fopen(path, "a");
  if (log == NULL) {
    return 1;
  }
  fprintf(log, "%s %ld\n", p->name, (long)getpid());
  nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  if (strcmp(p->name, "die.cu") == 0) {
    _exit(1);
  }
  return fclose(log) != 0;
}

static int size_of(Program *p, size_t *bytes) {
  *bytes = strlen(p->source) + 1;
  return 0;
}

static int text_of(Program *p, char *out) {
  memcpy(out, p->source, strlen(p->source) + 1);
  return 0;
}

int nvrtcGetPTXSize(Program *p, size_t *bytes) { return size_of(p, bytes); }
int nvrtcGetPTX(Program *p, char *ptx) { return text_of(p, ptx); }

int nvrtcGetCUBINSize(Program *p, size_t *bytes) {
  *bytes = strlen(p->source) + 2;
  return 0;
}

int nvrtcGetCUBIN(Program *p, char *cubin) {
  cubin[0] = '\177';
  return text_of(p, cubin + 1);
}

int nvrtcGetProgramLogSize(Program *p, size_t *bytes) {
  (void)p;
  *bytes = 1;
  return 0;
}

int nvrtcGetProgramLog(Program *p, char *log) {
  (void)p;
  *log = '\0';
  return 0;
}

const char *nvrtcGetErrorString(int result) {
  return result == 0 ? "NVRTC_SUCCESS" : "NVRTC_ERROR";
}
