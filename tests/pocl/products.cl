/* products.cl: the twins in OpenCL C of the two kernels that bench_pocl.c compares: examples/moye_matmul.lua
   and the static kernel of examples/notebook_shared_matmul.lua, tile by tile and thread by thread. */

/* C = A * B', column-major; whole tiles of 128 x 128 x 8, 8 x 8 per thread. */
enum { bM = 128, bN = 128, bK = 8 };

__kernel __attribute__((reqd_work_group_size(256, 1, 1))) void
matmul(__global const float *restrict A, __global const float *restrict B,
       __global float *restrict C, int M, int N, int K) {
  __local float sA[bK][bM + 1], sB[bK][bN + 1]; /* padded, as there */
  const int t = get_local_id(0), t32 = t % 32, k8 = t / 32, tm = t % 16, tn = t / 16;
  A += get_group_id(0) * bM;
  B += get_group_id(1) * bN;
  C += get_group_id(0) * bM + get_group_id(1) * bN * M;
  float c[8][8];
#pragma unroll
  for (int j = 0; j < 8; j++) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      c[j][i] = 0;
    }
  }
  for (int k0 = 0; k0 < K; k0 += bK) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
      sA[k8][t32 + 32 * i] = A[t32 + 32 * i + (k0 + k8) * M];
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
      sB[k8][t32 + 32 * i] = B[t32 + 32 * i + (k0 + k8) * N];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
    for (int k = 0; k < bK; k++) {
#pragma unroll
      for (int j = 0; j < 8; j++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
          c[j][i] = fma(sA[k][tm + 16 * i], sB[k][tn + 16 * j], c[j][i]);
        }
      }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
#pragma unroll
  for (int j = 0; j < 8; j++) {
#pragma unroll
    for (int i = 0; i < 8; i++) {
      C[tm + 16 * i + (tn + 16 * j) * M] = c[j][i];
    }
  }
}

/* out = m * n, row-major, of any size; tiles of TW x TW, one element per thread. Of the ways to write it this
   one is PoCL's fastest: indices of 64 bits, the loop over i left alone (unrolled it takes a quarter longer). */
enum { TW = 16 };

__kernel __attribute__((reqd_work_group_size(TW, TW, 1))) void
matmul_static16(__global const float *restrict m, __global const float *restrict n,
                __global float *restrict out, int h, int w, int k) {
  __local float ms[TW][TW], ns[TW][TW];
  const size_t tc = get_local_id(0), tr = get_local_id(1);
  const size_t r = get_group_id(1) * TW + tr, c = get_group_id(0) * TW + tc;
  float p = 0;
  for (size_t ph = 0; ph < (k + TW - 1) / TW; ph++) {
    const size_t x = ph * TW;
    ms[tr][tc] = r < h && x + tc < k ? m[r * k + x + tc] : 0;
    ns[tr][tc] = c < w && x + tr < k ? n[(x + tr) * w + c] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (size_t i = 0; i < TW; i++) {
      p = fma(ms[tr][i], ns[i][tc], p);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (r < h && c < w) {
    out[r * w + c] = p;
  }
}
