/* saxpy_main.c: a C program with the kernel of examples/export_saxpy.lua: y = 2 * x + y on the GPU's memory.
     cuttle export --sm=80,90a --name=saxpy -o . examples/export_saxpy.lua
     nvcc -I. examples/export/saxpy_main.c saxpy.c -o saxpy -ldl -lpthread
   nvcc is for the CUDA runtime that this program allocates memory with; saxpy.c needs none of it. */
#include "saxpy.h"

#include <cuda_runtime.h>
#include <stdio.h>

enum { N = 1000001, BLOCK = 256 };

static float x[N], y[N];

static saxpy_tensor vector(float *on_gpu, int64_t n) {
  saxpy_tensor t = {on_gpu, SAXPY_F32, 1, {n}, {1}};
  return t;
}

/* Launches in the default stream; 0, or 1 with a message. */
static int saxpy(float a, float *gpu_x, float *gpu_y) {
  saxpy_error error;
  saxpy_args args = {a, vector(gpu_x, N), vector(gpu_y, N)};
  saxpy_dim3 grid = {(N + BLOCK - 1) / BLOCK, 1, 1};
  if (saxpy_launch(&args, &grid, NULL, &error) != SAXPY_OK) {
    fprintf(stderr, "%s\n", error.text);
    return 1;
  }
  return 0;
}

int main(void) {
  float *gpu_x = NULL, *gpu_y = NULL;
  for (int i = 0; i < N; i++) {
    x[i] = (float)i;
    y[i] = 1.0f;
  }
  if (cudaMalloc((void **)&gpu_x, sizeof x) != cudaSuccess ||
      cudaMalloc((void **)&gpu_y, sizeof y) != cudaSuccess) {
    fprintf(stderr, "no memory on a GPU\n");
    return 1;
  }
  cudaMemcpy(gpu_x, x, sizeof x, cudaMemcpyHostToDevice);
  cudaMemcpy(gpu_y, y, sizeof y, cudaMemcpyHostToDevice);
  int failed = saxpy(2.0f, gpu_x, gpu_y);
  cudaMemcpy(y, gpu_y, sizeof y, cudaMemcpyDeviceToHost);
  printf("y[1000000] = %g\n", (double)y[1000000]);
  cudaFree(gpu_x);
  cudaFree(gpu_y);
  return failed || y[1000000] != 2000001.0f;
}
