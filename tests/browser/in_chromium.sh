#!/bin/sh
# in_chromium.sh: runs a test in Chromium, or reports why it is skipped, in TAP.
#   tests/browser/in_chromium.sh TEST.py [ARGUMENT ...]
# The test gets the arguments, then the name of the browser.
set -eu

browser=
for name in chromium-headless-shell chromium chromium-browser google-chrome; do
  if command -v "$name" >/dev/null 2>&1; then
    browser=$name
    break
  fi
done
if ! command -v python3 >/dev/null 2>&1; then
  echo "1..0 # SKIP no python3 here"
elif [ -z "$browser" ]; then
  echo "1..0 # SKIP no chromium here"
else
  exec python3 -B "$@" "$browser"
fi
