#!/usr/bin/env bash
# Installs the tools of test/openapi: Node, Chromium, and the npm modules of package-lock.json.
set -euo pipefail
cd "$(dirname "$0")/../test/openapi"

packages=()
command -v npm >/dev/null || packages+=(nodejs npm)
[ -x "${K8S_CLI_TEST_CHROMIUM:-/usr/bin/chromium}" ] || packages+=(chromium)
if [ ${#packages[@]} -gt 0 ]; then
  command -v apt-get >/dev/null || { echo "install ${packages[*]}, and run the command again" >&2; exit 1; }
  apt-get update -qq
  apt-get install -y -qq --no-install-recommends "${packages[@]}"
fi
# npm leaves the modules as they are if they match the lockfile
cmp -s package-lock.json node_modules/.installed && exit
npm ci --ignore-scripts --no-audit --no-fund --prefer-offline
cp package-lock.json node_modules/.installed
