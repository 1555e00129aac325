#!/usr/bin/env bash
# Installs several API pods and a NATS cluster, on the local cluster or on the cluster in
# KUBECONFIG. `make deploy` and `make undeploy` call this script and set HELM to the path
# of helm. AUTH= sets the authentication method (auth.mode of the chart). The default is
# header on the local cluster; on any other cluster, AUTH= or VALUES= must set the method.
# INSTANCE= selects the instance of the local cluster.
set -euo pipefail
cd "$(dirname "$0")/.."

helm=${HELM:?is not set; run make deploy}
release=${RELEASE:-k8s-cli}
namespace=${NAMESPACE:-k8s-cli}
tasks=${TASKS_NAMESPACE:-$namespace-tasks}
dir=$PWD/.local
values=()
local_cluster=

say() { printf '\033[1m%s\033[0m\n' "$*"; }
[ -t 1 ] || say() { printf '%s\n' "$*"; }

# cluster selects the cluster. `cluster up` also starts the local cluster.
cluster() {
  if [ -n "${KUBECONFIG:-}" ] && [ "$KUBECONFIG" != "$dir/kubeconfig" ] && [ -z "${LOCAL_DIR:-}" ]; then
    say "Using the cluster that KUBECONFIG names: $KUBECONFIG"
    kubectl=kubectl
    command -v kubectl >/dev/null || { echo "there is no kubectl on the PATH" >&2; exit 1; }
    return
  fi
  local_cluster=yes
  dir=${LOCAL_DIR:-$dir}
  if [ "$1" = up ]; then
    say "Starting a Kubernetes of its own"
    go -C deploy/local run . up --dir "$dir"
  fi
  export KUBECONFIG=$dir/kubeconfig
  kubectl=$dir/bin/kubectl
}

# images builds the images for the local cluster and loads them into its node.
images() {
  local platform out
  platform=linux/$(go env GOARCH)
  out=$dir/images
  mkdir -p "$out"
  say "Building the images"
  # Output format of `image archive`: FILE: NAME@DIGEST for PLATFORMS
  server=$(go -C deploy/image run . archive --name k8s-cli.local/server --platforms "$platform" --out "$out/server.tar" | sed -E 's/^[^ ]+ ([^ @]+)@.*/\1/')
  nats=$(go -C deploy/image run . archive --program nats-server --name k8s-cli.local/nats --platforms "$platform" --out "$out/nats.tar" | sed -E 's/^[^ ]+ ([^ @]+)@.*/\1/')
  go -C deploy/local run . load --dir "$dir" "$out/server.tar" "$out/nats.tar"
  values+=(--values deploy/kubernetes/local.yaml
    --set "image.repository=${server%:*},image.tag=${server##*:}" --set "nats.image.repository=${nats%:*},nats.image.tag=${nats##*:}")
}

# named sets the image of the server to an image with a tag or a digest.
named() {
  local last=${1##*/}
  case $last in
    *@*) values+=(--set "image.repository=${1%@*},image.digest=${1##*@}") ;;
    *:*) values+=(--set "image.repository=${1%:*},image.tag=${1##*:}") ;;
    *) echo "IMAGE=$1 has neither a tag nor a digest" >&2; exit 1 ;;
  esac
}

# secret creates a Secret with a random value if the Secret does not exist.
secret() {
  "$kubectl" -n "$namespace" get secret "$1" >/dev/null 2>&1 ||
    "$kubectl" -n "$namespace" create secret generic "$1" --from-literal="$2=$(od -An -N32 -tx1 /dev/urandom | tr -d ' \n')" >/dev/null
}

deploy() {
  cluster up
  auth=${AUTH:-}
  if [ -n "$local_cluster" ]; then
    auth=${auth:-header}
    images
  elif [ -z "${IMAGE:-}" ]; then
    echo "this cluster pulls its images: push the image of the server to a registry, and name the image, as in
  make push IMAGE=registry.example.com/team/k8s-cli-server:v1
  make deploy IMAGE=registry.example.com/team/k8s-cli-server:v1 AUTH=tokenreview" >&2
    exit 1
  else
    named "$IMAGE"
  fi
  [ -z "${VALUES:-}" ] || values+=(--values "$VALUES")
  [ -z "$auth" ] || values+=(--set "auth.mode=$auth")

  chart --dry-run # so that invalid values create nothing
  say "Installing $release in $namespace, tasks in $tasks"
  sed "s/^  name: k8s-cli$/  name: $namespace/" deploy/kubernetes/namespace.yaml | "$kubectl" apply -f - >/dev/null
  secret "$release-key" key
  secret "$release-nats" password
  chart

  say "Waiting for the pods"
  local name kind
  for kind in statefulset deployment; do
    name=$("$kubectl" -n "$namespace" get "$kind" -l "app.kubernetes.io/instance=$release" -o name)
    [ -z "$name" ] || "$kubectl" -n "$namespace" rollout status "$name" --timeout=5m || { trouble; exit 1; }
  done
  "$kubectl" -n "$namespace" get pods -l "app.kubernetes.io/instance=$release"
  reach
}

# chart installs or upgrades the release; with --dry-run it only checks the values.
chart() {
  "$helm" upgrade --install "$release" deploy/kubernetes/chart --namespace "$namespace" --set "tasks.namespace=$tasks" \
    --set "server.secretsKey.existingSecret=$release-key,nats.existingSecret=$release-nats" "${values[@]}" "$@" >/dev/null
}

# trouble prints the pods and the latest warnings, to show why pods are not ready.
trouble() {
  "$kubectl" -n "$namespace" get pods >&2
  "$kubectl" -n "$namespace" get events --field-selector type=Warning --sort-by=.lastTimestamp 2>/dev/null | tail -n 10 >&2
}

reach() {
  local service url
  service=$("$kubectl" -n "$namespace" get service -l app.kubernetes.io/name=k8s-cli-server,app.kubernetes.io/instance="$release" -o name)
  say "In the cluster it is http://${service#service/}.$namespace.svc:8000; from here:"
  if [ -n "$local_cluster" ] && grep -q '"instance": 0' "$dir/cluster.json"; then # only instance 0 has addresses of Services
    url=http://$("$kubectl" -n "$namespace" get "$service" -o jsonpath='{.spec.clusterIP}'):8000
    cat <<EOF
  export PATH=$PWD/bin:$dir/bin:\$PATH KUBECONFIG=$KUBECONFIG K8S_CLI_API_URL=$url
  make build && k8s-cli auth login ann@example.com && k8s-cli jobs submit examples/hello.yaml
EOF
    return
  fi
  cat <<EOF
  $kubectl -n $namespace port-forward $service 8000
  k8s-cli --api-url http://127.0.0.1:8000 jobs submit examples/hello.yaml
EOF
}

undeploy() {
  cluster down
  if [ -n "$local_cluster" ] && [ ! -e "$KUBECONFIG" ]; then
    echo "there is no cluster in $dir"
    return
  fi
  "$helm" uninstall "$release" --namespace "$namespace" --ignore-not-found --wait --timeout 3m
  if [ -n "${PURGE:-}" ]; then
    say "Removing the log and all tasks and volumes"
    "$kubectl" delete namespace "$namespace" "$tasks" --ignore-not-found
  else
    echo "The log (claims in $namespace) and the tasks and volumes of users ($tasks) stay; PURGE=1 removes them."
  fi
}

"${1:-deploy}"
