#!/usr/bin/env bash
# Makes sure that there is Node.js for the browser tests: the one that is here if it is new enough, else Debian's.
set -euo pipefail
least=18

major() { node --version 2>/dev/null | sed -n 's/^v\([0-9]*\).*/\1/p'; }

if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
  "$(dirname "$0")/deps.sh" nodejs npm
fi
if (($(major) < least)); then
  echo "Node.js $(node --version) is too old for the browser tests; install version $least or later." >&2
  exit 1
fi
