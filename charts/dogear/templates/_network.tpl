{{/* Rules of NetworkPolicies. */}}

{{/* Who may reach a port: port, and from, of which none is everybody. */}}
{{- define "dogear.ingress" -}}
- ports: [{port: {{ .port }}, protocol: TCP}]
  {{- with .from }}
  from:
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Pods of a component, as a peer: root, component. */}}
{{- define "dogear.peer" -}}
podSelector:
  matchLabels:
    {{- include "dogear.selector" . | nindent 4 }}
{{- end }}

{{/* What all Pods reach: names and the API server. */}}
{{- define "dogear.egress" -}}
{{- $values := .Values.networkPolicy -}}
# Names.
- ports: [{port: 53, protocol: UDP}, {port: 53, protocol: TCP}]
  {{- with $values.dns }}
  to:
  {{- toYaml . | nindent 2 }}
  {{- end }}
# The API server.
- ports:
  {{- range $values.apiServer.ports | default (list 443 6443) }}
  - {port: {{ int . }}, protocol: TCP}
  {{- end }}
  {{- with $values.apiServer.cidrs }}
  to:
  {{- range . }}
  - ipBlock: {cidr: {{ . | quote }}}
  {{- end }}
  {{- end }}
{{- end }}
