#!/usr/bin/env bash
# Prints the directory of Debian's prometheus and promtool, unpacked into the cache
# and not installed: nothing on the machine changes, and no service starts. Called
# by `make prometheus`.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/k8s-cli

for tool in apt-get apt-cache dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "this machine has no $tool: prometheus and promtool come from a package of Debian or Ubuntu" >&2; exit 1; }
done

# look finds out which version there is, and where it is kept.
look() {
  version=$(apt-cache show --no-all-versions prometheus 2>/dev/null | sed -n 's/^Version: //p')
  dir=$cache/prometheus-$version
}
fetch() { (cd "$aside" && apt-get download -qq -o APT::Sandbox::User=root "prometheus=$version" >&2); } # the sandbox user cannot write there

look
if [ -z "$version" ] || [ ! -d "$dir" ]; then
  echo "fetching prometheus from Debian (once per machine)" >&2
  mkdir -p "$cache"
  aside=$(mktemp -d "$cache/prometheus.XXXXXX")
  trap 'rm -rf "$aside"' EXIT
  if [ -z "$version" ] || ! fetch; then # the lists are missing, or older than what the mirror has
    apt-get update -qq >&2
    look
    fetch
  fi
  dpkg-deb -x "$aside"/prometheus_*.deb "$aside/root"
  mv -T "$aside/root" "$dir" 2>/dev/null || [ -d "$dir" ] # somebody else was faster
fi
echo "$dir/usr/bin"
