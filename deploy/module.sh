#!/usr/bin/env bash
# Writes a copy of the checkout with another module path to .local/module, and builds the copy.
# `make module` and TestGoModule call this script.
set -euo pipefail
cd "$(dirname "$0")/.."

new=${1:-}
[ -n "$new" ] || { echo "make module: MODULE is missing; for example MODULE=example.com/team/k8s-cli" >&2; exit 2; }
old=$(go list -m)
out=$PWD/.local/module
rm -rf "$out"
mkdir -p "$out"
git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$out"
cd "$out"

# go.mod, imports, and paths of variables for the linker contain the path of the module.
old_pattern=${old//./\\.}
find . \( -name '*.go' -o -name '*.sh' -o -name go.mod -o -name Makefile -o -name '*.yml' \) -print0 |
  xargs -0 sed -i -E "s#(^|[^A-Za-z0-9_./~-])$old_pattern/(cmd|deploy|pkg|test)\b#\1$new/\2#g"
go mod edit -module "$new"

find . -name go.mod -not -path '*/testdata/*' -printf '%h\n' | while read -r dir; do
  [ -n "$(find "$dir" -name '*.go' -print -quit)" ] || continue
  go -C "$dir" list -deps ./... >/dev/null # every import exists
done
go build ./...
echo "$out is the module $new"
