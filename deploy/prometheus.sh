#!/usr/bin/env bash
# Prints the directory of Debian's prometheus and promtool. The script unpacks the Debian
# package into the cache and does not install the package, so that no service starts.
# `make prometheus` calls this script.
set -euo pipefail

cache=${XDG_CACHE_HOME:-$HOME/.cache}/k8s-cli

for tool in apt-get apt-cache dpkg-deb; do
  command -v "$tool" >/dev/null || { echo "this machine has no $tool: prometheus and promtool come from a package of Debian or Ubuntu" >&2; exit 1; }
done

# look sets version to the available version of the package, and dir to its directory in
# the cache.
look() {
  version=$(apt-cache show --no-all-versions prometheus 2>/dev/null | sed -n 's/^Version: //p')
  dir=$cache/prometheus-$version
}
fetch() { (cd "$aside" && apt-get download -qq -o APT::Sandbox::User=root "prometheus=$version" >&2); } # apt's sandbox user cannot write to this directory

look
if [ -z "$version" ] || [ ! -d "$dir" ]; then
  echo "fetching prometheus from Debian (once per machine)" >&2
  mkdir -p "$cache"
  aside=$(mktemp -d "$cache/prometheus.XXXXXX")
  trap 'rm -rf "$aside"' EXIT
  if [ -z "$version" ] || ! fetch; then # apt's package lists are missing or outdated
    apt-get update -qq >&2
    look
    fetch
  fi
  dpkg-deb -x "$aside"/prometheus_*.deb "$aside/root"
  mv -T "$aside/root" "$dir" 2>/dev/null || [ -d "$dir" ] # another process created the directory first
fi
echo "$dir/usr/bin"
