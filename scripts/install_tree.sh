#!/bin/sh
# install_tree.sh: puts a tree of files where it belongs, notes what it put there, and takes it away again.
#   scripts/install_tree.sh install STAGE DESTDIR MANIFEST
#   scripts/install_tree.sh uninstall DESTDIR MANIFEST
# STAGE holds the files as under DESTDIR. MANIFEST is a path of the installed system, /usr/local/share/...;
# uninstall removes the files that it lists, itself, and the folders that are empty then and that install made.
set -e

# Folders of the system stay unless install made them.
install_tree() {
  stage=$1 dest=$2 manifest=$3
  list=$(mktemp) made=$(mktemp)
  trap 'rm -f "$list" "$made"' EXIT
  (cd "$stage" && find . -mindepth 1 -type d | sort) | while read -r dir; do
    dir=${dir#.}
    if [ ! -d "$dest$dir" ]; then
      echo "$dir/" >>"$made"
      install -d -m 755 "$dest$dir"
    fi
  done
  (cd "$stage" && find . \( -type f -o -type l \) | sort) | sed 's|^\.||' >"$list"
  while read -r file; do
    rm -f "$dest$file"
    cp -P "$stage$file" "$dest$file"
  done <"$list"
  # Folders that an install before this one made are still its own.
  [ ! -f "$dest$manifest" ] || grep '/$' "$dest$manifest" >>"$made" || :
  sort -u -o "$made" "$made"
  { cat "$list" && echo "$manifest" && cat "$made"; } >"$list.all"
  install -d -m 755 "$dest$(dirname "$manifest")"
  install -m 644 "$list.all" "$dest$manifest"
  rm -f "$list.all"
}

uninstall_tree() {
  dest=$1 manifest=$2
  if [ ! -f "$dest$manifest" ]; then
    echo "install_tree: $dest$manifest is missing, so nothing is installed there" >&2
    exit 1
  fi
  list=$(mktemp)
  trap 'rm -f "$list"' EXIT
  cat "$dest$manifest" >"$list"
  grep -v '/$' "$list" | while read -r file; do
    rm -f "$dest$file"
  done
  grep '/$' "$list" | sort -r | while read -r dir; do
    rmdir "$dest$dir" 2>/dev/null || :
  done
}

case $1 in
  install) install_tree "$2" "$3" "$4" ;;
  uninstall) uninstall_tree "$2" "$3" ;;
  *)
    echo "usage: scripts/install_tree.sh install STAGE DESTDIR MANIFEST | uninstall DESTDIR MANIFEST" >&2
    exit 2
    ;;
esac
