#!/usr/bin/env bash
# `make demo`: crawls the demo web that the project ships, or SITE, and serves the search page until Ctrl-C.
set -euo pipefail

cache=${CACHE:-$HOME/.cache/seine}
target=${CARGO_TARGET_DIR:-$cache/target}/release
data=$cache/demo/data
http=${HTTP:-127.0.0.1:8080}
[[ $http == *:* ]] || http=127.0.0.1:$http
demo_ports=(8091 8092 8093)

# With a terminal every command gets a process group of its own: Ctrl-C ends the crawl or the server, not make.
[[ -t 0 ]] && set -m
child='' web=''

stop() {
  [[ -z $child ]] || { kill -INT "$child" 2>/dev/null && wait "$child" || true; }
  [[ -z $web ]] || { kill "$web" 2>/dev/null && wait "$web" 2>/dev/null || true; }
}
trap stop EXIT
trap 'echo; echo "demo stopped"; exit 0' INT TERM

# Runs a command so that a signal to this script reaches it at once, also where there is no terminal.
foreground() {
  if [[ -t 0 ]]; then
    "$@"
  else
    "$@" </dev/null &
    child=$!
    local status=0
    wait "$child" || status=$?
    child=''
    return $status
  fi
}

taken() { (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; }

if taken "$http"; then
  echo "The address $http is taken by another program; choose another one, such as: make demo HTTP=127.0.0.1:8099" >&2
  exit 1
fi
if [[ -z ${SITE:-} ]]; then
  for port in "${demo_ports[@]}"; do
    if taken "127.0.0.1:$port"; then
      echo "Port $port, which the demo web needs, is taken by another program; stop that program and try again." >&2
      exit 1
    fi
  done
fi

echo "building Seine (the first time takes about half an hour, RocksDB most of it)"
foreground "${MAKE:-make}" --no-print-directory build
rm -rf "$cache/demo"
mkdir -p "$cache/demo"

if [[ -n ${SITE:-} ]]; then
  crawl=("$SITE" --max-pages 200)
else
  "$target/demo-web" >"$cache/demo/web.log" 2>&1 &
  web=$!
  for ((tries = 0; tries < 100; tries++)); do
    grep -qs '^ready' "$cache/demo/web.log" && break
    kill -0 "$web" 2>/dev/null || break
    sleep 0.1
  done
  if ! grep -qs '^ready' "$cache/demo/web.log"; then
    echo "The demo web did not start; it said: $(cat "$cache/demo/web.log")" >&2
    exit 1
  fi
  seeds=("${demo_ports[@]/#/http://127.0.0.1:}")
  crawl=("${seeds[@]/%//}" --allow-net 127.0.0.0/8 --delay 0.05)
fi

status=0
foreground "$target/seine" crawl "${crawl[@]}" --data "$data" || status=$?
if ((status == 130)); then
  echo "crawl stopped; what it has can be searched"
elif ((status != 0)); then
  exit "$status"
fi

echo
echo "  Search page:  http://$http/     (Ctrl-C ends it)"
if [[ -z ${SITE:-} ]]; then
  echo "  Try:          http://$http/search?q=boat+locks"
  echo "                http://$http/search?q=借书证"
  echo "                http://$http/search?q=rajčata"
fi
echo
status=0
foreground "$target/seine" serve --data "$data" --http "$http" --grpc 127.0.0.1:0 || status=$?
((status == 130)) || exit "$status"
