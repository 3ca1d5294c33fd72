#!/usr/bin/env bash
# venv.sh DIR REQUIREMENTS: makes the Python environment if it is not there and installs the pinned packages into it.
set -euo pipefail
venv=$1 requirements=$2

# A copy of what was installed last: nothing is asked of the network while it is the same.
installed=$venv/$(basename "$requirements")
cmp -s "$requirements" "$installed" && exit 0

echo "installing Python packages of $requirements" >&2
[[ -x $venv/bin/pip ]] || /usr/bin/python3 -m venv --clear "$venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
cp "$requirements" "$installed"
