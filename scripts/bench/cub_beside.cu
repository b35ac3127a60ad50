// cub_beside.cu: CUB's scan of f32 and sort of u32, for scripts/bench/selections.lua, which compiles it with nvcc.
// Usage: cub_beside SCAN_N SORT_N. Prints "scan MS" and "sort MS": the median of 20 launches, each timed by events.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "cub_beside: %s\n", cudaGetErrorString(error));
  std::exit(1);
}

// As fill_random of selections.lua.
template <typename T>
__global__ void fill(T *x, size_t n) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < n; i += size_t(gridDim.x) * blockDim.x) {
    unsigned h = unsigned(i) * 0x9E3779B1u;
    h = (h ^ (h >> 15)) * 0x85EBCA77u;
    x[i] = T(h ^ (h >> 13));
  }
}

template <typename F>
static float median_ms(F launch) {
  cudaEvent_t first, last;
  check(cudaEventCreate(&first));
  check(cudaEventCreate(&last));
  std::vector<float> times;
  for (int i = 0; i < 25; i++) {
    float ms = 0;
    check(cudaEventRecord(first));
    check(launch());
    check(cudaEventRecord(last));
    check(cudaEventSynchronize(last));
    check(cudaEventElapsedTime(&ms, first, last));
    if (i >= 5) times.push_back(ms);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

// call(work, bytes) is a function of CUB: without memory it says how much it needs.
template <typename F>
static float time_with_work(F call) {
  void *work = nullptr;
  size_t bytes = 0;
  check(call(work, bytes));
  check(cudaMalloc(&work, bytes));
  const float ms = median_ms([&] { return call(work, bytes); });
  check(cudaFree(work));
  return ms;
}

template <typename T>
static T *filled(size_t n) {
  T *x = nullptr;
  check(cudaMalloc(&x, n * sizeof(T)));
  fill<<<1056, 256>>>(x, n);
  check(cudaGetLastError());
  return x;
}

int main(int argc, char **argv) {
  const size_t n_scan = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : size_t(1) << 28;
  const size_t n_sort = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : size_t(1) << 28;
  float *x = filled<float>(n_scan), *y = filled<float>(n_scan);
  std::printf("scan %.6f\n", time_with_work([&](void *work, size_t &bytes) {
    return cub::DeviceScan::InclusiveSum(work, bytes, x, y, n_scan);
  }));
  check(cudaFree(x));
  check(cudaFree(y));
  unsigned *keys = filled<unsigned>(n_sort), *sorted = filled<unsigned>(n_sort);
  std::printf("sort %.6f\n", time_with_work([&](void *work, size_t &bytes) {
    return cub::DeviceRadixSort::SortKeys(work, bytes, keys, sorted, n_sort);
  }));
  return 0;
}
