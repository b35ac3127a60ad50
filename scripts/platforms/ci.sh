#!/bin/sh
# ci.sh: the part of a platform's tests that CI runs. Ends with 77, and says why, where this machine lacks
# the platform's tools: `scripts/deps.sh platforms` installs them.
#   scripts/platforms/ci.sh aarch64|musl|wasm
set -eu
platform=$1

skip() {
  echo "$platform: skipped: $1"
  exit 77
}

need() {
  for tool; do
    command -v "$tool" >/dev/null || skip "there is no $tool; scripts/deps.sh platforms installs it"
  done
}

case $platform in
  aarch64) need aarch64-linux-gnu-gcc qemu-aarch64 ;;
  musl) need musl-gcc ;;
  wasm) need emcc node ;;
esac
need prove
[ -f build/lua-source/lapi.c ] || scripts/lua_source.sh build/lua-source || skip 'there are no sources of Lua'
case $platform in
  wasm) set -- ;; # as the playground is built, which the tests need, too
  *) set -- CFLAGS=-O2 ;; # without debug information, which takes time
esac
exec make PLATFORM="$platform" PART=ci "$@" all test-engine
