/* test_embed_again.c: launches that repeat one with other addresses and numbers, on the driver of fake_cuda.h. A
   state that has launched the like before tells the driver the same as one that has not. */
#include "interp/cuttle.h"

#include <sys/wait.h>
#include <unistd.h>

#include "fake_cuda.h"
#include "tap.h"

static FakeCuda *fake;
static char temp_dir[] = "/tmp/cuttle-test-XXXXXX";
static float room[4096]; /* what addresses point to; nothing reads it */

static const char script[] =
    "kernel('axpy', function(a, x, y)\n"
    "  local i = blockIdx.x * blockDim.x + threadIdx.x\n"
    "  if i < size(y) then y[i] = a * x[i] + y[i] end\n"
    "end)\n"
    "kernel('unused', function(x, n, y) y[0] = n end)\n"
    "kernel('asserts', function(a, x, y) assert(x[0] > 0.0, 'not positive') y[0] = a end)\n"
    "kernel('counts', function(a, x, y) y[threadIdx.x] = a sync_grid() y[0] = x[1] end)\n";

typedef struct Case {
  const char *name, *kernel;
  int x, y; /* offsets in room */
  double a;
  int64_t n, stride;
  unsigned grid;
  int stream; /* 0: the device's own */
  int cooperative;
  int has_other_code; /* than for memory apart */
} Case;

static const Case cases[] = {
    {"as before", "axpy", 0, 1024, 2.0, 64, 1, 1, 0, 0, 0},
    {"other addresses", "axpy", 512, 2048, 2.0, 64, 1, 1, 0, 0, 0},
    {"another number", "axpy", 512, 2048, -3.5, 64, 1, 1, 0, 0, 0},
    {"another grid", "axpy", 512, 2048, -3.5, 64, 1, 7, 0, 0, 0},
    {"another stream", "axpy", 0, 2048, 1.5, 64, 1, 7, 1, 0, 0},
    {"one of them moves", "axpy", 256, 2048, 1.5, 64, 1, 7, 1, 0, 0},
    {"memory that overlaps", "axpy", 2016, 2048, 1.5, 64, 1, 7, 1, 0, 1},
    {"memory that touches", "axpy", 1984, 2048, 1.5, 64, 1, 7, 1, 0, 0},
    {"the same memory twice", "axpy", 2048, 2048, 1.5, 64, 1, 7, 1, 0, 1},
    {"less aligned", "axpy", 1, 2048, 1.5, 64, 1, 7, 1, 0, 1},
    {"longer", "axpy", 0, 2048, 1.5, 96, 1, 7, 1, 0, 0},
    {"with strides", "axpy", 0, 2048, 1.5, 96, 2, 7, 0, 0, 0},
    {"what the kernel does not use", "unused", 0, 2048, 1.5, 64, 1, 1, 0, 0, 0},
    {"the same elsewhere", "unused", 640, 2048, 4.5, 64, 1, 1, 0, 0, 0},
    {"a kernel that asserts", "asserts", 0, 2048, 1.5, 64, 1, 1, 0, 0, 0},
    {"the same elsewhere", "asserts", 640, 2048, 4.5, 64, 1, 1, 0, 0, 0},
    {"a kernel with a barrier of the grid", "counts", 0, 2048, 1.5, 64, 1, 1, 0, 1, 0},
    {"the same elsewhere", "counts", 640, 2048, 4.5, 64, 1, 1, 0, 1, 0},
};

static cuttle_State *open_cuda(void) {
  cuttle_Options o = {.size = sizeof o, .device = "cuda"};
  cuttle_State *S = cuttle_open(&o);
  if (S == NULL || cuttle_dostring(S, script, "@again.lua") != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
  }
  return S;
}

/* `k` is looked up before: to look it up is a call of Lua, after which a launch looks at everything. */
static cuttle_Status launch(cuttle_State *S, cuttle_Kernel *k, const Case *c) {
  cuttle_Memory x = {.ptr = room + c->x,
                     .shape = &c->n,
                     .stride = &c->stride,
                     .rank = 1,
                     .dtype = CUTTLE_F32,
                     .device = 0};
  cuttle_Memory y = x;
  y.ptr = room + c->y;
  cuttle_Arg few[] = {cuttle_float(c->a), cuttle_memory(&x), cuttle_memory(&y)};
  cuttle_Arg swapped[] = {cuttle_memory(&x), cuttle_float(c->a), cuttle_memory(&y)};
  cuttle_Launch o = {.size = sizeof o, .grid = {c->grid, 1, 1}, .block = {64, 1, 1}};
  o.cooperative = c->cooperative;
  o.use_stream = c->stream != 0;
  return cuttle_launch_with(S, k, &o, 3, strcmp(c->kernel, "unused") == 0 ? swapped : few);
}

/* What the driver is told; addresses of words that each state makes for itself are not compared. */
typedef struct Told {
  unsigned grid[3], block[3];
  int n_sets;
  size_t bytes, compared;
  unsigned char params[256];
  int own_stream, cooperative;
} Told;

static Told told(const Case *c, int sets_before) {
  Told t = {.n_sets = fake->n_sets - sets_before,
            .bytes = fake->params_bytes,
            .own_stream = fake->stream != NULL,
            .cooperative = fake->is_cooperative};
  bool has_own = strcmp(c->kernel, "asserts") == 0 || strcmp(c->kernel, "counts") == 0;
  memcpy(t.grid, fake->grid, sizeof t.grid);
  memcpy(t.block, fake->block, sizeof t.block);
  t.compared = has_own ? t.bytes - 8 : t.bytes;
  memcpy(t.params, fake->params, t.compared);
  return t;
}

static bool is_same(const Told *a, const Told *b) {
  return memcmp(a->grid, b->grid, sizeof a->grid) == 0 &&
         memcmp(a->block, b->block, sizeof a->block) == 0 && a->bytes == b->bytes &&
         memcmp(a->params, b->params, a->compared) == 0 && a->own_stream == b->own_stream &&
         a->cooperative == b->cooperative && a->n_sets == b->n_sets;
}

/* What a state tells that launches for the first time. */
static bool tell_afresh(const Case *c, Told *out) {
  cuttle_State *S = open_cuda();
  int sets = fake->n_sets;
  cuttle_Status status = launch(S, cuttle_kernel(S, c->kernel), c);
  if (status != CUTTLE_OK) {
    tap_diag("%s", cuttle_error(S));
  }
  *out = told(c, sets);
  cuttle_close(S);
  return status == CUTTLE_OK;
}

/* Two launches elsewhere, with another number in another stream: the second finds all in place. So the one that
   follows takes the short way, unless it must not. */
static bool warm_up(cuttle_State *S, cuttle_Kernel *k, const Case *c) {
  Case other = *c;
  other.x = 128;
  other.y = 3072;
  other.a = c->a + 1;
  other.stream = !c->stream;
  return launch(S, k, &other) == CUTTLE_OK && launch(S, k, &other) == CUTTLE_OK;
}

static void test_case(cuttle_State *S, const Case *c) {
  Told want, got;
  cuttle_Kernel *k = cuttle_kernel(S, c->kernel);
  bool ok = tell_afresh(c, &want) && warm_up(S, k, c);
  int before = fake->n_launches, sets = fake->n_sets;
  const void *code = fake->handle;
  ok = ok && launch(S, k, c) == CUTTLE_OK;
  got = told(c, sets);
  OK(ok && fake->n_launches == before + 1 && (fake->handle != code) == c->has_other_code,
     "%s: a launch of the right code", c->name);
  OK(is_same(&want, &got), "%s: the driver is told what a new state tells it", c->name);
}

/* Lengths that divide alike are one launch's to repeat: it finds all in place, and the driver gets the length of now. */
static void test_lengths(cuttle_State *S) {
  static const int64_t lengths[] = {64, 192, 320, 96, 64, 448};
  cuttle_Kernel *k = cuttle_kernel(S, "axpy");
  for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
    Case c = cases[3];
    Told want, got;
    c.n = lengths[i];
    bool ok = tell_afresh(&c, &want);
    int before = fake->n_launches, sets = fake->n_sets;
    ok = ok && launch(S, k, &c) == CUTTLE_OK;
    got = told(&c, sets);
    OK(ok && fake->n_launches == before + 1 && is_same(&want, &got), "%d elements",
       (int)lengths[i]);
  }
}

static void test_errors(cuttle_State *S) {
  Case c = cases[1];
  cuttle_Kernel *k = cuttle_kernel(S, c.kernel);
  for (int i = 0; i < 3; i++) {
    OK(launch(S, k, &c) == CUTTLE_OK, "launch %d", i);
  }
  strcpy(fake->fail_name, "cuLaunchKernelEx");
  fake->fail_result = 701;
  OK(launch(S, k, &c) == CUTTLE_ERROR, "the driver refuses the next one");
  HAS_STR(cuttle_error(S), "axpy", "the message names the kernel");
  OK(launch(S, k, &c) == CUTTLE_OK, "and takes one again");
  OK(cuttle_dostring(S, "kernel('axpy', function(a, x, y) y[0] = 7 * a end)", "@again.lua") ==
             CUTTLE_OK &&
         launch(S, cuttle_kernel(S, "axpy"), &c) == CUTTLE_OK,
     "after the script made another kernel of that name");
  OK(strstr(fake->function, "axpy") != NULL, "that one is launched");
}

/* The child's status: 0, if its launches fail and it closes what it inherited. */
static int try_child(cuttle_State *S) {
  cuttle_Kernel *k = cuttle_kernel(S, cases[1].kernel);
  int n = fake->n_launches;
  alarm(300);
  bool fails = launch(S, k, &cases[1]) == CUTTLE_ERROR &&
               strstr(cuttle_error(S), "CUDA does not work in the child") != NULL;
  cuttle_close(S);
  return fails && fake->n_launches == n ? 0 : 1;
}

static void test_fork(cuttle_State *S) {
  int status = 1;
  OK(launch(S, cuttle_kernel(S, "axpy"), &cases[1]) == CUTTLE_OK, "a launch");
  fflush(stdout);
  pid_t child = fork();
  if (child == 0) {
    _exit(try_child(S));
  }
  OK(waitpid(child, &status, 0) == child && status == 0,
     "a child of fork is told that CUDA does not work there, and closes");
  OK(launch(S, cuttle_kernel(S, "axpy"), &cases[1]) == CUTTLE_OK, "the parent goes on");
}

int main(void) {
  fake = load_fake(__FILE__, temp_dir);
  if (fake == NULL) {
    return skip_all("no C compiler to build a driver for the test");
  }
  cuttle_State *S = open_cuda();
  if (launch(S, cuttle_kernel(S, "axpy"), &cases[0]) != CUTTLE_OK &&
      strstr(cuttle_error(S), "NVRTC") != NULL) {
    cuttle_close(S);
    return skip_all("no NVRTC");
  }
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    test_case(S, &cases[i]);
  }
  test_lengths(S);
  test_errors(S);
  test_fork(S);
  cuttle_close(S);
  remove_fake(temp_dir);
  return done_testing();
}
