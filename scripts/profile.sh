#!/usr/bin/env bash
# profile.sh ROWS: crawls these rows of the bench with the shipped program under perf, and draws a flame graph of each into output/.
# CACHE, PROGRAMS and SEINE_REAL_WEB are from the Makefile. Threads stand side by side, because each tier has its own.
set -euo pipefail
work=$CACHE/profile
rm -rf "$work"
mkdir -p "$work" output
"$PROGRAMS/seine-bench" --only real --row "$1" --pages 4000 --hosts 50 --profile "$work" --work-dir "$CACHE/bench" \
  --output "$work/figures.json" >/dev/null
for recording in "$work"/*.perf; do
  row=$(basename "$recording" .perf)
  perf script --input "$recording" 2>/dev/null | "$CACHE/tools/bin/inferno-collapse-perf" 2>/dev/null |
    "$CACHE/tools/bin/inferno-flamegraph" --title "seine crawl: $row" >"output/flame-$row.svg"
  echo "output/flame-$row.svg"
done
rm -rf "$work"
