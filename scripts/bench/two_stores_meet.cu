// two_stores_meet.cu: as the sums of latent decoding: a group of 128 threads stores two rows to each of two places in turn,
// all groups meet at a named barrier, and two groups read them. racecheck of compute-sanitizer reports hazards where the
// first group meets at a barrier of its own, too (`turns`), although that program is right; see docs/measurements.md.
// Usage: nvcc -arch=sm_90a two_stores_meet.cu -o two_stores_meet
//        compute-sanitizer --tool racecheck ./two_stores_meet WAY
// WAY, of which all but the last two are right programs:
//   two     one lane in four stores two rows, all meet at barrier 2
//   one     it stores one row
//   all     all lanes store two rows
//   whole   as two, and all meet at barrier 0, __syncthreads()
//   apart   as two, with __syncwarp() before the barrier
//   turns   as two, and before that the group meets at a barrier of its own
//   place   as two, with one place, which is stored while others may still read it
//   none    as two, without a barrier
#include <cstdio>
#include <cstring>

constexpr int GROUP = 128, GROUPS = 3, ROWS = 64;
enum Way { TWO, ONE, ALL, WHOLE, APART, TURNS, PLACE, NONE };
constexpr const char *names[] = {"two", "one", "all", "whole", "apart", "turns", "place", "none"};

template <int number, int threads> static __device__ void meet() {
  asm volatile("bar.sync %0, %1;" ::"n"(number), "n"(threads) : "memory");
}

template <Way way> __global__ void hand_on(float *out, int n) {
  __shared__ float totals[2][ROWS];
  const int thread = threadIdx.x % GROUP, group = threadIdx.x / GROUP;
  const int row = thread / 32 * 16 + thread % 32 / 4;
  const bool stores = way == ALL || thread % 4 == 0;
  int place = 0;
  for (int i = 0; i < n; i++) {
    if (group == 0) {
      if (way == TURNS)
        meet<1, GROUP>();
      if (stores) {
        totals[place][row] = static_cast<float>(i + row);
        if (way != ONE)
          totals[place][row + 8] = static_cast<float>(i + row + 8);
      }
      if (way == APART)
        __syncwarp();
    }
    if (way == WHOLE)
      __syncthreads();
    else if (way != NONE)
      meet<2, GROUPS * GROUP>();
    if (group > 0) {
      float *to = out + (group - 1) * 2 * GROUP + 2 * thread;
      to[0] = totals[place][row];
      to[1] = way == ONE ? 0 : totals[place][row + 8];
    }
    if (way != PLACE)
      place = 1 - place;
  }
}

template <Way way> static void run(const char *name, float *out) {
  if (std::strcmp(name, names[way]) == 0) {
    hand_on<way><<<1, GROUPS * GROUP>>>(out, 6);
    std::printf("%s: %s\n", name, cudaGetErrorString(cudaDeviceSynchronize()));
  }
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "two";
  float *out;
  cudaMalloc(&out, 4 * GROUP * sizeof(float));
  run<TWO>(name, out);
  run<ONE>(name, out);
  run<ALL>(name, out);
  run<WHOLE>(name, out);
  run<APART>(name, out);
  run<TURNS>(name, out);
  run<PLACE>(name, out);
  run<NONE>(name, out);
}
