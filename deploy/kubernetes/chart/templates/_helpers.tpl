{{/* The prefix of the names of all objects. */}}
{{- define "k8s-cli.name" -}}
{{- if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The name of cluster-scoped objects. It contains the namespace, because several namespaces may have a release of the same name. */}}
{{- define "k8s-cli.clusterName" -}}
{{- printf "%s-%s" (include "k8s-cli.name" .) .Release.Namespace | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "k8s-cli.labels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: k8s-cli
{{- end -}}

{{- define "k8s-cli.server.selector" -}}
app.kubernetes.io/name: k8s-cli-server
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "k8s-cli.nats.selector" -}}
app.kubernetes.io/name: k8s-cli-nats
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "k8s-cli.metrics.selector" -}}
app.kubernetes.io/name: k8s-cli-metrics
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "k8s-cli.image" -}}
{{- if .digest -}}{{ .repository }}@{{ .digest }}{{- else -}}{{ .repository }}:{{ .tag }}{{- end -}}
{{- end -}}

{{- define "k8s-cli.tasks" -}}
{{- .Values.tasks.namespace | default .Release.Namespace -}}
{{- end -}}

{{- define "k8s-cli.nats.secret" -}}
{{- .Values.nats.existingSecret | default (printf "%s-nats" (include "k8s-cli.name" .)) -}}
{{- end -}}

{{/* The DNS names of the NATS nodes as a JSON list. Each name has a prefix with the scheme, the user and the password. */}}
{{- define "k8s-cli.nats.nodes" -}}
{{- $service := printf "%s-nats" (include "k8s-cli.name" .top) -}}
{{- $nodes := list -}}
{{- range until (int .top.Values.nats.replicas) -}}
{{- $nodes = append $nodes (printf "%s%s-%d.%s.%s.svc:%d" $.prefix $service . $service $.top.Release.Namespace (int $.port)) -}}
{{- end -}}
{{- toJson $nodes -}}
{{- end -}}

{{/* The annotations by which a Prometheus with pod discovery finds the metrics of a pod. */}}
{{- define "k8s-cli.metrics.annotations" -}}
{{- if .Values.metrics.annotations -}}
prometheus.io/scrape: "true"
prometheus.io/port: {{ int .Values.metrics.port | default 8000 | quote }}
prometheus.io/path: /metrics
{{- if and (hasKey .Values.server.flags "tls-cert") (not (int .Values.metrics.port)) }}
prometheus.io/scheme: https
{{- end }}
{{- end -}}
{{- end -}}

{{/* The security context of all pods. It is stricter than the pod security level "restricted". */}}
{{- define "k8s-cli.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "k8s-cli.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "k8s-cli.spread" -}}
- topologyKey: kubernetes.io/hostname
  maxSkew: 1
  whenUnsatisfiable: {{ .when }}
  labelSelector: {matchLabels: {{ .selector | fromYaml | toJson }}}
- topologyKey: topology.kubernetes.io/zone
  maxSkew: 1
  whenUnsatisfiable: ScheduleAnyway
  labelSelector: {matchLabels: {{ .selector | fromYaml | toJson }}}
{{- end -}}

{{/* The name of a user, encoded as one token of a NATS subject. docs/events.md defines the encoding. */}}
{{- define "k8s-cli.token" -}}
{{- range $c := splitList "" . -}}
{{- if regexMatch "^[A-Za-z0-9_-]$" $c -}}{{ $c }}{{- else -}}={{ replace " " "=" (printf "% X" $c) }}{{- end -}}
{{- end -}}
{{- end -}}
