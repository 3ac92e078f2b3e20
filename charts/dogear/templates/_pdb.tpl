{{/* What a drain of nodes leaves running of a component with its replicas. With one
replica it would only stand in the way of drains. */}}
{{- define "dogear.pdb" -}}
{{- $budget := .values.podDisruptionBudget }}
{{- if and $budget.enabled (gt (.replicas | int) 1) }}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ include "dogear.fullname" .root }}-{{ .component }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels:
    {{- include "dogear.labels" . | nindent 4 }}
spec:
  {{- if include "dogear.given" $budget.minAvailable }}
  minAvailable: {{ include "dogear.share" $budget.minAvailable }}
  {{- else if include "dogear.given" $budget.maxUnavailable }}
  maxUnavailable: {{ include "dogear.share" $budget.maxUnavailable }}
  {{- else }}
  maxUnavailable: 1
  {{- end }}
  {{- with $budget.unhealthyPodEvictionPolicy }}
  unhealthyPodEvictionPolicy: {{ . }}
  {{- end }}
  selector:
    matchLabels:
      {{- include "dogear.selector" . | nindent 6 }}
{{- end }}
{{- end }}

{{/* Whether there is a value; 0 is one. */}}
{{- define "dogear.given" -}}
{{- if ne (. | toString) "" }}{{ if not (kindIs "invalid" .) }}true{{ end }}{{ end }}
{{- end }}

{{/* The Pods that a number or a percentage of a count comes to: rounded up, as Kubernetes does. */}}
{{- define "dogear.shareOf" -}}
{{- $share := index . 0 | toString }}
{{- if hasSuffix "%" $share }}
{{- div (add (mul (trimSuffix "%" $share | int) (index . 1)) 99) 100 }}
{{- else }}
{{- index . 0 | int }}
{{- end }}
{{- end }}

{{/* A number, or a percentage such as 50%. */}}
{{- define "dogear.share" -}}
{{- if kindIs "string" . }}{{ . | quote }}{{ else }}{{ . | int }}{{ end }}
{{- end }}
