#!/bin/sh
# install_stripped.sh: installs a program, a library or an archive without its debug information,
# which is four fifths of it, and without the names that no linker asks for.
#   scripts/install_stripped.sh MODE FROM TO
# DEBUG_INFO=1 keeps the debug information, and all names: that of a program or shared library in
# TO.debug, where debuggers find it by a link in TO; that of an archive in the archive.
# Without objcopy (macOS) strip does it, and DEBUG_INFO=1 installs FROM as it is.
set -e
mode=$1 from=$2 to=$3
install -m "$mode" "$from" "$to"
case $from in *.a) is_archive=1 ;; *) is_archive= ;; esac
objcopy=$(command -v "${OBJCOPY:-objcopy}" || command -v llvm-objcopy) || objcopy=
if [ -z "${DEBUG_INFO:-}" ] && [ -n "$objcopy" ]; then
  "$objcopy" --strip-unneeded --remove-section=.comment "$to"
elif [ -z "${DEBUG_INFO:-}" ]; then
  "${STRIP:-strip}" -S "$to"
elif [ -z "$is_archive" ] && [ -n "$objcopy" ]; then
  "$objcopy" --only-keep-debug "$from" "$to.debug"
  chmod 644 "$to.debug"
  "${STRIP:-strip}" -S "$to"
  (cd "$(dirname "$to")" && "$objcopy" --add-gnu-debuglink="$(basename "$to").debug" "$(basename "$to")")
fi
