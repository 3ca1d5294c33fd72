#!/usr/bin/env bash
# Installs the Debian packages named that are not installed yet; touches nothing when all are there.
# With --rust-component: checks that the cargo commands named exist. Toolchains are never downloaded from here.
set -euo pipefail

if [[ ${1:-} == --rust-component ]]; then
  for command in "${@:2}"; do
    if ! cargo "$command" --version >/dev/null; then
      echo "cargo $command does not work here; install it with: rustup component add rustfmt clippy" >&2
      exit 1
    fi
  done
  exit 0
fi

missing=()
for package in "$@"; do
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true) == installed ]] || missing+=("$package")
done
((${#missing[@]})) || exit 0

as_root=()
if ((EUID != 0)); then
  if ! sudo -n true 2>/dev/null && ! { [[ -t 0 ]] && sudo true; }; then
    echo "These Debian packages are missing and need root: run 'apt-get install ${missing[*]}' as root, then try again." >&2
    exit 1
  fi
  as_root=(sudo)
fi
if ! command -v apt-get >/dev/null; then
  echo "There is no apt-get here; install what Debian calls ${missing[*]} with your own package manager." >&2
  exit 1
fi

echo "installing ${missing[*]}" >&2
# Another installation may be under way: wait for it instead of failing.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
"${apt[@]}" update </dev/null
"${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null
