// one_lane_arrives.cu: four warps write shared memory, four read it, and mbarriers say when. Where one lane arrives for
// its warp after __syncwarp(), compute-sanitizer's racecheck reports hazards between them; where all lanes arrive, none.
// Usage: nvcc -arch=sm_90a one_lane_arrives.cu -o one_lane_arrives
//        compute-sanitizer --tool racecheck ./one_lane_arrives one     or all
#include <cstdio>
#include <cstring>

constexpr int THREADS = 128;
using Barrier = unsigned long long;

static __device__ unsigned address(Barrier *bar) {
  return static_cast<unsigned>(__cvta_generic_to_shared(bar));
}

static __device__ void wait(Barrier *bar, int parity) {
  asm volatile(
      "{ .reg .pred p; again: mbarrier.try_wait.parity.shared.b64 p, [%0], %1; @!p bra again; }" ::
          "r"(address(bar)),
      "r"(parity)
      : "memory");
}

static __device__ void arrive(Barrier *bar) {
  asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(address(bar)) : "memory");
}

__global__ void hand_on(int *out, int n, bool is_one) {
  __shared__ int x[THREADS];
  __shared__ alignas(8) Barrier full, empty;
  const int thread = threadIdx.x % THREADS;
  const bool writes = threadIdx.x < THREADS;
  if (threadIdx.x == 0) {
    const int count = is_one ? THREADS / 32 : THREADS;
    for (Barrier *bar : {&full, &empty})
      asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address(bar)), "r"(count) : "memory");
  }
  __syncthreads();
  for (int i = 0; i < n; i++) {
    wait(writes ? &empty : &full, (writes ? i + 1 : i) & 1);
    if (writes)
      x[thread] = i + thread;
    else
      out[thread] = x[(thread + 37) % THREADS];
    __syncwarp();
    if (!is_one || thread % 32 == 0)
      arrive(writes ? &full : &empty);
  }
}

int main(int argc, char **argv) {
  const bool is_one = argc > 1 && !std::strcmp(argv[1], "one");
  int *out;
  cudaMalloc(&out, THREADS * sizeof(int));
  hand_on<<<1, 2 * THREADS>>>(out, 4, is_one);
  std::printf("%s: %s\n", is_one ? "one" : "all", cudaGetErrorString(cudaDeviceSynchronize()));
}
