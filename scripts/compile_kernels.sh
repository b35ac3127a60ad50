#!/bin/sh
# compile_kernels.sh: compiles the kernels of examples, acceptance cases and tests with NVRTC for several
# targets, which needs no GPU: JOBS scripts at a time, through the disk cache. Prints TAP.
#   scripts/compile_kernels.sh CUTTLE [TARGET...]
# A text that compiles for a target also compiles for later ones, unless the target has a letter, as sm_90a has.
# So it is not compiled again for a later target whose text is the same. Nor is a text that the ledger lists:
# those that this version of NVRTC has compiled before. LEDGER names another file of that form; with LEDGER=
# all are compiled. RECORD=FILE writes what compiled into FILE, as `make ledger` does.
ledger=${LEDGER-tests/golden/compiled.txt}
if [ "$1" = --one ]; then # CUTTLE VERSION TARGET,TARGET... SCRIPT [ARGUMENT...]
  cuttle=$2 version=$3 targets=$(echo "$4" | tr , ' ') script=$5
  shift 5
  texts=$(mktemp -d) || exit 1
  known=$([ -z "$ledger" ] || grep -F " $script" "$ledger" || true)
  arguments=$*
  emit() { # TARGET [OPTION]
    "$cuttle" emit "--sm=$1" $2 "$script" $arguments </dev/null
  }
  # One run writes the texts of all targets (tests/support/emit_also.c). Those are not in the ledger where the script
  # asks for the target, and a run of its own for it gives another text.
  emit_together() {
    others=
    for target in ${targets#* }; do
      others="$others $target=$texts/$target"
      : >"$texts/$target" # the text of a script that launches nothing
    done
    CUTTLE_EMIT_ALSO=$others emit "${targets%% *}" >"$texts/${targets%% *}" 2>"$texts/log" || rm "$texts"/*
  }
  # Does it call operators, which choose a kernel by the target? Then the texts of one run are of no use.
  asks_target() {
    grep -qE '(^|[^_.a-z"])matmul *[({]|require "cuttle\.(rows|matmul|expert|attention)' "$script"
  }
  # TARGET: the line of its text in a ledger. Comments that say which line of a script it is of do not count.
  entry() {
    hash=$(sed -E 's, *// [^"]*:[0-9]+$,,' "$texts/$1" | sha256sum)
    line=$(printf '%.32s' "${hash#\\}") && line="$line $version sm_$1 $script"
  }
  is_listed() { # TARGET
    [ -f "$texts/$1" ] || return
    entry "$1"
    case "
$known
" in *"
$line
"*) ;; *) return 1 ;; esac
  }
  is_as_before() { # TARGET: the text of an earlier one is the same
    for earlier in $compiled; do
      cmp -s "$texts/$1" "$texts/$earlier" && return
    done
    return 1
  }
  compile() { # TARGET
    emit "$1" >"$texts/$1" 2>"$texts/log" &&
      { is_as_before "$1" || is_listed "$1" || emit "$1" --compile >"$texts/out" 2>"$texts/log"; }
  }
  compiled=
  [ "$targets" = "${targets#* }" ] || asks_target || emit_together
  for target in $targets; do
    if is_listed "$target" || compile "$target"; then
      echo "ok - $script for sm_$target"
      compiled="$compiled $target"
      [ -z "${RECORD:-}" ] || { entry "$target" && echo "$line" >>"$RECORD"; }
    else
      printf 'not ok - %s for sm_%s\n%s\n' "$script" "$target" "$(tail -n 5 "$texts/log" | sed 's/^/# /')"
    fi
  done
  rm -r "$texts"
  exit 0
fi
cuttle=$1
shift
export CUTTLE_DEVICE=cpu
info=$("$cuttle" info)
version=$(echo "$info" | sed -n 's/^NVRTC *\([^ ,]*\).*/\1/p')
if [ "$version" = none ]; then
  echo '1..0 # skip no NVRTC on this machine'
  exit 0
fi
# Not texts that are no CUDA C, nor what runs the program itself, tunes or looks into launches of the CPU engine, nor
# kernels for hundreds of arguments, types or layouts.
tests=$(grep -lE 'grid *=' tests/lua/*/*.lua | grep -vE 'nvrtc_errors|twins|integer_law|tile_casts|dtype/untyped|reads_and_changes|narrow_reductions|many_specialisations|many_fragments|search/|program/|tune/|sum_order|trace/lean|trace/row_order|mesh/ipc|mesh/overlap_devices|mesh/joint_devices|mesh/graph_devices|blackwell/as_cute|mesh/timeline_measured|/compile_')
newest=$(echo "$info" | sed -n 's/^targets.* //p')
newer=$(for sm in 100a "$newest"; do
  echo "$info" | grep -q "^targets.* $sm\( \|$\)" && echo "$sm"
done | sort -u)
# Beside 75, 80 and 90a: atoms of sm_89, examples for the last target, and kernels with instructions of their own for
# 100a and the last. A part, as it takes minutes.
more_targets() { # SCRIPT
  case $1 in
    tests/lua/atom/mma.lua | examples/sgemm_2.lua | examples/sgemm_sm*) echo 89 ;;
  esac
  case $1 in
    examples/*) echo "$newest" ;;
    scripts/kernel_cases.lua | tests/lua/atom/mma.lua) echo "$newer" ;;
    tests/lua/kernel/bits.lua | tests/lua/kernel/atomics_half.lua) echo "$newer" ;;
    tests/lua/kernel/cast_tiles.lua | tests/lua/kernel/recast_fragments.lua) echo "$newer" ;;
  esac
}
# Of the targets those that fit the script: not what says "-- needs sm_N" of a later N, or sm_Na of another.
fitting() { # SCRIPT TARGET...
  needed=$(sed -n 's/^-- needs sm_\([0-9]*a*\)$/\1/p' "$1")
  shift
  for target; do
    case $needed in
      *a) [ "$needed" = "$target" ] && echo "$target" ;;
      *) [ "${needed:-0}" -le "${target%[af]}" ] && echo "$target" ;;
    esac
  done | paste -sd, -
}
# What a script is given: the folder of cases; 8 random products of 30; every ninth of 548 loops; 50 of 1000 records;
# examples the sizes of tests/support/small.lua, at which their kernels have the same texts.
small=$("$cuttle" - <<'END'
for path, arguments in pairs(dofile "tests/support/small.lua") do print(path, arguments) end
END
)
arguments_of() { # SCRIPT
  case $1 in
    examples/*) echo "$small" | awk -v "path=$1" '$1 == path { $1 = ""; print }' ;;
    scripts/kernel_cases.lua) echo tests/kernel_cases ;;
    tests/lua/kernel/dot_random.lua) echo 8 ;;
    tests/lua/kernel/loop_limits.lua) echo 9 ;;
    tests/lua/front/many_records.lua) echo 50 ;;
  esac
}
list() { # [TARGET...]
  for script in $tests examples/*.lua scripts/kernel_cases.lua; do
    targets=$(fitting "$script" ${*:-75 80 90a $(more_targets "$script")})
    [ -n "$targets" ] && echo "$targets" "$script" $(arguments_of "$script")
  done
}
list "$@" | xargs -P "${JOBS:-2}" -L 1 "$0" --one "$cuttle" "$version" |
  awk '/^(not )?ok / { n++; sub(/ok /, "ok " n " ") } { print } END { print "1.." n }'
