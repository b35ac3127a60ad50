/* warp_host.h: CUDA C of copies by atoms on the host, for tests/lua/program/copy_host.lua: each thread of a
   block is a thread here, and what a warp does together is written from the PTX ISA (9.7.14.5.15 to 17),
   apart from the layouts of runtime/ir/atoms.def. */
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#define __shared__ static
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__
#define __launch_bounds__(...)
#define __global__ static
#define __device__
#define __forceinline__ inline

struct uint2 {
  unsigned x, y;
};
struct uint4 {
  unsigned x, y, z, w;
};
static uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

struct Index {
  int x, y, z;
};
static thread_local Index threadIdx;
static const Index blockIdx = {0, 0, 0};

/* --- threads ------------------------------------------------------------------------------------- */

enum { LANES = 32, ROW = 16 };
struct Warp {
  std::barrier<> all{LANES};
  unsigned words[LANES][4];
  char rows[LANES][ROW];
};
static std::unique_ptr<std::barrier<>> block;
static std::vector<std::unique_ptr<Warp>> warps;

static int lane() { return threadIdx.x % LANES; }
static Warp &warp() { return *warps[(size_t)(threadIdx.x / LANES)]; }
static void meet() { warp().all.arrive_and_wait(); }
static void __syncthreads() { block->arrive_and_wait(); }

template <class Kernel> static void launch(int n, Kernel kernel) {
  std::vector<std::thread> threads;
  block = std::make_unique<std::barrier<>>(n);
  warps.clear();
  for (int i = 0; i < n; i += LANES)
    warps.push_back(std::make_unique<Warp>());
  for (int i = 0; i < n; i++) {
    threads.emplace_back([=] {
      threadIdx = {i, 0, 0};
      kernel();
    });
  }
  for (auto &t : threads)
    t.join();
}

/* --- asynchronous copies: complete at once --------------------------------------------------------- */

static void cp_async_ca_16(void *dst, const void *src) { memcpy(dst, src, 16); }
static void cp_async_cg_16(void *dst, const void *src) { memcpy(dst, src, 16); }
static void cp_async_commit() {}
static void cp_async_wait_all() {}
template <int pending> static void cp_async_wait_group() {}

/* --- matrices -------------------------------------------------------------------------------------- */

static void check_row(const void *row) {
  if ((size_t)row % ROW != 0) {
    printf("a row is not aligned\n");
    exit(1);
  }
}

/* Element (row, column) of a matrix is half column % 2 of lane row * 4 + column / 2. */
static unsigned short half_of(unsigned word, int i) { return (unsigned short)(word >> 16 * i); }

template <int n, bool trans> static void load(const void *row, unsigned *out) {
  check_row(row);
  memcpy(warp().rows[lane()], row, ROW);
  meet();
  for (int m = 0; m < n; m++) {
    unsigned short pair[2];
    for (int i = 0; i < 2; i++) {
      int r = lane() / 4, c = lane() % 4 * 2 + i;
      memcpy(&pair[i], warp().rows[m * 8 + (trans ? c : r)] + 2 * (trans ? r : c), 2);
    }
    out[m] = pair[0] | (unsigned)pair[1] << 16;
  }
  meet();
}

template <int n, bool trans> static void store(void *row, const unsigned *in) {
  memcpy(warp().words[lane()], in, n * sizeof *in);
  meet();
  for (int c = 0; lane() < 8 * n && c < 8; c++) {
    int r = lane() % 8, from_row = trans ? c : r, from_column = trans ? r : c;
    unsigned word = warp().words[from_row * 4 + from_column / 2][lane() / 8];
    unsigned short v = half_of(word, from_column % 2);
    check_row(row);
    memcpy((char *)row + 2 * c, &v, 2);
  }
  meet();
}

#define LOAD(name, n, trans, params, list)                                                         \
  static void name(params, const void *row) {                                                      \
    unsigned out[n];                                                                               \
    unsigned *to[] = {list};                                                                       \
    load<n, trans>(row, out);                                                                      \
    for (int i = 0; i < n; i++)                                                                    \
      *to[i] = out[i];                                                                             \
  }
#define STORE(name, n, trans, params, list)                                                        \
  static void name(void *row, params) {                                                            \
    const unsigned in[] = {list};                                                                  \
    store<n, trans>(row, in);                                                                      \
  }
#define P(...) __VA_ARGS__
LOAD(ldmatrix_x1, 1, false, P(unsigned &a), P(&a))
LOAD(ldmatrix_x2, 2, false, P(unsigned &a, unsigned &b), P(&a, &b))
LOAD(ldmatrix_x4, 4, false, P(unsigned &a, unsigned &b, unsigned &c, unsigned &d),
     P(&a, &b, &c, &d))
LOAD(ldmatrix_x1_trans, 1, true, P(unsigned &a), P(&a))
LOAD(ldmatrix_x2_trans, 2, true, P(unsigned &a, unsigned &b), P(&a, &b))
LOAD(ldmatrix_x4_trans, 4, true, P(unsigned &a, unsigned &b, unsigned &c, unsigned &d),
     P(&a, &b, &c, &d))
STORE(stmatrix_x1, 1, false, P(unsigned a), P(a))
STORE(stmatrix_x2, 2, false, P(unsigned a, unsigned b), P(a, b))
STORE(stmatrix_x4, 4, false, P(unsigned a, unsigned b, unsigned c, unsigned d), P(a, b, c, d))
STORE(stmatrix_x1_trans, 1, true, P(unsigned a), P(a))
STORE(stmatrix_x2_trans, 2, true, P(unsigned a, unsigned b), P(a, b))
STORE(stmatrix_x4_trans, 4, true, P(unsigned a, unsigned b, unsigned c, unsigned d), P(a, b, c, d))

static void movmatrix_trans(unsigned &to, unsigned from) {
  warp().words[lane()][0] = from;
  meet();
  unsigned out = 0;
  for (int i = 0; i < 2; i++) {
    int r = lane() % 4 * 2 + i, c = lane() / 4;
    out |= (unsigned)half_of(warp().words[r * 4 + c / 2][0], c % 2) << 16 * i;
  }
  meet();
  to = out;
}

/* Lanes at a distance: the upper one's first word for the lower one's second. */
template <int by> static void exchange(unsigned &to0, unsigned &to1, unsigned a, unsigned b) {
  warp().words[lane()][0] = a;
  warp().words[lane()][1] = b;
  meet();
  bool is_upper = (lane() & by) != 0;
  unsigned got = warp().words[lane() ^ by][is_upper ? 1 : 0];
  meet();
  to0 = is_upper ? got : a;
  to1 = is_upper ? b : got;
}
static void exchange_1(unsigned &to0, unsigned &to1, unsigned a, unsigned b) {
  exchange<1>(to0, to1, a, b);
}
static void exchange_4(unsigned &to0, unsigned &to1, unsigned a, unsigned b) {
  exchange<4>(to0, to1, a, b);
}

/* --- tests ------------------------------------------------------------------------------------------ */

static unsigned short number(int i) { return (unsigned short)(i * 40503u + 12345u); }

template <class Kernel> static void run(const char *name, int n, int n_out, int threads, Kernel k) {
  std::vector<unsigned short> in((size_t)n), out((size_t)n_out);
  for (int i = 0; i < n; i++)
    in[(size_t)i] = number(i);
  launch(threads, [&] { k(in.data(), out.data()); });
  unsigned hash = 0;
  for (unsigned short v : out)
    hash = hash * 31 + v;
  printf("%s %u\n", name, hash);
}
