{{/*
What the schema of values cannot say: values that contradict each other. All of them
are told at once, each with its name and what to do.
*/}}
{{- define "dogear.guard" -}}
{{- $problems := concat
  (include "dogear.guard.scope" . | fromJsonArray)
  (include "dogear.guard.rights" . | fromJsonArray)
  (include "dogear.guard.certificate" . | fromJsonArray)
  (include "dogear.guard.pods" . | fromJsonArray)
  (include "dogear.guard.durations" . | fromJsonArray)
  (include "dogear.guard.settings" . | fromJsonArray)
  (include "dogear.guard.networks" . | fromJsonArray)
  (include "dogear.guard.others" . | fromJsonArray) }}
{{- with $problems }}
{{- fail (printf "these values cannot be:\n- %s" (join "\n- " .)) }}
{{- end }}
{{- end }}

{{- define "dogear.guard.scope" -}}
{{- $v := .Values }}
{{- $p := list }}
{{- $name := include "dogear.fullname" . }}
{{- if not (regexMatch "^[a-z]([-a-z0-9]*[a-z0-9])?$" $name) }}
{{- $p = append $p (printf "fullnameOverride: Services cannot be called %q: give a name that begins with a letter and has small letters, digits and - only" $name) }}
{{- end }}
{{- if $v.namespaced.enabled }}
{{- if eq ($v.webhook.enabled | toString) "true" }}
{{- $p = append $p "webhook.enabled: a namespaced installation has no webhook, whose configuration is for the whole cluster: leave it at auto, or set namespaced.enabled to false" }}
{{- end }}
{{- if $v.crds.migrate }}
{{- $p = append $p "crds.migrate: it needs rights for the whole cluster, which a namespaced installation has not: run `dogear migrate` yourself" }}
{{- end }}
{{- else if $v.namespaced.namespaces }}
{{- $p = append $p "namespaced.namespaces: it counts in a namespaced installation only: set namespaced.enabled to true, or take it away" }}
{{- end }}
{{- if not (include "dogear.webhook" .) }}
{{- $why := empty $v.namespaced.enabled | ternary "webhook.enabled is false" "a namespaced installation has no webhook" }}
{{- if eq ($v.webhook.failurePolicy | default "Ignore") "Fail" }}
{{- $p = append $p (printf "webhook.failurePolicy: %s, so nothing is refused: take Fail away" $why) }}
{{- end }}
{{- if $v.webhook.autoscaling.enabled }}
{{- $p = append $p (printf "webhook.autoscaling.enabled: %s, so there is nothing to scale: set this to false" $why) }}
{{- end }}
{{- if ne (include "dogear.certificate" .) "builtin" }}
{{- $p = append $p (printf "webhook.certificate.mode: %s, so it needs no certificate: take the mode away" $why) }}
{{- end }}
{{- end }}
{{- if and $v.namespaced.enabled $v.flowControl.enabled }}
{{- $p = append $p "flowControl.enabled: what it makes is of the whole cluster, in which a namespaced installation has no rights: set it to false" }}
{{- end }}
{{- toJson $p }}
{{- end }}

{{- define "dogear.guard.certificate" -}}
{{- $certificate := .Values.webhook.certificate }}
{{- $mode := include "dogear.certificate" . }}
{{- $p := list }}
{{- if and (eq $mode "secret") (not $certificate.secretName) }}
{{- $p = append $p "webhook.certificate.secretName: mode secret needs it: name a Secret with tls.crt, tls.key and ca.crt (or set caBundle)" }}
{{- end }}
{{- if and (eq $mode "builtin") $certificate.secretName }}
{{- $p = append $p "webhook.certificate.secretName: mode builtin makes its own: set webhook.certificate.mode to secret or cert-manager, or take it away" }}
{{- end }}
{{- if $certificate.caBundle }}
{{- if ne $mode "secret" }}
{{- $p = append $p (printf "webhook.certificate.caBundle: it is for mode secret, and the mode is %s: take it away" $mode) }}
{{- else if not (contains "-----BEGIN CERTIFICATE-----" $certificate.caBundle) }}
{{- $p = append $p "webhook.certificate.caBundle: no certificate is in it: give PEM, which begins with -----BEGIN CERTIFICATE-----" }}
{{- end }}
{{- end }}
{{- if and $certificate.issuerRef.name (ne $mode "cert-manager") }}
{{- $p = append $p (printf "webhook.certificate.issuerRef: it is for mode cert-manager, and the mode is %s: take it away" $mode) }}
{{- end }}
{{- if and (eq $mode "cert-manager") $certificate.duration $certificate.renewBefore }}
{{- if le (include "dogear.seconds" $certificate.duration | int64) (include "dogear.seconds" $certificate.renewBefore | int64) }}
{{- $p = append $p (printf "webhook.certificate.renewBefore: %s is not less than webhook.certificate.duration, which is %s: renew later" $certificate.renewBefore $certificate.duration) }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}

{{- define "dogear.guard.others" -}}
{{- $v := .Values }}
{{- $p := list }}
{{- if and $v.uninstall.keepState $v.uninstall.removeMarkers }}
{{- $p = append $p "uninstall.removeMarkers: uninstall.keepState leaves all state on objects: set one of them to false" }}
{{- end }}
{{- if and $v.uninstall.keepState $v.crds.enabled (not $v.crds.keep) }}
{{- $p = append $p "uninstall.keepState: crds.keep is false, so the sets, whose state this leaves on objects, would be deleted with their CRDs: set crds.keep to true, or this to false" }}
{{- end }}
{{- if not $v.uninstall.enabled }}
{{- range $name, $flag := dict "keepState" "--keep-state" "removeMarkers" "--remove-markers" }}
{{- if index $v.uninstall $name }}
{{- $p = append $p (printf "uninstall.%s: uninstall.enabled is false, so there is no Job to do it: set that to true, or take this away and run `dogear uninstall %s`" $name $flag) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (not $v.callback.enabled) (or $v.callback.url $v.callback.certificate.secretName) }}
{{- $p = append $p "callback.enabled: it is false, though callback.url or callback.certificate.secretName is set: set it to true, or take them away" }}
{{- end }}
{{- if and $v.metrics.serviceMonitor.enabled (not $v.metrics.service.enabled) }}
{{- $p = append $p "metrics.serviceMonitor.enabled: it needs the Service: set metrics.service.enabled to true" }}
{{- end }}
{{- if and $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled }}
{{- $p = append $p "metrics.podMonitor.enabled: metrics.serviceMonitor has the same Pods scraped, and all would be counted twice: set one of them to false" }}
{{- end }}
{{- range $name := list "serviceMonitor" "podMonitor" }}
{{- with index $v.metrics $name }}
{{- if and .interval .scrapeTimeout (gt (include "dogear.milliseconds" .scrapeTimeout | int64) (include "dogear.milliseconds" .interval | int64)) }}
{{- $p = append $p (printf "metrics.%s.scrapeTimeout: %s is more than the interval, which is %s" $name .scrapeTimeout .interval) }}
{{- end }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}
