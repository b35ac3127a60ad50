#!/usr/bin/env bash
# gpu_check.sh: everything that needs a CUDA device, on a machine that may have neither Lua nor this
# project's build tools: runs what `make all build/tests` has put in build/. Ends with PASS, FAIL or HUNG of each, and
# non-zero when one failed. Usage: scripts/gpu_check.sh [build folder] [step ...]
# What runs longer than its limit gets Ctrl-C, and is killed 20 s later; HUNG says which of them ended it. GPU_CHECK_SECONDS
# is the limit instead.
# Steps: info tests cases bits dtypes conversions kernels threads attention attention_sanitize products blackwell examples
# notebook bench sanitize ranks ranks_sanitize rows. rows: operators of rows and selections. blackwell: products by tcgen05 and with block scales, for a device of sm_100a
# or sm_120a: their numbers against the reference; nothing of it has run on one. attention_sanitize: small problems of
# attention's templates by compute-sanitizer. attention: its tests and random problems against the reference, then large problems beside the plain
# kernel, timed: what was written without a GPU; less than 120 s on an H200. products: tests of matmul, and products with
# scales beside PyTorch's. The last two need two devices. ranks: collectives and fused products by their bits, beside NCCL's, ranks that are killed, kernels that wait for
# ever, examples in one process and in two, products over ranks and steps of training beside PyTorch's. examples runs the
# programs of examples/, which check themselves and print their times; notebook is the one with the table of kernels
# beside hand-written ones; conversions compares all 2^32 inputs with the host, which takes a core for each type; kernels
# is tests/lua/kernel; threads is what threads do together, and the kernels that memory bounds beside the device's copy.
set -um # a job of its own for each command, which gets Ctrl-C as at a terminal
build=${1:-build}
[ $# -gt 0 ] && shift
steps=${*:-info tests cases bits dtypes examples bench}
failed=0
summary=
export CUTTLE_DEVICE=cuda
job=
trap 'kill -INT "$job" 2>/dev/null; exit 130' INT TERM
# NCCL of a Python package, where no other was named.
find_nccl() {
  nccl=$(python3 -c 'import nvidia.nccl as n; print(n.__path__[0] + "/lib/libnccl.so.2")' 2>/dev/null)
  if [ -z "${CUTTLE_NCCL:-}" ] && [ -f "$nccl" ]; then export CUTTLE_NCCL=$nccl; fi
}
# Seconds that each command of a step may take.
seconds_of() {
  case $1 in
    conversions | bench) echo 3600 ;;
    kernels | sanitize | ranks_sanitize | notebook) echo 1800 ;;
    ranks) echo 300 ;;
    *) echo 600 ;;
  esac
}
run() {
  echo "== $*"
  timeout -s INT -k "${GPU_CHECK_GRACE:-20}" "$limit" "$@" <&0 &
  job=$!
  wait "$job"
  case $? in
    0) result=PASS ;;
    124) result="HUNG after $limit s, until Ctrl-C:" ;;
    137) result="HUNG after $limit s, Ctrl-C did not end it:" ;;
    *) result=FAIL ;;
  esac
  [ "$result" = PASS ] || failed=$((failed + 1))
  echo "-- $result $*"
  summary="$summary$result $*
"
}
for step in $steps; do
  limit=${GPU_CHECK_SECONDS:-$(seconds_of "$step")}
  case $step in
    info) run "$build/cuttle" info ;;
    tests) for t in "$build"/tests/device/test_*; do [ -x "$t" ] && [ -f "$t" ] && run "$t"; done ;;
    cases) run "$build/cuttle" scripts/kernel_cases.lua tests/kernel_cases ;;
    bits) run "$build/cuttle" tests/device/same_bits.lua ;;
    dtypes) run "$build/cuttle" tests/lua/dtype/engine.lua ;;
    conversions)
      run xargs -P 0 -n 1 "$build/cuttle" scripts/conversions.lua <<<"f16 bf16 tf32 f8e4m3 f8e5m2 f8ue8m0 f8ue4m3 f6e2m3 f6e3m2 f4e2m1"
      ;;
    examples) for e in examples/*.lua; do run "$build/cuttle" "$e"; done ;;
    notebook) run "$build/cuttle" scripts/bench/main.lua notebook ;;
    kernels) run "$build/cuttle" scripts/run_tests.lua --cuttle="$build/cuttle" --device=cuda tests/lua/kernel ;;
    attention) run "$build/cuttle" scripts/attention_gpu.lua ;;
    attention_sanitize)
      for tool in memcheck racecheck; do
        run compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/cuttle" scripts/attention_gpu.lua --small
      done
      ;;
    products) # epilogues with outputs and products with scales: their results, then times beside torch._scaled_mm
      for t in epilogue scales law mma hopper grouped lists nested packed packed_hopper packed_groups packed_groups_hopper expert_layer expert_backward; do
        run "$build/cuttle" scripts/run_tests.lua --cuttle="$build/cuttle" --device=cuda "tests/lua/matmul/$t.lua"
      done
      run "$build/cuttle" scripts/products_gpu.lua
      run "$build/cuttle" scripts/fuzz_products.lua 60
      run "$build/cuttle" scripts/fuzz_packed.lua 60
      run "$build/cuttle" scripts/bench/scaled.lua --quick
      run "$build/cuttle" scripts/bench/few_rows.lua
      run "$build/cuttle" scripts/bench/expert_layer.lua --quick --parts
      run "$build/cuttle" scripts/bench/expert_layer.lua --quick --backward --parts
      run "$build/cuttle" scripts/bench/expert_layer.lua --quick --graph --packed=u4:128 64x2048x768x128x8
      run "$build/cuttle" scripts/bench/expert_layer.lua --quick --packed=u4:128 4096x2048x768x128x8
      run "$build/cuttle" scripts/bench/packed.lua
      run "$build/cuttle" scripts/bench/packed.lua --activations=f8e4m3
      run "$build/cuttle" scripts/bench/packed.lua --activations=i8
      ;;
    rows) # random calls of rows and selections, then their rates; a call in three compiles a kernel
      for seed in 1 2 3 4 5 6 7 8; do run "$build/cuttle" scripts/fuzz_rows.lua 630 "$seed"; done
      run "$build/cuttle" scripts/fuzz_selections.lua 300
      run "$build/cuttle" scripts/bench/rows.lua
      run "$build/cuttle" scripts/bench/selections.lua
      ;;
    blackwell)
      run "$build/cuttle" scripts/run_tests.lua --cuttle="$build/cuttle" --device=cuda tests/lua/blackwell tests/lua/atom tests/lua/matmul/tcgen05.lua tests/lua/matmul/tcgen05_scales.lua tests/lua/kernel/float_pairs.lua
      for e in blackwell_gemm blackwell_steps block_scaled; do run "$build/cuttle" "examples/$e.lua"; done
      run "$build/cuttle" scripts/bench/narrow_products.lua 64
      ;;
    threads) # shuffles, votes, atomics, waits, messages, collectives: checked, then timed
      for t in shuffles masks counting_barriers atomics spin_waits cooperative sync_grid collectives printing assertions; do
        run "$build/cuttle" scripts/run_tests.lua --cuttle="$build/cuttle" --device=cuda "tests/lua/kernel/$t.lua"
      done
      run "$build/cuttle" tests/device/clusters.lua
      for e in reduce histogram softmax prefix_sum stream_k paged_attention radix_sort bfs; do run "$build/cuttle" "examples/$e.lua"; done
      run "$build/cuttle" examples/softmax.lua 65536 1024
      run "$build/cuttle" examples/softmax.lua 4096 8191
      run "$build/cuttle" scripts/bench/main.lua sum softmax layer_norm
      ;;
    ranks)
      find_nccl
      run "$build/cuttle" tests/device/nccl_two.lua
      run "$build/cuttle" tests/device/ranks_two.lua
      export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
      for e in tensor_parallel_mlp data_parallel one_shot_all_reduce two_shot_all_reduce all_gather_product expert_dispatch; do
        run "$build/cuttle" "examples/$e.lua"
        run torchrun --no-python --nproc-per-node=2 "$build/cuttle" "examples/$e.lua"
        if command -v mpirun >/dev/null; then run mpirun -n 2 "$build/cuttle" "examples/$e.lua"; fi
      done
      run "$build/cuttle" bench mesh
      run "$build/cuttle" scripts/bench/ranks_stress.lua
      run "$build/cuttle" scripts/bench/ranks_beside.lua 2
      run "$build/cuttle" scripts/bench/train_beside.lua 2
      run "$build/cuttle" scripts/bench/nccl_beside.lua 2
      run env CUTTLE_COMM_BLOCKING=0 "$build/cuttle" scripts/bench/nccl_beside.lua 2
      ;;
    bench) run "$build/cuttle" scripts/bench/main.lua ;;
    sanitize)
      for tool in memcheck racecheck synccheck; do
        run compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/cuttle" \
          examples/moye_matmul.lua 256 256 64
      done
      for t in masks counting_barriers; do
        run compute-sanitizer --tool synccheck --error-exitcode 9 "$build/cuttle" "tests/lua/kernel/$t.lua"
      done
      run compute-sanitizer --error-exitcode 9 "$build/cuttle" examples/transpose.lua 256
      run compute-sanitizer --error-exitcode 9 "$build/cuttle" scripts/kernel_cases.lua tests/kernel_cases
      ;;
    ranks_sanitize) # NCCL ignores that peers are enabled already, so such errors of its calls are not shown
      find_nccl
      for tool in memcheck racecheck; do
        for e in one_shot_all_reduce two_shot_all_reduce all_gather_product expert_dispatch; do
          run compute-sanitizer --tool "$tool" --report-api-errors no --error-exitcode 9 "$build/cuttle" "examples/$e.lua"
        done
      done
      ;;
    *) echo "no step '$step'"; failed=$((failed + 1)) ;;
  esac
done
printf '\n%s%s failed\n' "$summary" "$failed"
[ "$failed" -eq 0 ]
