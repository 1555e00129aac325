#!/usr/bin/env bash
# Fetches the third-party files of the pages from npm and writes them to pkg/ui/static/vendor.
# The file vendor.sha256 pins both the files of npm and the written files; after a change of a
# version, UPDATE=1 writes it again. `make ui-vendor` calls this script.
set -euo pipefail
cd "$(dirname "$0")/.."

preact=preact@11.2.0 htm=htm@3.1.1 xterm=@xterm/xterm@6.0.0 fit=@xterm/addon-fit@0.11.0
to=$PWD/pkg/ui/static/vendor
from=$(mktemp -d)
trap 'rm -rf "$from"' EXIT
npm --prefix "$from" install --no-audit --no-fund --ignore-scripts --no-save "$preact" "$htm" "$xterm" "$fit"
cd "$from/node_modules"

# Browsers resolve only relative imports, and source maps are not served.
plain() { grep -v sourceMappingURL "$1"; }
plain preact/dist/preact.mjs >"$to/preact.js"
plain preact/hooks/dist/hooks.mjs | sed 's#from"preact"#from"./preact.js"#' >"$to/hooks.js"
plain htm/dist/htm.mjs >"$to/htm.js"
plain @xterm/xterm/lib/xterm.mjs >"$to/xterm.js"
plain @xterm/addon-fit/lib/addon-fit.mjs >"$to/xterm-fit.js"
plain @xterm/xterm/css/xterm.css >"$to/xterm.css"
{
  echo "# Licenses of the files in this directory"
  printf '\n## preact.js, hooks.js: %s (MIT)\n\n' "$preact"
  sed 's/^/    /' preact/LICENSE
  printf '\n## htm.js: %s (Apache-2.0)\n\n' "$htm"
  sed 's/^/    /' htm/LICENSE
  printf '\n## xterm.js, xterm.css: %s (MIT)\n\n' "$xterm"
  sed 's/^/    /' @xterm/xterm/LICENSE
  printf '\n## xterm-fit.js: %s (MIT)\n\n' "$fit"
  sed 's/^/    /' @xterm/addon-fit/LICENSE
} >"$to/LICENSES.md"

sums() {
  sha256sum preact/dist/preact.mjs preact/hooks/dist/hooks.mjs htm/dist/htm.mjs \
    @xterm/xterm/lib/xterm.mjs @xterm/xterm/css/xterm.css @xterm/addon-fit/lib/addon-fit.mjs | sed 's#  #  npm/#'
  (cd "$to" && sha256sum preact.js hooks.js htm.js xterm.js xterm-fit.js xterm.css)
}
if [ -n "${UPDATE:-}" ]; then
  sums >"$to/vendor.sha256"
else
  diff <(sums) "$to/vendor.sha256" || { echo "ui-vendor: the files differ from vendor.sha256" >&2; exit 1; }
fi
