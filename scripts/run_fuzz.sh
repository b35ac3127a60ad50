#!/bin/sh
# run_fuzz.sh: runs one fuzz target for some seconds and reports in TAP.
#   scripts/run_fuzz.sh PROGRAM SECONDS
#   scripts/run_fuzz.sh --probe CLANG     exit status: can this compiler build fuzz targets?
# Seeds are read from tests/fuzz/corpus/NAME/ where PROGRAM is .../fuzz_NAME, and from PROGRAM.seeds/; what
# the fuzzer adds and the inputs that crash it stay beside the program.
if [ "$1" = --probe ]; then
  echo 'int LLVMFuzzerTestOneInput(const char *p, unsigned long n) { return !p && n; }' |
    "$2" -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null
  exit
fi

program=$1 seconds=$2
name=$(basename "$program")
seeds=tests/fuzz/corpus/${name#fuzz_}
found=$program.corpus
if [ ! -x "$program" ]; then
  echo "1..0 # skip $name: no clang with libFuzzer here"
  exit 0
fi
mkdir -p "$found"
[ -d "$seeds" ] || seeds=
[ ! -d "$program.seeds" ] || seeds="$seeds $program.seeds"
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # no seeds: no argument
if "$program" -max_total_time="$seconds" -timeout=100 -rss_limit_mb=1024 -print_final_stats=1 \
  -artifact_prefix="$program-" "$found" $seeds >"$log" 2>&1 </dev/null; then
  echo "ok 1 - $name ran $seconds s without a finding"
  sed -n 's/^stat::number_of_executed_units: */# executed units: /p' "$log"
else
  echo "not ok 1 - $name"
  tail -n 60 "$log" | sed 's/^/# /'
fi
echo 1..1
