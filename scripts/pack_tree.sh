#!/bin/sh
# pack_tree.sh: a folder as an archive whose bytes depend on the files alone: not on their times, owners, order in the
# folder, or the umask.
#   scripts/pack_tree.sh PARENT NAME TO.tar.gz SECONDS
set -e
parent=$1 name=$2 to=$3 seconds=$4
case $(tar --version 2>/dev/null) in
  *GNU*) tar -C "$parent" --sort=name --mtime="@$seconds" --owner=0 --group=0 --numeric-owner \
    --mode=u=rwX,go=rX --format=ustar -cf - "$name" | gzip -9n >"$to" ;;
  *) tar -C "$parent" -cf - "$name" | gzip -9n >"$to" ;;
esac
