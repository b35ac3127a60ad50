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
  echo "file $name"
  "$folder/venv/bin/python" -B "$here/$name" 2>&1 || echo "status $?"
done | awk '
  function check(passed, text) { if (!passed) failed = 1; printf "%sok %d - %s: %s\n", passed ? "" : "not ", ++n, file, text }
  function finish() { if (file != "" && !has_plan) check(0, "ended early"); has_plan = 0 }
  /^file / { finish(); file = $2; next }
  /^status / { if (has_plan && !failed) check(0, $0); next }
  /^1\.\.0 # SKIP/ { printf "ok %d # skip %s: %s\n", ++n, file, substr($0, 12); has_plan = 1; next }
  /^1\.\./ { has_plan = 1; next }
  /^ok [0-9]+ - / { sub(/^ok [0-9]+ - /, ""); check(1, $0); next }
  /^not ok [0-9]+ - / { sub(/^not ok [0-9]+ - /, ""); check(0, $0); next }
  { print "# " $0 }
  END { finish(); print "1.." n; exit failed }'
