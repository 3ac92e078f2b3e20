{{/* What values come to. A helper that says yes or no prints "true" or nothing. */}}

{{- define "dogear.webhook" -}}
{{- $enabled := kindIs "invalid" .Values.webhook.enabled | ternary "auto" .Values.webhook.enabled | toString }}
{{- if or (eq $enabled "true") (and (eq $enabled "auto") (not .Values.namespaced.enabled)) }}true{{ end }}
{{- end }}

{{/* builtin, cert-manager or secret. */}}
{{- define "dogear.certificate" -}}
{{ .Values.webhook.certificate.mode | default "builtin" }}
{{- end }}

{{/* The Secret with the certificate that is mounted. */}}
{{- define "dogear.certificateSecret" -}}
{{ .Values.webhook.certificate.secretName | default (printf "%s-webhook-tls" (include "dogear.fullname" .)) }}
{{- end }}

{{/* The namespaces in which a namespaced installation works, one a line. */}}
{{- define "dogear.namespaces" -}}
{{ .Values.namespaced.namespaces | default (list .Release.Namespace) | toYaml }}
{{- end }}

{{/* Whether ServiceAccounts are made, by the values of serviceAccount. */}}
{{- define "dogear.makesAccount" -}}
{{- if ne (.create | toString) "false" }}true{{ end }}
{{- end }}

{{/* The number of Pods of the controller. default would take 0 for none. */}}
{{- define "dogear.controllerReplicas" -}}
{{ kindIs "invalid" .Values.controller.replicas | ternary 1 .Values.controller.replicas | int }}
{{- end }}

{{/* The number of Pods of the webhook that there are at least. */}}
{{- define "dogear.webhookReplicas" -}}
{{- if .Values.webhook.autoscaling.enabled }}
{{- .Values.webhook.autoscaling.minReplicas | default 1 | int }}
{{- else }}
{{- kindIs "invalid" .Values.webhook.replicas | ternary 2 .Values.webhook.replicas | int }}
{{- end }}
{{- end }}

{{/* The port of a URL such as https://host:8443/path. */}}
{{- define "dogear.portOf" -}}
{{ regexFind "^https://[^/]*:[0-9]+(/|$)" . | regexFind "[0-9]+/?$" | trimSuffix "/" | default "443" }}
{{- end }}

{{/* Milliseconds of a duration such as 1h30m5s. */}}
{{- define "dogear.milliseconds" -}}
{{- $total := 0 }}
{{- range $part := regexFindAll "[0-9]+(ms|h|m|s)" (. | default "0s" | toString) -1 }}
{{- $unit := index (dict "h" 3600000 "m" 60000 "s" 1000 "ms" 1) (regexFind "[a-z]+" $part) }}
{{- $total = add $total (mul (regexFind "[0-9]+" $part | int) $unit) }}
{{- end }}
{{- $total }}
{{- end }}

{{- define "dogear.seconds" -}}
{{- div (include "dogear.milliseconds" .) 1000 }}
{{- end }}

{{/* Seconds that the program takes for what is under way when it is told to stop. */}}
{{- define "dogear.gracePeriod" -}}
{{ include "dogear.seconds" (.Values.settings.gracePeriod | default "30s") }}
{{- end }}

{{/* The kinds of sets that the service looks at. */}}
{{- define "dogear.setKinds" -}}
{{- if .Values.namespaced.enabled }}["handlersets"]{{ else }}["clusterhandlersets", "handlersets"]{{ end }}
{{- end }}
