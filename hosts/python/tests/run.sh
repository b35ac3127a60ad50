#!/bin/sh
# run.sh: installs the package into a fresh virtual environment and runs the tests there, as one stream of TAP.
#   hosts/python/tests/run.sh BUILD [test_launch.py ...]
# BUILD has the package already (`make python`). Without Python, its headers, venv or pip they are skipped.
set -eu

build=$1
shift
here=$(dirname "$0")
if [ ! -e "$build/python/cuttle/_cuttle.abi3.so" ]; then
  echo "1..0 # SKIP no Python headers here: the package is not built"
  exit 0
fi

# One that has NumPy, if there is one.
works() { "$1" -c "import sys, venv, ensurepip$2; assert sys.version_info >= (3, 9)" 2>/dev/null; }
python=
for modules in ", numpy" ""; do
  for p in python3 /usr/bin/python3; do
    if [ -z "$python" ] && works "$p" "$modules"; then
      python=$p
    fi
  done
done
if [ -z "$python" ]; then
  echo "1..0 # SKIP no python3 with venv here"
  exit 0
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
unset MAKEFLAGS MAKELEVEL MFLAGS PYTHONPATH || true
"$python" -m venv --system-site-packages "$folder/venv"
if ! CUTTLE_BUILT=$(cd "$build" && pwd) "$folder/venv/bin/python" -m pip install --quiet --no-index --no-deps \
  --disable-pip-version-check "$here/.." >"$folder/log" 2>&1; then
  sed 's/^/# /' "$folder/log"
  echo "1..1"
  echo "not ok 1 - pip installs the package"
  exit 1
fi
# shellcheck disable=SC2046 # names are words
[ $# -gt 0 ] || set -- $(cd "$here" && ls test_*.py)
for name in "$@"; do
  shift
  set -- "$@" "$here/$name"
done
"$here/../../../scripts/tap_join.sh" --with "$folder/venv/bin/python -B" "$@"
