// as_cute.cpp: prints what as_cute.lua must print, by CuTe itself on the host. Not built by the Makefile:
//   g++ -std=c++17 -w -I cutlass/include -I $CUDA/include -I $CUDA/include/cccl as_cute.cpp -o as_cute
//   ./as_cute | sed 's/_\([0-9]\)/\1/g' >as_cute.out
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
#include <cute/atom/copy_atom.hpp>
using namespace cute;
template<class T> void P(const char* n, T const& t) { printf("%s ", n); print(t); printf("\n"); }
template<class MMA, class M, class K, class N> void mma_test(const char* name, MMA mma, M m, N n, K k) {
  printf("# %s\n", name);
  P("vmnk", mma.get_thr_layout_vmnk());
  P("A_TV", mma.get_layoutA_TV()); P("B_TV", mma.get_layoutB_TV()); P("C_TV", mma.get_layoutC_TV());
  auto A = make_layout(make_shape(m,k), make_stride(k,Int<1>{})); auto B = make_layout(make_shape(n,k)); auto C = make_layout(make_shape(m,n));
  P("thrfrg_A", mma.thrfrg_A(A)); P("thrfrg_B", mma.thrfrg_B(B)); P("thrfrg_C", mma.thrfrg_C(C));
  for (int t : {0, 5, 37}) {
    if (t >= size(mma)) continue;
    auto thr = mma.get_slice(t);
    auto a = thr.partition_A(make_tensor((half_t*)0, A)); auto b = thr.partition_B(make_tensor((half_t*)0, B)); auto c = thr.partition_C(make_tensor((half_t*)0, C));
    printf("thr %d %ld %ld %ld ", t, (long)(raw_pointer_cast(a.data())-(half_t*)0), (long)(b.data()-(half_t*)0), (long)(c.data()-(half_t*)0));
    print(a.layout()); printf(" "); print(b.layout()); printf(" "); print(c.layout()); printf("\n");
  }
  P("frag_A", make_fragment_like(mma.get_slice(0).partition_A(make_tensor((half_t*)0, A)).layout()));
}
template<class TC, class S> void copy_test(const char* name, TC tc, S s) {
  printf("# %s\n", name);
  P("tiler", typename TC::Tiler_MN{}); P("tv", typename TC::TiledLayout_TV{});
  P("S_TV", tc.get_layoutS_TV()); P("D_TV", tc.get_layoutD_TV());
  P("tidfrg_S", tc.tidfrg_S(s)); P("tidfrg_D", tc.tidfrg_D(s));
  for (int t : {0, 9, 31}) {
    auto thr = tc.get_slice(t);
    auto a = thr.partition_S(make_tensor((half_t*)0, s)); auto b = thr.partition_D(make_tensor((half_t*)0, s));
    printf("thr %d %ld %ld ", t, (long)(a.data()-(half_t*)0), (long)(b.data()-(half_t*)0)); print(a.layout()); printf(" "); print(b.layout()); printf("\n");
  }
}
int main() {
  auto m1 = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{});
  mma_test("sm80", m1, Int<128>{}, Int<128>{}, Int<64>{});
  auto m2 = make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16,_16,_1>>{});
  mma_test("fma", m2, Int<128>{}, Int<128>{}, Int<8>{});
  auto m3 = make_tiled_mma(SM70_8x8x4_F32F16F16F32_NT{}, Layout<Shape<_2,_2>,Stride<_2,_1>>{}, Tile<Layout<Shape<_4,_4,_2>,Stride<_1,_8,_4>>,_32,_4>{});
  mma_test("volta", m3, Int<64>{}, Int<64>{}, Int<16>{});
  auto m4 = make_tiled_mma(SM90_64x64x16_F16F16F16_SS<GMMA::Major::K,GMMA::Major::K>{}, Layout<Shape<_2,_1,_1>>{});
  mma_test("wgmma", m4, Int<128>{}, Int<128>{}, Int<64>{});
  auto m5 = make_tiled_mma(SM80_16x8x8_F32TF32TF32F32_TN{}, Layout<Shape<_1,_2,_2>>{}, Tile<_16,Layout<Shape<_8,_2,_2>,Stride<_1,_16,_8>>,_16>{});
  mma_test("tf32k", m5, Int<64>{}, Int<64>{}, Int<32>{});
  auto rm = make_layout(make_shape(Int<128>{},Int<64>{}), LayoutRight{});
  auto c1 = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint128_t>, half_t>{}, Layout<Shape<_16,_8>,Stride<_8,_1>>{}, Layout<Shape<_1,_8>>{});
  copy_test("cpasync", c1, rm);
  auto c2 = make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<Shape<_32,_8>>{}, Layout<Shape<_4,_1>>{});
  copy_test("univ", c2, make_layout(make_shape(Int<128>{},Int<64>{})));
  auto c3 = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, m1); copy_test("ldsm_A", c3, rm);
  auto c4 = make_tiled_copy_B(Copy_Atom<SM75_U32x2_LDSM_N, half_t>{}, m1); copy_test("ldsm_B", c4, rm);
  auto c5 = make_tiled_copy_C(Copy_Atom<SM90_U32x2_STSM_N, half_t>{}, make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{})); copy_test("stsm_C", c5, rm);
  auto c6 = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, m1); copy_test("ldsm_T_B", c6, make_layout(make_shape(Int<128>{},Int<64>{})));
  { auto fa = make_fragment_like(m1.get_slice(9).partition_A(make_tensor((half_t*)0, rm)).layout());
    P("retile_A", c3.retile(fa)); 
    auto fb = make_fragment_like(m1.get_slice(9).partition_B(make_tensor((half_t*)0, rm)).layout());
    P("retile_B", c4.retile(fb)); P("retile_BT", c6.retile(fb));
    auto fc = make_layout(shape(make_tiled_mma(SM80_16x8x16_F16F16F16F16_TN{}, Layout<Shape<_2,_2>>{}, Tile<_32,_32,_16>{}).get_slice(9).partition_C(make_tensor((half_t*)0, rm)).layout()));
    P("retile_C", c5.retile(fc)); }
  auto c7 = make_tiled_copy_S(Copy_Atom<UniversalCopy<uint32_t>, half_t>{}, c5); copy_test("copy_S", c7, rm);
}
