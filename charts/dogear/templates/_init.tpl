{{/*
Every template begins with it. null takes a value away, and with a map all that
is in it: here maps come back, empty, so that templates may look into them. Then
it says which values contradict each other.
*/}}
{{- define "dogear.init" -}}
{{- range $path := list
  "commonLabels" "image"
  "settings" "settings.budget" "settings.log"
  "controller" "controller.serviceAccount" "controller.podDisruptionBudget"
  "webhook" "webhook.service" "webhook.certificate" "webhook.certificate.issuerRef" "webhook.autoscaling"
  "webhook.serviceAccount" "webhook.podDisruptionBudget"
  "callback" "callback.service" "callback.certificate"
  "rbac" "rbac.aggregate" "namespaced" "crds" "uninstall" "tests" "tests.rbac" "hooks" "hooks.serviceAccount" "flowControl"
  "metrics" "metrics.service" "metrics.serviceMonitor" "metrics.podMonitor" "metrics.prometheusRule" "metrics.dashboard"
  "networkPolicy" "networkPolicy.apiServer"
}}
{{- $at := $.Values }}
{{- range $key := splitList "." $path }}
{{- if not (kindIs "map" (index $at $key)) }}{{ $_ := set $at $key dict }}{{ end }}
{{- $at = index $at $key }}
{{- end }}
{{- end }}
{{- include "dogear.guard" . }}
{{- end }}
