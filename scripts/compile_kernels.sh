#!/bin/sh
# compile_kernels.sh: compiles the kernels of examples, acceptance cases and some tests with NVRTC for several
# targets, which needs no GPU. Prints TAP.   scripts/compile_kernels.sh CUTTLE
cuttle=$1
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
export CUTTLE_DEVICE=cpu
if "$cuttle" info | grep -q '^NVRTC *none'; then
  echo '1..0 # skip no NVRTC on this machine'
  exit 0
fi
n=0
topics="bits atomics_half cast_tiles" # tests whose kernels have instructions of their own on some target
check() { # sm script [argument...]
  sm=$1
  shift
  n=$((n + 1))
  if "$cuttle" emit --compile "--sm=$sm" "$@" >"$log" 2>&1 </dev/null; then
    echo "ok $n - $1 for sm_$sm"
  else
    echo "not ok $n - $1 for sm_$sm"
    tail -n 5 "$log" | sed 's/^/# /'
  fi
}
for sm in 75 80 90; do
  check "$sm" scripts/kernel_cases.lua tests/kernel_cases
  for example in examples/*.lua; do
    check "$sm" "$example"
  done
  for topic in $topics; do
    check "$sm" "tests/lua/kernel/$topic.lua"
  done
done
echo "1..$n"
