{{/* What a ServiceMonitor and a PodMonitor have in common: root, and values of the one. */}}

{{- define "dogear.monitorMeta" -}}
name: {{ include "dogear.fullname" .root | quote }}
namespace: {{ .values.namespace | default .root.Release.Namespace | quote }}
labels:
  {{- include "dogear.labels" (dict "root" .root "labels" .values.labels) | nindent 2 }}
{{- end }}

{{/* How the port is scraped; relabelings of the chart's own come in own. */}}
{{- define "dogear.scrape" -}}
port: metrics
{{- with .values.interval }}
interval: {{ . | quote }}
{{- end }}
{{- with .values.scrapeTimeout }}
scrapeTimeout: {{ . | quote }}
{{- end }}
{{- with concat (.own | default list) (.values.relabelings | default list) }}
relabelings:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .values.metricRelabelings }}
metricRelabelings:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- end }}
