#!/usr/bin/env bash
# profile_beside_ncu.sh: the counters of `profile` beside those of Nsight Compute, for ten examples, as a table. Needs
# build/cuttle, a GPU, NVRTC and ncu; nothing is fetched.
#   bash scripts/profile_beside_ncu.sh [--csv] [example ...]
set -eu
cd "$(dirname "$0")/.."
ncu=${NCU:-$(command -v ncu || ls -d /opt/nvidia/nsight-compute/*/ncu /usr/local/cuda*/bin/ncu 2>/dev/null | tail -n 1)}
if [ -z "$ncu" ]; then
  echo "no ncu on the PATH; NCU=/path/to/ncu names it" >&2
  exit 1
fi
NCU=$ncu exec ./build/cuttle scripts/profile_beside_ncu.lua "$@"
