#!/usr/bin/env bash
# check-deploy.sh [DIR]: checks deploy/ of this clone, or of another tree at DIR, as far as that can be done without systemd, a
# container runtime or a cluster. Asks nothing of the network. All checks run; each that fails says what is wrong and where.
#
# With SEINE_PROGRAM=…/seine the flags of all commands in deploy/ are compared with those that the program knows.
set -euo pipefail
scripts=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$scripts/..}"

cache=${CACHE:-$HOME/.cache/seine}
python=${SEINE_PYTHON:-$cache/venv/bin/python}
promtool=${SEINE_PROMTOOL:-$cache/prometheus/usr/bin/promtool}
# What systemd calls exposure, in tenths: from 0, locked in, to 100. Ours have 14.
exposure=15

temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
failed=0

wrong() {
  echo "deploy: $*" >&2
  failed=1
}

# check NAME COMMAND…: what it says is shown only when it fails.
check() {
  local said
  if ! said=$("${@:2}" 2>&1); then
    wrong "$1"
    sed "s#$temporary/##g; s/^/  /" <<<"$said" >&2
  fi
}

for tool in "$python" "$promtool" systemd-analyze; do
  if ! command -v "$tool" >/dev/null; then
    echo "deploy: $tool is not there; \`make deps-test\` installs it" >&2
    exit 1
  fi
done

# The program need not be installed here: its place is taken by one that exists.
ln -s "$(type -P true)" "$temporary/program"
# For verify, keys that it does not know are only worth a remark; for us any remark is one too many.
verify_unit() {
  local said
  said=$(systemd-analyze verify --man=no "$1" 2>&1) && [[ -z $said ]] || { echo "$said"; return 1; }
}
security_of_unit() {
  systemd-analyze security --no-pager --offline=true --threshold=$exposure "$1" >"$temporary/security" ||
    { grep -E '✗|→' "$temporary/security"; return 1; }
}
for unit in deploy/systemd/*.service; do
  copy=$temporary/$(basename "$unit")
  # A template is looked at as one of its instances.
  copy=${copy/@./@collector.}
  sed "s#/usr/local/bin/seine #$temporary/program #" "$unit" >"$copy"
  check "$unit: systemd has something to say" verify_unit "$copy"
  check "$unit: more exposed than $exposure tenths; the lines with ✗ are what it may do" security_of_unit "$copy"
done

prometheus=deploy/prometheus
check "$prometheus/prometheus.yml is not right" "$promtool" check config "$prometheus/prometheus.yml"
check "$prometheus/rules.yml is not right" "$promtool" check rules --lint=all --lint-fatal "$prometheus/rules.yml"
check "$prometheus/tests.yml: the rules do not do what the tests say" "$promtool" test rules "$prometheus/tests.yml"

# It leaves the dashboard's queries as a file of rules.
check "files in deploy/ do not fit each other, or what is around them" \
  "$python" -B "$scripts/check_deploy" --queries "$temporary/queries.yml" ${SEINE_PROGRAM:+--program "$SEINE_PROGRAM"}
if [[ -e $temporary/queries.yml ]]; then
  check "deploy/grafana/seine.json: Prometheus does not understand a query; see the panel's name" \
    "$promtool" check rules "$temporary/queries.yml"
fi
check "deploy/compose.yaml does not follow the schema of the compose specification" \
  "$(dirname "$python")/check-jsonschema" --builtin-schema vendor.compose-spec deploy/compose.yaml

[[ -n ${SEINE_PROGRAM:-} ]] || echo "the commands in deploy/ were not compared with the program: SEINE_PROGRAM does not name one"
exit $failed
