{{/* A value as a text. Helm has numbers of files as fractions, and would print 2e+07 for a great one. */}}
{{- define "crds.text" -}}
{{- if kindIs "float64" . }}{{ . | toJson }}{{ else }}{{ . | toString }}{{ end }}
{{- end }}
