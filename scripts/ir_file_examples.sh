#!/bin/sh
# ir_file_examples.sh: emits each example for sm_90a by two programs, of which one takes each IR by way of its
# bytes (tests/support/ir_file.c), and compares. Prints TAP.
#   scripts/ir_file_examples.sh PROGRAM OTHER
one=$1 other=$2 n=0
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
for f in examples/*.lua; do
  n=$((n + 1))
  CUTTLE_DEVICE=cpu "$one" emit --sm=90a "$f" >"$folder/a" 2>"$folder/error"
  CUTTLE_DEVICE=cpu "$other" emit --sm=90a "$f" >"$folder/b" 2>"$folder/error"
  if cmp -s "$folder/a" "$folder/b"; then
    echo "ok $n - $f"
  else
    echo "not ok $n - $f"
    grep ir_file "$folder/error" | sed 's/^/# /'
  fi
done
echo "1..$n"
