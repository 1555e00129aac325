{{/* The configuration of NATS. NATS replaces names that begin with $ by environment variables. */}}
{{- define "k8s-cli.nats.config" -}}
server_name: $POD_NAME
listen: 0.0.0.0:4222
http: 0.0.0.0:8222
max_payload: 1MB
{{- if .Values.nats.tlsSecret }}

tls {
  {{- include "k8s-cli.nats.tls" . | nindent 2 }}
}
{{- end }}

jetstream {
  store_dir: /data
  max_file_store: {{ .Values.nats.storage.limit }}
  max_memory_store: 16MB
  {{- if eq .Values.nats.durability "always" }}
  sync_interval: always # fsync before the acknowledgement
  {{- end }}
}

cluster {
  name: {{ include "k8s-cli.name" . }}
  listen: 0.0.0.0:6222
  authorization { user: route, password: $PASSWORD, timeout: 5 }
  routes: $ROUTES
  {{- if .Values.nats.tlsSecret }}
  tls {
    {{- include "k8s-cli.nats.tls" . | nindent 4 }}
  }
  {{- end }}
}

system_account: SYS
accounts {
  SYS { users: [ { user: sys, password: $PASSWORD } ] }

  # The account of the API pods. Every user of this account can write to the command log.
  K8SCLI {
    jetstream: enabled
    users: [ { user: server, password: $PASSWORD } ]
    exports: [ { stream: "event.>" } ]
  }

  # Subscribers receive only their own live events, and cannot publish.
  SUBSCRIBERS {
    imports: [ { stream: { account: K8SCLI, subject: "event.>" } } ]
    users: [
      {{- range .Values.nats.subscribers }}
      { nkey: {{ .nkey }}, permissions: { publish: { deny: ">" }, subscribe: { allow: "event.*.{{ include "k8s-cli.token" .user }}.>" } } } # {{ regexReplaceAll "[[:cntrl:]]" .user "" }}
      {{- end }}
    ]
  }
  {{- with .Values.nats.accounts }}
  {{- . | nindent 2 }}
  {{- end }}
}
{{- end -}}

{{- define "k8s-cli.nats.tls" -}}
cert_file: /etc/nats-tls/tls.crt
key_file: /etc/nats-tls/tls.key
ca_file: /etc/nats-tls/ca.crt
timeout: 5
{{- end -}}
