{{/* Rejects invalid combinations of values. Each message says how to correct the values. */}}
{{- define "k8s-cli.check" -}}
{{- $flags := .Values.server.flags -}}
{{- $mode := .Values.auth.mode -}}
{{- if not $mode -}}
{{- fail `auth.mode is empty: choose how the server authenticates users, for example --set auth.mode=tokenreview (with make deploy: AUTH=tokenreview)
  header       the server trusts the X-User header. Use it behind a proxy that sets the header (server.flags.trusted-proxies); otherwise every client can act as any user
  token        bearer tokens from a list in a Secret (auth.tokensSecret)
  tokenreview  bearer tokens that the Kubernetes API server accepts
  oidc         ID tokens from an OpenID Connect issuer (server.flags.oidc-issuer and server.flags.oidc-client-id)` -}}
{{- end -}}
{{- if and (eq $mode "token") (not .Values.auth.tokensSecret) (not (get $flags "tokens-file")) -}}
{{- fail "auth.tokensSecret is empty: auth.mode token requires a Secret with the list of tokens; create it with: kubectl create secret generic k8s-cli-tokens --from-file=tokens" -}}
{{- end -}}
{{- if and .Values.auth.tokensSecret (or (ne $mode "token") (get $flags "tokens-file")) -}}
{{- fail "auth.tokensSecret is allowed only with auth.mode token, and not together with server.flags.tokens-file" -}}
{{- end -}}
{{- if and (eq $mode "oidc") (not (and (get $flags "oidc-issuer") (get $flags "oidc-client-id"))) -}}
{{- fail "auth.mode oidc requires the issuer and the client: set server.flags.oidc-issuer and server.flags.oidc-client-id" -}}
{{- end -}}
{{- if and (eq $mode "header") (or .Values.ingress.enabled .Values.httpRoute.enabled) (not (get $flags "trusted-proxies")) -}}
{{- fail "server.flags.trusted-proxies is empty: with auth.mode header, every client of the Ingress could act as any user; list the networks of the proxies that set X-User, or choose another auth.mode" -}}
{{- end -}}
{{- if and (eq .Values.log "embedded") (eq (include "k8s-cli.tasks" .) .Release.Namespace) -}}
{{- fail (printf "tasks.namespace is the namespace of the release (%s): with log embedded, tasks there could mount the claim of the log; choose another tasks.namespace" .Release.Namespace) -}}
{{- end -}}
{{- if eq (int .Values.service.port) (int .Values.service.filesPort) -}}
{{- fail (printf "service.filesPort equals service.port (%d): choose another port" (int .Values.service.port)) -}}
{{- end -}}
{{- if and .Values.networkPolicy.enabled (ne .Values.service.type "ClusterIP") (not .Values.networkPolicy.from) -}}
{{- fail (printf "networkPolicy.from is empty, so only pods of the cluster can reach the API: for service.type %s, set the networks of the clients, for example [{ipBlock: {cidr: 203.0.113.0/24}}]" .Values.service.type) -}}
{{- end -}}
{{- end -}}
