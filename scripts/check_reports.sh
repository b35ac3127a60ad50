#!/bin/sh
# check_reports.sh: what `cuttle check --json` reports of all scripts of tests/check and all cases of tests/fails is
# valid by docs/report.schema.json; one TAP result. Skipped without the validator, which scripts/deps.sh installs.
#   scripts/check_reports.sh build/tests/support/states
set -e
if [ ! -d build/readers/fastjsonschema ]; then
  echo "1..0 # skip no validator is installed"
  exit
fi
lines=$(mktemp) log=$(mktemp)
trap 'rm -f "$lines" "$log"' EXIT
status="not ok"
if "$1" scripts/report_lines.lua >"$lines" 2>"$log" </dev/null \
  && PYTHONPATH=build/readers python3 tests/support/validate_reports.py <"$lines" >"$log"; then
  status=ok
fi
echo "$status 1 - all reports keep to their schema"
tail -n 20 "$log" | sed 's/^/# /'
echo 1..1
