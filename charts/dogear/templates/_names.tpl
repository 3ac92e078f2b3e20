{{/* Names and labels. */}}

{{- define "dogear.name" -}}
{{ .Values.nameOverride | default .Chart.Name }}
{{- end }}

{{/* Names of Services may have 63 letters, of which suffixes take 11. */}}
{{- define "dogear.fullname" -}}
{{- $name := printf "%s-%s" .Release.Name (include "dogear.name" .) }}
{{- if .Values.fullnameOverride }}
{{- $name = .Values.fullnameOverride }}
{{- else if contains (include "dogear.name" .) .Release.Name }}
{{- $name = .Release.Name }}
{{- end }}
{{- $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* The ServiceAccount of a component or hook: root, component. */}}
{{- define "dogear.account" -}}
{{- $values := .root.Values }}
{{- $name := index $values.hooks.serviceAccount .component }}
{{- if has .component (list "controller" "webhook") }}
{{- $name = (index $values .component).serviceAccount.name }}
{{- end }}
{{- $name | default (printf "%s-%s" (include "dogear.fullname" .root) .component) }}
{{- end }}

{{/* The ServiceAccount of the controller, as API servers call it. */}}
{{- define "dogear.controllerUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "dogear.account" (dict "root" . "component" "controller") }}
{{- end }}

{{/* The ServiceAccount of a component, as a FlowSchema calls it: root, component. */}}
{{- define "dogear.flowSubject" -}}
kind: ServiceAccount
serviceAccount: {namespace: {{ .root.Release.Namespace | quote }}, name: {{ include "dogear.account" . | quote }}}
{{- end }}

{{/* Labels of an object: root, the component if it is of one, and more in labels. */}}
{{- define "dogear.labels" -}}
{{- $labels := dict
  "app.kubernetes.io/version" .root.Chart.AppVersion
  "app.kubernetes.io/part-of" "dogear"
  "app.kubernetes.io/managed-by" .root.Release.Service }}
{{- if not .pod }}
{{- $_ := set $labels "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") }}
{{- end }}
{{- include "dogear.texts" (mergeOverwrite (dict) (.root.Values.commonLabels) (.labels | default dict) $labels (include "dogear.selector" . | fromYaml)) }}
{{- end }}

{{/* Labels by which a component's Pods are selected: they never change. */}}
{{- define "dogear.selector" -}}
app.kubernetes.io/name: {{ include "dogear.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* Labels by which Pods with metrics are selected. */}}
{{- define "dogear.metricsSelector" -}}
{{ include "dogear.selector" (dict "root" .) }}
dogear.dev/metrics: "true"
{{- end }}

{{/* The map of texts, some of them of users, less what is null. */}}
{{- define "dogear.texts" -}}
{{- $texts := dict }}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}{{ $_ := set $texts $key (include "dogear.text" $value) }}{{ end }}
{{- end }}
{{- toYaml $texts }}
{{- end }}

{{/* A value as a text. Helm has numbers of files as fractions, and would print 2e+07 for a great one. */}}
{{- define "dogear.text" -}}
{{- if kindIs "float64" . }}{{ . | toJson }}{{ else }}{{ . | toString }}{{ end }}
{{- end }}
