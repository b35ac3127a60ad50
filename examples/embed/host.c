/* host.c: a C program that runs a script's kernel on its own arrays. Two threads, each with an
   interpreter of its own, work at the same time: states share nothing.
     host [script.lua [device]]     examples/embed/scale.lua on the CPU engine, where none is given
     cc host.c $(pkg-config --cflags --libs cuttle) -pthread
   or with libcuttle.a, Lua 5.4, -lm, -ldl and -pthread. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <cuttle.h>

enum { N = 100000, BLOCK = 256, N_THREADS = 2 };

typedef struct Job {
  const char *script, *device;
  float a, b;
  float x[N];
  bool ok;
} Job;

static bool failed(cuttle_State *S) {
  fprintf(stderr, "%s\n", cuttle_error(S));
  return false;
}

/* On the host the tensor is our array itself; a GPU has a copy, which we fill. */
static cuttle_Tensor *make_tensor(cuttle_State *S, Job *job) {
  char layout[32];
  snprintf(layout, sizeof layout, "%d:1", N);
  if (strcmp(job->device, "cpu") == 0) {
    return cuttle_tensor_wrap(S, job->x, "f32", layout, NULL, NULL, NULL);
  }
  cuttle_Tensor *t = cuttle_tensor_new(S, "f32", layout);
  bool ok = t != NULL && cuttle_tensor_write(S, t, job->x, sizeof job->x) == CUTTLE_OK;
  return ok ? t : NULL;
}

static bool fetch(cuttle_State *S, Job *job, cuttle_Tensor *t) {
  return strcmp(job->device, "cpu") == 0 ||
         cuttle_tensor_read(S, t, job->x, sizeof job->x) == CUTTLE_OK;
}

/* Looks at each result at once: the next call replaces the message. */
static bool scale(cuttle_State *S, Job *job) {
  if (cuttle_dofile(S, job->script) != CUTTLE_OK) {
    return failed(S);
  }
  cuttle_Kernel *kernel = cuttle_kernel(S, "scale");
  if (kernel == NULL) {
    return failed(S);
  }
  cuttle_Tensor *t = make_tensor(S, job);
  if (t == NULL) {
    return failed(S);
  }
  cuttle_Arg args[] = {cuttle_float(job->a), cuttle_float(job->b), cuttle_tensor(t)};
  cuttle_Dim3 grid = {(N + BLOCK - 1) / BLOCK, 1, 1}, block = {BLOCK, 1, 1};
  if (cuttle_launch(S, kernel, grid, block, 3, args) != CUTTLE_OK || !fetch(S, job, t)) {
    return failed(S);
  }
  return true;
}

static void *run_job(void *arg) {
  Job *job = arg;
  cuttle_Options options = {.size = sizeof options, .device = job->device};
  cuttle_State *S = cuttle_open(&options);
  if (S == NULL) { /* no state has the message */
    fprintf(stderr, "%s\n", cuttle_error(NULL));
    return NULL;
  }
  job->ok = scale(S, job);
  cuttle_close(S);
  return NULL;
}

/* a * x + b of small integers is exact. */
static bool check(const Job *job) {
  for (int i = 0; job->ok && i < N; i++) {
    if (job->x[i] != job->a * (float)i + job->b) {
      printf("x[%d] is %g\n", i, (double)job->x[i]);
      return false;
    }
  }
  return job->ok;
}

int main(int argc, char **argv) {
  static Job jobs[N_THREADS];
  pthread_t threads[N_THREADS];
  int n_started = 0;
  for (int i = 0; i < N_THREADS; i++) {
    jobs[i].script = argc > 1 ? argv[1] : "examples/embed/scale.lua";
    jobs[i].device = argc > 2 ? argv[2] : "cpu";
    jobs[i].a = (float)(i + 2);
    jobs[i].b = 1.0F;
    for (int k = 0; k < N; k++) {
      jobs[i].x[k] = (float)k;
    }
  }
  while (n_started < N_THREADS &&
         pthread_create(&threads[n_started], NULL, run_job, &jobs[n_started]) == 0) {
    n_started++;
  }
  bool ok = n_started == N_THREADS;
  for (int i = 0; i < n_started; i++) { /* whatever failed: no thread outlives its job */
    pthread_join(threads[i], NULL);
    bool right = check(&jobs[i]);
    printf("state %d: %g * x + %g on %d floats: %s\n", i, (double)jobs[i].a, (double)jobs[i].b, N,
           right        ? "correct"
           : jobs[i].ok ? "wrong"
                        : "failed");
    ok = ok && right;
  }
  return ok ? 0 : 1;
}
