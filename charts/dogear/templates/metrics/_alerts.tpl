{{/*
Alerts, one for what a person should look at. Each has a section of its name in
docs/troubleshooting.md. Templates of Prometheus are in backticks.
*/}}
{{- define "dogear.alerts" -}}
{{- $fullname := include "dogear.fullname" . }}
{{- $values := .Values.metrics.prometheusRule }}
{{- $of := printf `job="%s-metrics",namespace="%s"` $fullname .Release.Namespace }}
{{- $controller := printf `%s,pod=~"%s-controller-.*"` $of $fullname }}
{{- $webhook := printf `%s,pod=~"%s-webhook-.*"` $of $fullname -}}
- alert: DogearDown
  expr: absent(up{ {{- $controller -}} } == 1)
  for: 5m
  labels: {severity: critical, component: controller}
  annotations:
    summary: No controller of Dogear runs
    description: Nothing is handled, and objects that are deleted wait for their handlers.
{{- if include "dogear.webhook" . }}
- alert: DogearDown
  expr: absent(up{ {{- $webhook -}} } == 1)
  for: 5m
  labels: {severity: critical, component: webhook}
  annotations:
    summary: No webhook of Dogear runs
    description: >-
      {{ if eq (.Values.webhook.failurePolicy | default "Ignore") "Fail" -}}
      The API server refuses objects that sets select.
      {{- else -}}
      Defaults are not filled in, and annotations are not guarded.
      {{- end }}
{{- end }}
- alert: DogearNoLeader
  expr: sum(leader_election_master_status{ {{- $controller -}} }) < 1
  for: 5m
  labels: {severity: critical}
  annotations:
    summary: No controller of Dogear leads
    description: Controllers run, but none has got the Lease dogear.dev, so nothing is handled.
- alert: DogearBlocked
  expr: max(dogear_blocked{ {{- $controller -}} }) > 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: The state of objects cannot be written
    description: {{ `'{{ $value }} objects are held up: their events Blocked say why.'` }}
- alert: DogearFailed
  expr: |-
    sum by (handler) (dogear_objects{ {{- $controller -}} , state="Failed"})
      > (sum by (handler) (dogear_objects{ {{- $controller -}} , state="Failed"} offset 15m)
        or sum by (handler) (dogear_objects{ {{- $controller -}} , state="Failed"}) * 0)
  labels: {severity: warning}
  annotations:
    summary: A handler has failed for good
    description: {{ `'{{ $labels.handler }} has given up on objects in the last 15 minutes: {{ $value }} are in the state Failed now.'` }}
- alert: DogearOldestPending
  expr: max(dogear_oldest_pending_seconds{ {{- $controller -}} }) > {{ $values.oldestPendingSeconds | default 3600 | int }}
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: An object is not finished
    description: {{ `'The oldest has been unfinished for {{ $value | humanizeDuration }}.'` }}
{{- if include "dogear.webhook" . }}
{{- /* A counter that begins at 1 has not increased in the eyes of Prometheus: what is new counts, too. */}}
{{- $errors := printf `dogear_admission_requests_total{%s, decision="error"}` $webhook }}
- alert: DogearCertificateExpiry
  expr: min by (pod) (dogear_webhook_certificate_expiry_timestamp_seconds{ {{- $webhook -}} }) - time() < 86400
  for: 15m
  labels: {severity: critical}
  annotations:
    summary: The certificate of the webhook expires within a day
    description: {{ `'{{ $labels.pod }} serves a certificate that was not renewed, or none.'` }}
- alert: DogearAdmissionSlow
  expr: histogram_quantile(0.99, sum by (le) (rate(dogear_admission_duration_seconds_bucket{ {{- $webhook -}} }[5m]))) > {{ $values.admissionSeconds | default 0.5 }}
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: The webhook is slow
    description: {{ `'One answer of a hundred takes {{ $value | humanizeDuration }} or longer, and users wait for it.'` }}
- alert: DogearAdmissionBusy
  expr: sum(rate(dogear_admission_requests_total{ {{- $webhook -}} , decision="busy"}[5m])) > 0
  for: 10m
  labels: {severity: warning}
  annotations:
    summary: The webhook has more requests than it can take
    description: {{ `'{{ $value | humanize }} a second are told to come back later.'` }}
- alert: DogearAdmissionError
  expr: |-
    sum by (operation) (increase({{ $errors }}[10m]) > 0
      or ({{ $errors }} unless {{ $errors }} offset 10m)) > 0
  labels: {severity: warning}
  annotations:
    summary: The webhook has let objects pass without all defaults, or without a stamp
    description: {{ `'{{ $value | humanize }} requests to {{ $labels.operation }} in 10 minutes: the log of the webhook says "Admitted without", and why.'` }}
- alert: DogearFailOpen
  expr: sum by (name) (increase(apiserver_admission_webhook_fail_open_count{name=~".+[.]dogear[.]dev"}[10m])) > 0
  labels: {severity: warning}
  annotations:
    summary: API servers have let objects pass without the webhook
    description: {{ `'{{ $value | humanize }} requests to {{ $labels.name }} got no answer in 10 minutes: defaults were not filled in.'` }}
{{- end }}
{{- end }}
