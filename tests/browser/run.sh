#!/bin/sh
# run.sh: runs the test of the HTML pages in a browser, or reports why it is skipped, in TAP.
#   tests/browser/run.sh CUTTLE
set -eu
here=$(dirname "$0")
exec "$here/in_chromium.sh" "$here/test_pages.py" "$1"
