// as_cute.cpp: prints what as_cute.lua must print, by CuTe itself on the host. Not built by the Makefile:
//   g++ -std=c++17 -w -I cutlass/include -I $CUDA/include -I $CUDA/include/cccl as_cute.cpp -o as_cute
//   ./as_cute | grep -v ^ERROR | sed 's/\([(,: ]\)_\([0-9]\)/\1\2/g' >as_cute.out
#include <cute/tensor.hpp>
#include <cute/arch/mma_sm100_desc.hpp>
#include <cute/atom/copy_traits_sm100.hpp>
#include <cute/atom/mma_traits_sm100.hpp>
#include <cstdio>
#include <cstring>
using namespace cute;
using namespace cutlass;
using UMMA::Major;

// The instruction descriptor of each size.
template <class A, class B, class C, int M, int N> void word(const char* name) {
  bool exists = (M == 64 || N % 16 == 0) && (sizeof_bits_v<A> != 8 || !is_integral<A>::value || N % 16 == 0 || N == 8 || N == 24);
  if (exists) {
    printf("%s,%d,%d> %u\n", name, M, N, (unsigned)(uint32_t)UMMA::make_instr_desc<A, B, C, M, N, Major::K, Major::K>());
  }
}
template <class A, class B, class C, int M, int... I> void sizes(const char* name, std::integer_sequence<int, I...>) {
  (word<A, B, C, M, 8 + 8 * I>(name), ...);
}
// Copies of 256 bits: the layouts.
template <class A> void wide(const char* name) {
  printf("%s ", name);
  print(typename Copy_Traits<A>::SrcLayout{});
  printf(" ");
  print(typename Copy_Traits<A>::DstLayout{});
  printf(" ");
  print(typename Copy_Traits<A>::RefLayout{});
  printf("\n");
}
// Pairs of blocks: who has what, too.
template <class A, class B, class C, int M, int N, class T>
void pair(const char* name, const char* types, T, const char* form = "SS") {
  printf("%s_2x1SM_%s%s,%d,%d> %u ", name, form, types, M, N,
         (unsigned)(uint32_t)UMMA::make_instr_desc<A, B, C, M, N, Major::K, Major::K>());
  print(typename T::ThrID{});
  printf(" ");
  print(typename T::ALayout{});
  printf(" ");
  print(typename T::BLayout{});
  printf(" ");
  print(typename T::CLayout{});
  printf("\n");
}
template <class A, class B, class C, int M, int... I>
void pairs(const char* name, const char* types, std::integer_sequence<int, I...>) {
  if constexpr (is_integral<A>::value) {
    (pair<A, B, C, M, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_S8_2x1SM_SS<A, B, C, M, 32 + 32 * I, Major::K, Major::K>>{}), ...);
  } else if constexpr (sizeof_bits_v<A> == 16) {
    (pair<A, B, C, M, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_F16BF16_2x1SM_SS<A, B, C, M, 32 + 32 * I, Major::K, Major::K>>{}), ...);
  } else if constexpr (sizeof_bits_v<A> == 8) {
    (pair<A, B, C, M, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_F8F6F4_2x1SM_SS<A, B, C, M, 32 + 32 * I, Major::K, Major::K>>{}), ...);
  } else {
    (pair<A, B, C, M, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_TF32_2x1SM_SS<A, B, C, M, 32 + 32 * I, Major::K, Major::K>>{}), ...);
  }
}
// The same with A in tensor memory.
template <class A, class B, class C, int... I>
void pairs_ts(const char* name, const char* types, std::integer_sequence<int, I...>) {
  if constexpr (is_integral<A>::value) {
    (pair<A, B, C, 256, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_S8_2x1SM_TS<A, B, C, 256, 32 + 32 * I, Major::K, Major::K>>{}, "TS"), ...);
  } else if constexpr (sizeof_bits_v<A> == 16) {
    (pair<A, B, C, 256, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_F16BF16_2x1SM_TS<A, B, C, 256, 32 + 32 * I, Major::K, Major::K>>{}, "TS"), ...);
  } else if constexpr (sizeof_bits_v<A> == 8) {
    (pair<A, B, C, 256, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_F8F6F4_2x1SM_TS<A, B, C, 256, 32 + 32 * I, Major::K, Major::K>>{}, "TS"), ...);
  } else {
    (pair<A, B, C, 256, 32 + 32 * I>(name, types, MMA_Traits<SM100_MMA_TF32_2x1SM_TS<A, B, C, 256, 32 + 32 * I, Major::K, Major::K>>{}, "TS"), ...);
  }
}
template <class A, class B, class C> void words(const char* name) {
  sizes<A, B, C, 64>(name, std::make_integer_sequence<int, 32>{});
  sizes<A, B, C, 128>(name, std::make_integer_sequence<int, 32>{});
  char kind[32];
  const char* types = strchr(name, '<');
  snprintf(kind, sizeof kind, "%.*s", (int)(types - name - 3), name);
  pairs<A, B, C, 128>(kind, types, std::make_integer_sequence<int, 8>{});
  pairs<A, B, C, 256>(kind, types, std::make_integer_sequence<int, 8>{});
  pairs_ts<A, B, C>(kind, types, std::make_integer_sequence<int, 8>{});
}
// A product with scales by a pair: the descriptor, and who has what of A, B and the sums.
template <class T> void scaled_pair(const char* name, int n, const char* tail, uint32_t word) {
  printf("%s,256,%d%s> %u ", name, n, tail, word);
  print(typename T::ThrID{});
  printf(" ");
  print(typename T::ALayout{});
  printf(" ");
  print(typename T::BLayout{});
  printf(" ");
  print(typename T::CLayout{});
  printf("\n");
}

// Products with scales.
template <class A, class S, int VS, int... I>
void scaled(const char* name, const char* tail, std::integer_sequence<int, I...>) {
  (printf("%s,128,%d%s> %u\n", name, 32 + 32 * I, tail,
          (unsigned)(uint32_t)UMMA::make_instr_desc_block_scaled<A, A, float, S, 128, 32 + 32 * I, Major::K, Major::K>()), ...);
}
template <class A, class S, int VS, int... I>
void scaled_pairs(const char* name, const char* tail, std::integer_sequence<int, I...>) {
  (scaled_pair<MMA_Traits<SM100_MMA_MXF4_2x1SM_SS<A, A, float, S, 256, 32 + 32 * I, VS, Major::K, Major::K>>>(
       name, 32 + 32 * I, tail,
       (uint32_t)UMMA::make_instr_desc_block_scaled<A, A, float, S, 256, 32 + 32 * I, Major::K, Major::K>()), ...);
}
template <class A, class B, int... I> void mixed_pairs(const char* name, std::integer_sequence<int, I...>) {
  (scaled_pair<MMA_Traits<SM100_MMA_MXF8F6F4_2x1SM_SS<A, B, float, float_ue8m0_t, 256, 32 + 32 * I, Major::K, Major::K>>>(
       name, 32 + 32 * I, "",
       (uint32_t)UMMA::make_instr_desc_block_scaled<A, B, float, float_ue8m0_t, 256, 32 + 32 * I, Major::K, Major::K>()), ...);
}
template <class A, class B> void mixed(const char* name) {
  for (int n = 32; n <= 256; n += 32) {
    UMMA::InstrDescriptorBlockScaled d = UMMA::make_instr_desc_block_scaled<A, B, float, float_ue8m0_t, 128, 32, Major::K, Major::K>();
    d.n_dim_ = n >> 3;
    printf("SM100_MMA_MXF8F6F4_SS<%s,f32,f8ue8m0,128,%d> %u\n", name, n, (unsigned)d.desc_);
  }
  char whole[80];
  snprintf(whole, sizeof whole, "SM100_MMA_MXF8F6F4_2x1SM_SS<%s,f32,f8ue8m0", name);
  mixed_pairs<A, B>(whole, std::make_integer_sequence<int, 8>{});
}

// Scales of 128 rows in tensor memory: lane, column of 32 bits and byte of scale k of some rows.
template <class S, int VS, int NSF, int N> void places(const char* name) {
  auto t = UMMA::tmem_sf_frg<S, VS, 1, true>::make(
      make_shape(make_shape(Int<128>{}, make_shape(Int<VS>{}, Int<NSF>{})), Int<1>{}, Int<N / NSF>{}));
  for (int row : {0, 1, 31, 32, 77, 127}) {
    printf("%s row %d:", name, row);
    for (int k = 0; k < N; k++) {
      uint32_t at = t.layout()(make_coord(make_coord(row, make_coord(0, k % NSF)), 0, k / NSF));
      uint32_t lane = uint32_t(TMEM::DP<S>{});
      printf(" %u/%u.%u", at / lane, at % lane / 4, at % 4);
    }
    printf("\n");
  }
}

// The registers of a copy: (thread, bit) -> bit of tensor memory, lane after lane.
template <class T> void copy(const char* name) {
  printf("%s ", name);
  print(coalesce(typename Copy_Traits<T>::DstLayout{}, Step<_1, _1>{}));
  printf("\n");
}
#define COPY(x) copy<SM100::TMEM::LOAD::x>(#x);

// The descriptor of a tile in shared memory: upper word, and lower word without the address.
alignas(1024) static char mem[1 << 20];
template <Major major, class T, int Rows, class L> void tile(const char* name, L atom) {
  constexpr int k = 256 / sizeof_bits_v<T>;
  auto t = make_tensor(make_smem_ptr((T*)mem), tile_to_shape(atom, make_shape(Int<Rows>{}, Int<4 * k>{})));
  uint64_t d = UMMA::make_umma_desc<major>(local_tile(t, make_shape(Int<Rows>{}, Int<k>{}), make_coord(0, 0)));
  printf("%s %d 0x%x 0x%x\n", name, Rows, (unsigned)(d >> 32), (unsigned)(d & 0xffff0000));
}
#define TILES(major, T, name)                                                              \
  tile<Major::major, T, 128>(#major " " name " 0", UMMA::Layout_##major##_INTER_Atom<T>{}); \
  tile<Major::major, T, 128>(#major " " name " 32", UMMA::Layout_##major##_SW32_Atom<T>{}); \
  tile<Major::major, T, 128>(#major " " name " 64", UMMA::Layout_##major##_SW64_Atom<T>{}); \
  tile<Major::major, T, 128>(#major " " name " 128", UMMA::Layout_##major##_SW128_Atom<T>{});

int main() {
  words<tfloat32_t, tfloat32_t, float>("SM100_MMA_TF32_SS<tf32,tf32,f32");
  words<half_t, half_t, float>("SM100_MMA_F16BF16_SS<f16,f16,f32");
  words<bfloat16_t, bfloat16_t, float>("SM100_MMA_F16BF16_SS<bf16,bf16,f32");
  words<float_e4m3_t, float_e4m3_t, float>("SM100_MMA_F8F6F4_SS<f8e4m3,f8e4m3,f32");
  words<float_e4m3_t, float_e5m2_t, float>("SM100_MMA_F8F6F4_SS<f8e4m3,f8e5m2,f32");
  words<float_e5m2_t, float_e4m3_t, float>("SM100_MMA_F8F6F4_SS<f8e5m2,f8e4m3,f32");
  words<float_e5m2_t, float_e5m2_t, float>("SM100_MMA_F8F6F4_SS<f8e5m2,f8e5m2,f32");
  words<int8_t, int8_t, int32_t>("SM100_MMA_S8_SS<i8,i8,i32");
  words<int8_t, uint8_t, int32_t>("SM100_MMA_S8_SS<i8,u8,i32");
  words<uint8_t, int8_t, int32_t>("SM100_MMA_S8_SS<u8,i8,i32");
  words<uint8_t, uint8_t, int32_t>("SM100_MMA_S8_SS<u8,u8,i32");
  mixed<float_e4m3_t, float_e4m3_t>("f8e4m3,f8e4m3");
  mixed<float_e4m3_t, float_e5m2_t>("f8e4m3,f8e5m2");
  mixed<float_e5m2_t, float_e4m3_t>("f8e5m2,f8e4m3");
  mixed<float_e5m2_t, float_e5m2_t>("f8e5m2,f8e5m2");
  std::make_integer_sequence<int, 8> eight;
  scaled<float_e2m1_t, float_ue8m0_t, 32>("SM100_MMA_MXF4_SS<f4e2m1,f4e2m1,f32,f8ue8m0", ",32", eight);
  scaled_pairs<float_e2m1_t, float_ue8m0_t, 32>("SM100_MMA_MXF4_2x1SM_SS<f4e2m1,f4e2m1,f32,f8ue8m0", ",32", eight);
  scaled<float_e2m1_t, float_ue4m3_t, 16>("SM100_MMA_MXF4_SS<f4e2m1,f4e2m1,f32,f8ue4m3", ",16", eight);
  scaled_pairs<float_e2m1_t, float_ue4m3_t, 16>("SM100_MMA_MXF4_2x1SM_SS<f4e2m1,f4e2m1,f32,f8ue4m3", ",16", eight);
#define SIZES(shape) COPY(shape##1x) COPY(shape##2x) COPY(shape##4x) COPY(shape##8x) COPY(shape##16x) COPY(shape##32x)
  SIZES(SM100_TMEM_LOAD_32dp32b) COPY(SM100_TMEM_LOAD_32dp32b64x) COPY(SM100_TMEM_LOAD_32dp32b128x)
  SIZES(SM100_TMEM_LOAD_16dp64b) COPY(SM100_TMEM_LOAD_16dp64b64x) COPY(SM100_TMEM_LOAD_16dp64b128x)
  SIZES(SM100_TMEM_LOAD_16dp128b) COPY(SM100_TMEM_LOAD_16dp128b64x)
  SIZES(SM100_TMEM_LOAD_16dp256b)
  wide<SM100_LOAD_256bit_CACHE_NOALLOCATION>("SM100_LOAD_256bit_CACHE_NOALLOCATION");
  wide<SM100_STORE_256bit_CACHE_NOALLOCATION>("SM100_STORE_256bit_CACHE_NOALLOCATION");
  places<float_ue8m0_t, 32, 1, 8>("f8ue8m0");
  places<float_ue4m3_t, 16, 4, 8>("f8ue4m3");
  TILES(K, half_t, "f16") TILES(K, float_e4m3_t, "f8e4m3") TILES(K, tfloat32_t, "f32") TILES(MN, half_t, "f16")
}
