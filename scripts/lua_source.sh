#!/bin/sh
# lua_source.sh: puts the sources of Lua 5.4 into a folder, for platforms that have no package of it.
#   scripts/lua_source.sh FOLDER
# LUA_SOURCE names a folder that holds them (lua.h, lapi.c and so on). Without it they come from the
# source package of the distribution. Its list of packages is read into a folder of our own, so the
# system's settings stay as they are.
set -eu
folder=$1

copy_sources() {
  mkdir -p "$folder"
  cp "$1"/*.c "$1"/*.h "$folder"
}

fail() {
  echo "lua_source: $1" >&2
  echo "lua_source: unpack Lua 5.4 and name its folder src: LUA_SOURCE=FOLDER make ..." >&2
  exit 1
}

if [ -n "${LUA_SOURCE-}" ]; then
  [ -f "$LUA_SOURCE/lapi.c" ] || fail "LUA_SOURCE=$LUA_SOURCE holds no lapi.c"
  copy_sources "$LUA_SOURCE"
  exit 0
fi
command -v apt-get >/dev/null || fail "this system has no apt-get, which would bring a source package"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/sources"
# The same archives, asked for sources: in both formats that apt reads.
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
  [ -f "$list" ] || continue
  case $list in
    *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" >"$work/sources/${list##*/}" ;;
    *.list) sed -n 's/^deb /deb-src /p' "$list" >"$work/sources/${list##*/}" ;;
  esac
done
apt() {
  apt-get -qq -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$work/sources" \
    -o "Dir::State::Lists=$work/lists" -o APT::Sandbox::User= "$@"
}
apt update >"$work/log" 2>&1 || true
(cd "$work" && apt source --download-only lua5.4) >>"$work/log" 2>&1 || {
  cat "$work/log" >&2
  fail "apt-get brings no source package lua5.4"
}
tar -xzf "$work"/lua5.4_*.orig.tar.gz -C "$work"
copy_sources "$(dirname "$work"/lua-5.4*/src/lapi.c)"
