{{/*
What `dogear run` refuses of its settings, told before a Pod does. The rules are
those of config/validate.go.
*/}}

{{/* Durations between bounds, in seconds; 0 as the upper one is none. */}}
{{- define "dogear.guard.durations" -}}
{{- $v := .Values }}
{{- $p := list }}
{{- $bounds := list
  (list "settings.gracePeriod" $v.settings.gracePeriod 0 3600)
  (list "settings.retryPeriod" $v.settings.retryPeriod 1 60)
  (list "settings.leaseDuration" $v.settings.leaseDuration 1 3600)
  (list "webhook.timeout" $v.webhook.timeout 1 30)
  (list "webhook.lameDuck" $v.webhook.lameDuck 0 60)
  (list "uninstall.timeout" $v.uninstall.timeout 1 0)
  (list "tests.timeout" $v.tests.timeout 1 0) }}
{{- if eq (include "dogear.certificate" .) "cert-manager" }}
{{- $bounds = concat $bounds (list
  (list "webhook.certificate.duration" $v.webhook.certificate.duration 3600 0)
  (list "webhook.certificate.renewBefore" $v.webhook.certificate.renewBefore 300 0)) }}
{{- end }}
{{- range $bounds }}
{{- $text := index . 1 }}
{{- $seconds := include "dogear.seconds" $text | int64 }}
{{- $least := index . 2 | int64 }}
{{- $most := index . 3 | int64 }}
{{- if kindIs "invalid" $text }}
{{- else if and $most (or (lt $seconds $least) (gt $seconds $most)) }}
{{- $p = append $p (printf "%s: %s: want %ds to %ds" (index . 0) $text $least $most) }}
{{- else if lt $seconds $least }}
{{- $p = append $p (printf "%s: %s: want at least %ds" (index . 0) $text $least) }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}

{{/* Whether a URL is https with a host, and a port if it has one, without user, query and fragment. */}}
{{- define "dogear.isURL" -}}
{{- if regexMatch "^https://(\\[[0-9a-fA-F:.]+\\]|[^][/?#@:\\\\%\\s]+)(:[0-9]{1,5})?(/[^?#\\s]*)?$" . }}
{{- $port := include "dogear.portOf" . | int }}
{{- if and (ge $port 1) (le $port 65535) }}true{{ end }}
{{- end }}
{{- end }}

{{- define "dogear.guard.settings" -}}
{{- $s := .Values.settings }}
{{- $p := list }}
{{- $lease := include "dogear.seconds" ($s.leaseDuration | default "15s") | int64 }}
{{- $renew := include "dogear.seconds" ($s.renewDeadline | default "10s") | int64 }}
{{- $retry := include "dogear.seconds" ($s.retryPeriod | default "2s") | int64 }}
{{- if le $lease $renew }}
{{- $p = append $p (printf "settings.leaseDuration: %ds is not more than settings.renewDeadline, which is %ds" $lease $renew) }}
{{- end }}
{{- if le (mul $renew 10) (mul $retry 12) }}
{{- $p = append $p (printf "settings.renewDeadline: %ds is not more than 1.2 times settings.retryPeriod, which is %ds" $renew $retry) }}
{{- end }}
{{- if gt ($s.budget.payload | default 16384 | int) ($s.budget.marker | default 65536 | int) }}
{{- $p = append $p (printf "settings.budget.payload: %d bytes are more than settings.budget.marker, which is %d" ($s.budget.payload | default 16384 | int) ($s.budget.marker | default 65536 | int)) }}
{{- end }}
{{- range $name, $url := dict "webhook.url" .Values.webhook.url "callback.url" .Values.callback.url }}
{{- if and $url (not (include "dogear.isURL" $url)) }}
{{- /* It is not repeated, as there may be a password in it. */}}
{{- $p = append $p (printf "%s: want https://host:port%s, without user, query and fragment" $name (eq $name "callback.url" | ternary "/path" "")) }}
{{- end }}
{{- end }}
{{- range $s.ignoreAnnotations }}
{{- if not (regexMatch "^[^*]+\\*?$" .) }}
{{- $p = append $p (printf "settings.ignoreAnnotations: %q: want a whole key, or a prefix that ends in *" .) }}
{{- end }}
{{- end }}
{{- range $s.namespacedResources }}
{{- if has . (list "*" "*." "/*") }}
{{- $p = append $p (printf "settings.namespacedResources: %q: resources of the core group must be named one by one; *.* is all of the other groups" .) }}
{{- else if ne . (lower .) }}
{{- $p = append $p (printf "settings.namespacedResources: %q: names of resources and groups have no capitals: want %q" . (lower .)) }}
{{- else if not (or (regexMatch "^(\\*|[^*/. ]+)(\\.(\\*|[^*/ ]*))?$" .) (regexMatch "^(\\*|[^*/ ]*)/(\\*|[^*/. ]+)$" .)) }}
{{- $p = append $p (printf "settings.namespacedResources: %q: want a resource such as certificates.cert-manager.io or cert-manager.io/certificates, with * for a whole name only" .) }}
{{- end }}
{{- end }}
{{- range $s.urlPrefixes }}
{{- if not (regexMatch "^https://(\\[[0-9a-fA-F:.]+\\]|[^]\\[/?#@:\\\\%\\s]+)(:[0-9]+)?(/[^/?#\\\\\\s]+)*/?$" .) }}
{{- $p = append $p (printf "settings.urlPrefixes: %q: want https://host, or https://host:port/path, without user, query and fragment" .) }}
{{- else if regexMatch "(?i)/(\\.|%2e){1,2}(/|$)|%2f|%5c|%([^0-9a-f]|.[^0-9a-f]|.?$)" . }}
{{- $p = append $p (printf "settings.urlPrefixes: %q: a segment of its path is a dot or two, or has an escaped slash or a wrong escape in it" .) }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}
