#!/usr/bin/env bash
# revision.sh REV DIR: builds another revision of Seine as its own Makefile does, keeps its program in DIR/COMMIT/seine and
# prints that path. What was built once is not built again.
set -euo pipefail
revision=$1 kept=$2

if ! commit=$(git rev-parse --verify --quiet "$revision^{commit}"); then
  echo "There is no revision '$revision' in this repository; give a commit, a tag or a branch, such as AGAINST=HEAD~1." >&2
  exit 1
fi
program=$kept/$commit/seine
if [[ ! -x $program ]]; then
  echo "building revision $revision (${commit:0:10})" >&2
  # A directory of its own per commit: the Makefile tells clones that share a target directory apart by their paths.
  source=$kept/$commit/source
  rm -rf "$source"
  mkdir -p "$source"
  git archive "$commit" | tar -x -C "$source"
  "${MAKE:-make}" --no-print-directory -C "$source" build >&2
  cp "$CARGO_TARGET_DIR/release/seine" "$program.partial"
  mv "$program.partial" "$program"
  rm -rf "$source"
fi
echo "$program"
