{{/* What the schema of values cannot say: values that contradict each other. */}}
{{- define "dogear.guard" -}}
{{- end }}
