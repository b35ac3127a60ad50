#!/bin/sh
# install_mcp_client.sh: installs into FOLDER the official client of the Model Context Protocol, which a test of
# `cuttle mcp` uses, from the Python package index: the packages in mcp_client.txt.
#   scripts/install_mcp_client.sh FOLDER
set -eu
folder=$1
list=$(dirname "$0")/mcp_client.txt
rm -rf "$folder"
mkdir -p "$folder"
python3 -m pip --quiet --disable-pip-version-check install --root-user-action=ignore --no-deps --target "$folder" -r "$list"
cp "$list" "$folder/"
