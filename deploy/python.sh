#!/usr/bin/env bash
# Installs mypy, which checks the types of the Python client, and prints the directory of the program: a pinned version in
# an environment of its own if PyPI is reachable, else the version of Debian.
set -euo pipefail
version=1.0.1 # that of Debian 12
dir=${XDG_CACHE_HOME:-$HOME/.cache}/k8s-cli/mypy-$version

if ! command -v python3 >/dev/null; then
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends python3; } >&2
fi
if [ ! -x "$dir/bin/mypy" ] && ! command -v mypy >/dev/null; then
  if ! { python3 -m venv "$dir" && "$dir/bin/pip" install --quiet --retries 1 --timeout 10 "mypy==$version"; } >&2; then
    rm -rf "$dir"
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends mypy; } >&2
  fi
fi
[ -x "$dir/bin/mypy" ] && echo "$dir/bin" || dirname "$(command -v mypy)"
