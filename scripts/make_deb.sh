#!/bin/sh
# make_deb.sh: a Debian package of an installed tree.
#   scripts/make_deb.sh FOLDER VERSION
# FOLDER/root holds the tree, of PREFIX=/usr. The package lies beside FOLDER then. DEBFULLNAME and DEBEMAIL say
# who makes it; else the last commit does.
set -e
folder=$1 version=$2-1
root=$folder/root
command -v dpkg-deb >/dev/null || {
  echo "make_deb: dpkg-deb is missing; it is in the package dpkg" >&2
  exit 1
}
arch=$(dpkg --print-architecture)
doc=$root/usr/share/doc/cuttle
name=${DEBFULLNAME:-The Cuttle authors}
email=${DEBEMAIL:-$(git log -1 --format=%ae 2>/dev/null || echo root@localhost)}
SOURCE_DATE_EPOCH=$(scripts/source_date.sh) # which dpkg-deb takes for all files
export SOURCE_DATE_EPOCH
umask 022

# What Debian keeps in other places or forms.
mkdir -p "$root/usr/share/zsh/vendor-completions" "$root/usr/share/lintian/overrides"
mv "$root/usr/share/zsh/site-functions/_cuttle" "$root/usr/share/zsh/vendor-completions/"
rmdir "$root/usr/share/zsh/site-functions"
gzip -9n "$root"/usr/share/man/man1/*.1
triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH 2>/dev/null) || triplet=
if [ -n "$triplet" ]; then # where pkg-config looks when it is for another machine
  mkdir -p "$root/usr/lib/$triplet"
  mv "$root/usr/lib/pkgconfig" "$root/usr/lib/$triplet/"
fi
find "$root/usr/bin" "$root/usr/lib" -type f \( -name cuttle -o -name '*.so.*' \) \
  -exec strip --strip-unneeded --remove-section=.comment --remove-section=.note {} +
find "$root/usr/lib" -name '*.so*' -type f -exec chmod 644 {} +

mv "$doc/CHANGELOG.md" "$doc/changelog" # the project's own
gzip -9n "$doc/changelog"
# The list of changes of the package, whose date is that of the sources.
date=$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")
cat >"$doc/changelog.Debian" <<EOF
cuttle ($version) unstable; urgency=medium

  * Version $2; see changelog.gz.

 -- $name <$email>  $date
EOF
gzip -9n "$doc/changelog.Debian"
rm "$doc/LICENSE"
{
  cat <<'EOF'
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Cuttle

Files: *
Copyright: 2026 The Cuttle authors
License: Expat

License: Expat
EOF
  sed -n '/^Permission/,$p' LICENSE | sed -e 's/^$/./' -e 's/^/ /'
} >"$doc/copyright"

# One package holds the program, the library and what hosts are built with.
cat >"$root/usr/share/lintian/overrides/cuttle" <<'EOF'
cuttle: package-name-doesnt-match-sonames libcuttle0
cuttle: link-to-shared-library-in-wrong-package
cuttle: no-symbols-control-file usr/lib/*
cuttle: repeated-path-segment *
cuttle: initial-upload-closes-no-bugs *
EOF

mkdir -p "$root/DEBIAN"
soname=$(cd "$root/usr/lib" && ls libcuttle.so.[0-9])
echo "libcuttle ${soname##*.} cuttle (>= $2)" >"$root/DEBIAN/shlibs"
printf 'activate-noawait ldconfig\n' >"$root/DEBIAN/triggers"

# The libraries that the files link, as the packages that they are in.
depends() {
  work=$folder/shlibs
  rm -rf "$work" && mkdir -p "$work/debian"
  printf 'Source: cuttle\n\nPackage: cuttle\nArchitecture: any\n' >"$work/debian/control"
  tree=$(cd "$root" && pwd)
  (cd "$work" && dpkg-shlibdeps -O --ignore-missing-info -l"$tree/usr/lib" \
    -e"$tree/usr/bin/cuttle" -e"$tree/usr/lib/$soname" 2>/dev/null) | sed -n 's/^shlibs:Depends=//p'
}
needs=
if command -v dpkg-shlibdeps >/dev/null; then
  needs=$(depends)
fi
cat >"$root/DEBIAN/control" <<EOF
Package: cuttle
Version: $version
Architecture: $arch
Maintainer: $name <$email>
Installed-Size: $(find "$root/usr" -type f -exec cat {} + | wc -c | awk '{ print int(($1 + 1023) / 1024) }')
Depends: ${needs:-libc6, liblua5.4-0}
Suggests: liblua5.4-dev
Section: devel
Priority: optional
Multi-Arch: no
Description: GPU kernels described in Lua
 Cuttle is a language for GPU kernels, embedded in Lua 5.4: layouts and their
 algebra, tiles, copies and products by tensor cores. Kernels run on CUDA
 devices or on a CPU engine, which checks and profiles them line by line.
 .
 The package holds the program, the library for C and C++ hosts with its
 headers, the module for Lua, the documents and the examples.
EOF
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
chmod 644 "$root"/DEBIAN/*
chmod -R u+rwX,go+rX,go-w "$root"
out=$(dirname "$folder")/cuttle_${version}_$arch.deb
dpkg-deb --root-owner-group --build "$root" "$out" >/dev/null
echo "$out"
