{{/* Values that do not go together fail here, each with what to do. */}}
{{- define "k8s-cli.check" -}}
{{- $flags := .Values.server.flags -}}
{{- $mode := .Values.auth.mode -}}
{{- if not $mode -}}
{{- fail `auth.mode is empty: choose how the server knows its callers, as in --set auth.mode=tokenreview
  header       the X-User header is believed: only behind a proxy that sets it (server.flags.trusted-proxies), or where everybody who reaches the API may act as anybody
  token        bearer tokens of a list, in a Secret (auth.tokensSecret)
  tokenreview  bearer tokens that the API server of Kubernetes accepts
  oidc         ID tokens of an OpenID Connect issuer (server.flags.oidc-issuer and server.flags.oidc-client-id)` -}}
{{- end -}}
{{- if and (eq $mode "token") (not .Values.auth.tokensSecret) (not (get $flags "tokens-file")) -}}
{{- fail "auth.tokensSecret is empty: auth.mode token needs a Secret with the list of tokens; make one with: kubectl create secret generic k8s-cli-tokens --from-file=tokens" -}}
{{- end -}}
{{- if and .Values.auth.tokensSecret (or (ne $mode "token") (get $flags "tokens-file")) -}}
{{- fail "auth.tokensSecret goes only with auth.mode token, and without server.flags.tokens-file" -}}
{{- end -}}
{{- if and (eq $mode "oidc") (not (and (get $flags "oidc-issuer") (get $flags "oidc-client-id"))) -}}
{{- fail "auth.mode oidc needs the issuer and the client: set server.flags.oidc-issuer and server.flags.oidc-client-id" -}}
{{- end -}}
{{- if and (eq .Values.log "embedded") (eq (include "k8s-cli.tasks" .) .Release.Namespace) -}}
{{- fail (printf "tasks.namespace is the release's (%s): with log embedded, tasks there could mount the claim of the log; choose another tasks.namespace" .Release.Namespace) -}}
{{- end -}}
{{- if eq (int .Values.service.port) (int .Values.service.filesPort) -}}
{{- fail (printf "service.filesPort is service.port (%d): choose another one" (int .Values.service.port)) -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (ne .Values.service.type "ClusterIP") (not .Values.networkPolicy.from) -}}
{{- fail (printf "networkPolicy.from is empty, so that only pods of the cluster reach the API: service.type %s needs the networks of its clients, as in [{ipBlock: {cidr: 203.0.113.0/24}}]" .Values.service.type) -}}
{{- end -}}
{{- end -}}
