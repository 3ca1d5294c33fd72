#!/usr/bin/env bash
# Installs the Debian packages named that are not installed yet; touches nothing when all are there.
# With --unpack DIR PACKAGE: puts what is in the package below DIR instead of installing it. For packages that would bring a
# service, which would run from then on, and of which we want one program.
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

directory=
if [[ ${1:-} == --unpack ]]; then
  directory=$2
  [[ ! -e $directory ]] || exit 0
  shift 2
fi

missing=()
for package in "$@"; do
  [[ -z $directory && $(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true) == installed ]] ||
    missing+=("$package")
done
((${#missing[@]})) || exit 0

if ! command -v apt-get >/dev/null; then
  echo "There is no apt-get here; install what Debian calls ${missing[*]} with your own package manager." >&2
  exit 1
fi

# Needs no root, unless the lists of packages are missing or too old.
unpack() {
  local partial=$directory.partial
  rm -rf "$partial"
  mkdir -p "$partial"
  (cd "$partial" && apt-get -qq download "${missing[@]}" </dev/null 2>"$partial/said") || return 1
  for package in "$partial"/*.deb; do dpkg-deb -x "$package" "$partial" 2>>"$partial/said" || return 1; done
  rm "$partial"/*.deb "$partial/said"
  mv "$partial" "$directory"
}
if [[ -n $directory ]]; then
  echo "unpacking ${missing[*]}" >&2
  if unpack; then exit 0; fi
fi

as_root=()
if ((EUID != 0)); then
  if ! sudo -n true 2>/dev/null && ! { [[ -t 0 ]] && sudo true; }; then
    echo "These Debian packages are missing and need root: run 'apt-get install ${missing[*]}' as root, then try again." >&2
    exit 1
  fi
  as_root=(sudo)
fi

# Another installation may be under way: wait for it instead of failing.
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300)
if [[ -n $directory ]]; then
  "${apt[@]}" update </dev/null
  unpack || { cat "$directory.partial/said" >&2; exit 1; }
else
  echo "installing ${missing[*]}" >&2
  "${apt[@]}" update </dev/null
  "${apt[@]}" install -y --no-install-recommends "${missing[@]}" </dev/null >/dev/null
fi
