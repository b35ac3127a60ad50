#!/bin/sh
# compile_kernels.sh: compiles the kernels of examples, acceptance cases and tests with NVRTC for several
# targets, which needs no GPU: JOBS at a time, through the disk cache. Prints TAP.
#   scripts/compile_kernels.sh CUTTLE [TARGET...]
# FIRST is the earliest target. What it takes, later ones take: a text that is the same for both is not compiled again.
if [ "$1" = --one ]; then # CUTTLE TARGET SCRIPT [ARGUMENT]
  cuttle=$2 target=$3 script=$4 argument=${5:-}
  log=$(mktemp) || exit 1
  emit() { # TARGET [OPTION]
    "$cuttle" emit "--sm=$1" $2 "$script" ${argument:+"$argument"} </dev/null
  }
  is_alike() {
    [ "$target" != "${FIRST:-$target}" ] && emit "$FIRST" >"$log" 2>/dev/null &&
      emit "$target" 2>/dev/null | cmp -s - "$log"
  }
  if is_alike || emit "$target" --compile >"$log" 2>&1; then
    echo "ok - $script for sm_$target"
  else
    printf 'not ok - %s for sm_%s\n%s\n' "$script" "$target" "$(tail -n 5 "$log" | sed 's/^/# /')"
  fi
  rm -f "$log"
  exit 0
fi
cuttle=$1
shift
export CUTTLE_DEVICE=cpu
info=$("$cuttle" info)
if echo "$info" | grep -q '^NVRTC *none'; then
  echo '1..0 # skip no NVRTC on this machine'
  exit 0
fi
newest=$(echo "$info" | sed -n 's/^targets.* //p')
# Not texts that are no CUDA C, nor what runs the program itself, tunes or looks into launches of the CPU engine, nor one kernel for hundreds of arguments or layouts.
tests=$(grep -lE 'grid *=' tests/lua/*/*.lua | grep -vE 'nvrtc_errors|twins|many_specialisations|many_fragments|search/|program/|tune/|sum_order|trace/lean|trace/row_order|mesh/ipc|mesh/overlap_devices|/compile_')
# Of these kernels some have instructions of their own on some target.
topics="tests/lua/kernel/bits.lua tests/lua/kernel/atomics_half.lua tests/lua/kernel/cast_tiles.lua tests/lua/kernel/recast_fragments.lua tests/lua/atom/mma.lua"
# Of the scripts those that fit the target: not what says "-- needs sm_N" of a later N, or sm_Na of another.
fitting() {
  target=$1
  shift
  for script; do
    needed=$(sed -n 's/^-- needs sm_\([0-9]*a*\)$/\1/p' "$script")
    case $needed in
      *a) [ "$needed" = "$target" ] && echo "$script" ;;
      *) [ "${needed:-0}" -le "${target%[af]}" ] && echo "$script" ;;
    esac
  done
}
list() {
  for sm in ${*:-75 80 90a}; do
    echo "$sm scripts/kernel_cases.lua tests/kernel_cases"
    printf "$sm %s\n" $(fitting "$sm" examples/*.lua $tests)
  done
  if [ $# -eq 0 ]; then # atoms of sm_89; the first and the last of the newer ones, examples for the last: a part, as it takes minutes
    printf "89 %s\n" tests/lua/atom/mma.lua examples/sgemm_2.lua examples/sgemm_sm*.lua
    for sm in $(echo 100a "$newest" | tr ' ' '\n' | sort -u); do
      echo "$info" | grep -q "^targets.* $sm\( \|$\)" &&
        echo "$sm scripts/kernel_cases.lua tests/kernel_cases" && printf "$sm %s\n" $(fitting "$sm" $([ "$sm" = "$newest" ] && echo examples/*.lua) $topics)
    done
  fi
}
[ $# -eq 0 ] && export FIRST=75
list "$@" | xargs -P "${JOBS:-2}" -L 1 "$0" --one "$cuttle" |
  awk '/^(not )?ok / { n++; sub(/ok /, "ok " n " ") } { print } END { print "1.." n }'
