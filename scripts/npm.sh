#!/usr/bin/env bash
# npm.sh DIR: installs exactly what DIR/package-lock.json says into DIR/node_modules.
set -euo pipefail
directory=$1

# A copy of what was installed last: nothing is asked of the network while it is the same.
installed=$directory/node_modules/.installed-lock.json
cmp -s "$directory/package-lock.json" "$installed" && exit 0

echo "installing npm packages of $directory" >&2
# No package may run programs while it is installed; the browser is Debian's.
npm ci --prefix "$directory" --ignore-scripts --no-audit --no-fund --loglevel=error >&2
cp "$directory/package-lock.json" "$installed"
