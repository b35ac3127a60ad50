#!/bin/sh
# deps.sh: installs what is missing, with the system's package manager; asks for sudo only when
# something is missing and you are not root.
#   scripts/deps.sh build      what the program and the libraries need
#   scripts/deps.sh test       that, and what the tests and lint need
#   scripts/deps.sh platforms  compilers for other machines, and what runs their programs here
#   scripts/deps.sh pocl       OpenCL on the CPU, which `make bench-pocl` compares with
#   scripts/deps.sh has NEED...   installs nothing: are all of these here?
# Optional at run time, never installed here: a CUDA driver, NVRTC, cuBLAS, libedit.
# shellcheck disable=SC2086,SC2116 # needs are words in a list
set -eu

usage() {
  echo "usage: scripts/deps.sh build|test|platforms|pocl, or has NEED..." >&2
  exit 2
}

# {====== What is needed, and how to see whether it is here ======

have() { command -v "$1" >/dev/null 2>&1; }

has_cc() { have cc || have gcc || have clang; }
has_make() { have make || have gmake; }
has_pkg_config() { have pkg-config; }
has_lua() { have lua5.4 || have lua54 || { have lua && lua -v 2>&1 | grep -q 'Lua 5\.4'; }; }

# Headers of Lua 5.4, found as the Makefile finds them.
has_lua_dev() {
  for name in lua5.4 lua-5.4 lua54 lua; do
    if pkg-config --atleast-version=5.4 --max-version=5.4.99 "$name" 2>/dev/null; then
      return 0
    fi
  done
  return 1
}

has_prove() { have prove; }
has_clang() { have clang || have clang-14; }
has_clang_format() { have clang-format || have clang-format-14; }
has_clang_tidy() { have clang-tidy || have clang-tidy-14; }
has_libfuzzer() { scripts/run_fuzz.sh --probe clang || scripts/run_fuzz.sh --probe clang-14; }
has_luacheck() { have luacheck; }
has_numpy() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
      return 0
    fi
  done
  return 1
}
has_python() { have python3; }
has_python_dev() {
  for python in python3 /usr/bin/python3; do
    if "$python" scripts/python_headers.py >/dev/null 2>&1 && "$python" -c 'import venv, ensurepip' 2>/dev/null; then
      return 0
    fi
  done
  return 1
}
has_nodejs() { have node; }
has_binaryen() { have wasm-opt; }
has_aarch64() { have aarch64-linux-gnu-gcc && [ -d /usr/aarch64-linux-gnu ]; }
has_qemu() { have qemu-aarch64; }
has_musl() { have musl-gcc; }
has_opencl() { ldconfig -p 2>/dev/null | grep -q 'libOpenCL\.so\.1'; }
has_pocl() { ls /etc/OpenCL/vendors/pocl*.icd >/dev/null 2>&1; }
has_emcc() { have emcc; }
# What reads the reports of `cuttle check`, from the Python package index: see install_readers.sh.
readers=build/readers
has_readers() { cmp -s scripts/readers.txt "$readers/readers.txt"; }
# A client for tests of `cuttle mcp`, from the same index.
mcp_client=build/mcp_client
has_mcp_client() { cmp -s scripts/mcp_client.txt "$mcp_client/mcp_client.txt"; }
has_codemirror() { [ -f /usr/share/javascript/codemirror/lib/codemirror.js ]; }
# Chromium without windows takes two thirds of the processor time that it takes with them.
has_chromium_shell() { have chromium-headless-shell; }
has_chromium() { has_chromium_shell || have chromium || have chromium-browser || have google-chrome; }

build_needs="cc make pkg_config lua lua_dev"
test_needs="prove clang clang_format clang_tidy libfuzzer luacheck numpy python python_dev chromium_shell chromium emcc \
codemirror readers mcp_client"
platforms_needs="emcc nodejs binaryen aarch64 qemu musl"
pocl_needs="opencl pocl"

# Needs of the tests that some systems do not package. Without them tests are skipped, and a second
# run does not try to install them again.
optional=" clang clang_format clang_tidy libfuzzer luacheck numpy python python_dev chromium_shell chromium emcc \
codemirror nodejs binaryen aarch64 qemu musl readers mcp_client "
tried=build/deps-tried

# {====== Package names: need | apt-get | dnf | pacman | apk | brew ("-": not packaged) ======

packages="
cc           gcc,libc6-dev       gcc               gcc            gcc              gcc
make         make                make              make           make             make
pkg_config   pkg-config          pkgconf           pkgconf        pkgconf          pkg-config
lua          lua5.4              lua               lua54          lua5.4           lua@5.4
lua_dev      liblua5.4-dev       lua-devel,lua-static  lua54      lua5.4-dev,musl-dev  lua@5.4
prove        perl                perl-Test-Harness perl           perl-utils       perl
clang        clang               clang             clang          clang            llvm
clang_format clang-format        clang-tools-extra clang          clang-extra-tools  clang-format
clang_tidy   clang-tidy          clang-tools-extra clang          clang-extra-tools  llvm
libfuzzer    clang,@rt           compiler-rt       compiler-rt    compiler-rt      llvm
luacheck     lua-check           luacheck          luacheck       luacheck         luacheck
numpy        python3-numpy       python3-numpy     python-numpy   py3-numpy        numpy
python       python3             python3           python         python3          python3
python_dev   python3-dev,python3-venv  python3-devel  python         python3-dev      python3
nodejs       nodejs              nodejs            nodejs         nodejs           node
binaryen     binaryen            binaryen          binaryen       binaryen         binaryen
aarch64      gcc-aarch64-linux-gnu,libc6-dev-arm64-cross  -  aarch64-linux-gnu-gcc  -  -
qemu         qemu-user           qemu-user         qemu-user      qemu-aarch64     -
musl         musl-tools          musl-gcc          musl           -                -
opencl       ocl-icd-libopencl1  ocl-icd           ocl-icd        opencl-icd-loader  -
pocl         pocl-opencl-icd     pocl              pocl           -                -
chromium_shell  chromium-headless-shell  -         -              -                -
chromium     chromium            chromium          chromium       chromium         -
emcc         emscripten,nodejs   emscripten        emscripten     emscripten       emscripten
codemirror   libjs-codemirror    -                 -              -                -
"

# The column of this system's package manager, counted from 2; sets `manager`.
find_manager() {
  column=2
  for manager in apt-get dnf pacman apk brew; do
    if have "$manager"; then
      return 0
    fi
    column=$((column + 1))
  done
  return 1
}

# Debian's package with clang's runtime libraries carries the version of its clang.
resolve_rt() {
  version=$(apt-cache depends clang 2>/dev/null | sed -n 's/.*Depends: clang-\([0-9]*\)$/\1/p')
  echo "libclang-rt-${version:-14}-dev"
}

# Package names for the needs given, one a line.
packages_for() {
  for need in "$@"; do
    echo "$packages" | awk -v need="$need" -v column="$column" '$1 == need { print $column }'
  done | tr ',' '\n' | sed '/^-$/d' | sort -u | while read -r package; do
    case $package in
      @rt) resolve_rt ;;
      *) echo "$package" ;;
    esac
  done
}

# {====== Installing ======

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif have sudo; then
    echo "deps: sudo $*"
    sudo "$@"
  else
    echo "deps: not root and no sudo; run this as root: $*" >&2
    exit 1
  fi
}

refreshed=no
refresh() {
  if [ "$refreshed" = no ] && [ "$manager" = apt-get ]; then
    as_root apt-get update -qq || true
  fi
  refreshed=yes
}

install_packages() {
  case $manager in
    apt-get) as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "$@" ;;
    dnf) as_root dnf install -y -q "$@" ;;
    pacman) as_root pacman -S --needed --noconfirm "$@" ;;
    apk) as_root apk add -q "$@" ;;
    brew) brew install -q "$@" ;;
  esac
}

was_tried() { [ -f "$tried" ] && grep -qx "$1" "$tried"; }

missing_of() {
  for need in "$@"; do
    "has_$need" || was_tried "$need" || echo "$need"
  done
}

case ${1-} in
  build) needs=$build_needs ;;
  test) needs="$build_needs $test_needs" ;;
  platforms) needs=$platforms_needs ;;
  pocl) needs=$pocl_needs ;;
  has) ;;
  *) usage ;;
esac
cd "$(dirname "$0")/.."
if [ "$1" = has ]; then
  shift
  for need in "$@"; do
    "has_$need" || exit 1
  done
  exit 0
fi

missing=$(missing_of $needs)
if [ -z "$missing" ]; then
  echo "deps: everything for '$1' is here"
  exit 0
fi
if ! find_manager; then
  echo "deps: missing: $(echo $missing)" >&2
  echo "deps: no known package manager; install these by hand" >&2
  exit 1
fi
echo "deps: missing: $(echo $missing)"
for need in $missing; do
  if "has_$need"; then
    continue # what was installed for an earlier one has it
  fi
  if [ "$need" = readers ]; then
    scripts/install_readers.sh "$readers" || echo "deps: pip could not install $readers" >&2
    continue
  fi
  if [ "$need" = mcp_client ]; then
    scripts/install_mcp_client.sh "$mcp_client" || echo "deps: pip could not install $mcp_client" >&2
    continue
  fi
  refresh
  # shellcheck disable=SC2046
  set -- "$need" $(packages_for "$need")
  if [ $# -eq 1 ]; then
    continue
  fi
  shift
  echo "deps: $manager installs $*"
  install_packages "$@" >/dev/null || echo "deps: $manager could not install $*" >&2
done

still=$(missing_of $missing)
for need in $still; do
  case $optional in
    *" $need "*)
      echo "deps: still without $need; what needs it is skipped"
      mkdir -p "${tried%/*}" && echo "$need" >>"$tried"
      ;;
    *)
      echo "deps: still without $need, which is needed" >&2
      failed=yes
      ;;
  esac
done
[ -z "${failed-}" ]
