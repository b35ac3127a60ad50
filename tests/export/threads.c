/* threads.c: threads that launch an exported kernel (boxes.lua of tests/lua/program/export.lua) at the same time, in
   several contexts and with tensors of their own; each finds its own in what the driver got. */
#include EXPORTED /* "boxes.h" */

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { THREADS = 8, CONTEXTS = 3, LAUNCHES = 3000, TENSORS = 12 };

static uint64_t (*word)(int i);
static void (*use)(uintptr_t context);

static boxes_tensor tensor(uintptr_t at) {
  boxes_tensor t;
  memset(&t, 0, sizeof t);
  t.data = (void *)at;
  t.dtype = BOXES_F32;
  t.rank = 2;
  t.shape[0] = 64;
  t.shape[1] = 48;
  t.stride[0] = 1;
  t.stride[1] = 64;
  return t;
}

static void *launch(void *arg) {
  uintptr_t number = (uintptr_t)arg, wrong = 0;
  boxes_dim3 grid = {2, 3, 1};
  boxes_error error;
  use(1 + number % CONTEXTS);
  for (uintptr_t i = 0; i < LAUNCHES; i++) {
    uintptr_t x = (number * TENSORS + i % TENSORS + 1) << 20;
    boxes_args args;
    args.x = tensor(x);
    args.y = tensor(x + (1 << 19));
    wrong += boxes_launch(&args, &grid, NULL, &error) != BOXES_OK || word(0) != x + (1 << 19) ||
             word(1) != x;
  }
  return (void *)wrong;
}

static void find(void *library, const char *name, void *slot) {
  void *p = dlsym(library, name);
  memcpy(slot, &p, sizeof p);
}

int main(void) {
  pthread_t threads[THREADS];
  uintptr_t wrong = 0;
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == NULL) {
    return 2;
  }
  find(library, "quiet_word", &word);
  find(library, "quiet_use", &use);
  for (uintptr_t i = 0; i < THREADS; i++) {
    if (pthread_create(&threads[i], NULL, launch, (void *)i) != 0) {
      return 2;
    }
  }
  for (int i = 0; i < THREADS; i++) {
    void *n = NULL;
    pthread_join(threads[i], &n);
    wrong += (uintptr_t)n;
  }
  printf("%d wrong\n", (int)wrong);
  return wrong != 0;
}
