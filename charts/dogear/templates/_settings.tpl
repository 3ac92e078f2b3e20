{{/*
The settings file of both Deployments. What is set to its default by other values
than "settings" is left out: a program of the release before must read the file.
*/}}
{{- define "dogear.settings" -}}
{{- $v := .Values }}
{{- $fullname := include "dogear.fullname" . }}
{{- $settings := deepCopy $v.settings }}
{{- if ne ($v.metrics.port | default 8080 | int) 8080 }}
{{- $_ := set $settings "metricsAddress" (printf ":%d" ($v.metrics.port | int)) }}
{{- end }}
{{- if ne ($v.healthPort | default 8081 | int) 8081 }}
{{- $_ := set $settings "healthAddress" (printf ":%d" ($v.healthPort | int)) }}
{{- end }}
{{- if $v.namespaced.enabled }}
{{- $_ := set $settings "namespaces" (include "dogear.namespaces" . | fromYamlArray) }}
{{- end }}
{{- /* The program finds the Job's by that of the controller, where both have names of the chart. */}}
{{- if or $v.controller.serviceAccount.name $v.hooks.serviceAccount.uninstall }}
{{- $_ := set $settings "uninstallAccount" (include "dogear.account" (dict "root" . "component" "uninstall")) }}
{{- end }}
{{- if include "dogear.webhook" . }}
{{- $webhook := dict
  "fail" (eq ($v.webhook.failurePolicy | default "Ignore") "Fail")
  "controllerUsers" (list (include "dogear.controllerUser" .)) }}
{{- with $v.webhook.timeout }}{{ $_ := set $webhook "timeout" . }}{{ end }}
{{- with $v.webhook.lameDuck }}{{ $_ := set $webhook "lameDuck" . }}{{ end }}
{{- if ne ($v.webhook.port | default 9443 | int) 9443 }}
{{- $_ := set $webhook "address" (printf ":%d" ($v.webhook.port | int)) }}
{{- end }}
{{- if $v.webhook.url }}
{{- $_ := set $webhook "url" $v.webhook.url }}
{{- else }}
{{- $_ := set $webhook "service" (printf "%s-webhook" $fullname) }}
{{- $_ := set $webhook "servicePort" ($v.webhook.service.port | default 443 | int) }}
{{- end }}
{{- if ne (include "dogear.certificate" .) "builtin" }}
{{- $_ := set $webhook "certificateDir" "/etc/dogear-tls" }}
{{- end }}
{{- if eq (include "dogear.certificate" .) "cert-manager" }}
{{- $_ := set $webhook "injectCAFrom" (printf "%s/%s-webhook" .Release.Namespace $fullname) }}
{{- end }}
{{- $_ := set $settings "webhook" $webhook }}
{{- end }}
{{- if $v.callback.enabled }}
{{- $callback := dict "address" (printf ":%d" ($v.callback.port | default 9444 | int)) }}
{{- if $v.callback.url }}
{{- $_ := set $callback "url" $v.callback.url }}
{{- else }}
{{- $_ := set $callback "service" (printf "%s-callback" $fullname) }}
{{- $_ := set $callback "servicePort" ($v.callback.service.port | default 443 | int) }}
{{- end }}
{{- if $v.callback.certificate.secretName }}
{{- $_ := set $callback "certificateDir" "/etc/dogear-callback-tls" }}
{{- end }}
{{- $_ := set $settings "callback" $callback }}
{{- end }}
{{- toYaml $settings }}
{{- end }}
