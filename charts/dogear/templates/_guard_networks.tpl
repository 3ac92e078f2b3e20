{{/* Networks in values: those of endpoints, as config/validate.go has it, and those of NetworkPolicies and Services. */}}

{{- define "dogear.guard.networks" -}}
{{- $s := .Values.settings }}
{{- $p := list }}
{{- range $name := list "allowedNetworks" "deniedNetworks" }}
{{- range $network := index $s $name }}
{{- if not (or (include "dogear.isAddress" $network) (include "dogear.isCIDR" $network)) }}
{{- $p = append $p (printf "settings.%s: %q: want a network such as 10.1.0.0/16, or an address" $name $network) }}
{{- else if include "dogear.bitsBehind" $network }}
{{- $p = append $p (printf "settings.%s: %q: there are bits behind the prefix" $name $network) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $service := dict "webhook" .Values.webhook.service "callback" .Values.callback.service }}
{{- $type := $service.type | default "ClusterIP" }}
{{- range $field := list "loadBalancerClass" "loadBalancerSourceRanges" }}
{{- if and (index $service $field) (ne $type "LoadBalancer") }}
{{- $p = append $p (printf "%s.service.%s: the type is %s: set %s.service.type to LoadBalancer, or take it away" $name $field $type $name) }}
{{- end }}
{{- end }}
{{- range $field := list "nodePort" "externalTrafficPolicy" }}
{{- if and (index $service $field) (eq $type "ClusterIP") }}
{{- $p = append $p (printf "%s.service.%s: the type is ClusterIP: set %s.service.type to NodePort or LoadBalancer, or take it away" $name $field $name) }}
{{- end }}
{{- end }}
{{- range $service.loadBalancerSourceRanges }}
{{- if not (include "dogear.isCIDR" .) }}
{{- $p = append $p (printf "%s.service.loadBalancerSourceRanges: %q: want a network such as 10.0.0.0/16; a single address is 10.0.0.1/32" $name .) }}
{{- end }}
{{- end }}
{{- end }}
{{- range .Values.networkPolicy.apiServer.cidrs }}
{{- if not (include "dogear.isCIDR" .) }}
{{- $p = append $p (printf "networkPolicy.apiServer.cidrs: %q: want a network such as 10.0.0.0/16; a single address is 10.0.0.1/32" .) }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}

{{/* IPv4, or what looks like IPv6. */}}
{{- define "dogear.isAddress" -}}
{{- $byte := "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])" }}
{{- if or (regexMatch (printf "^(%s\\.){3}%s$" $byte $byte) .) (regexMatch "^[0-9a-fA-F]{0,4}:[0-9a-fA-F:]*:([0-9a-fA-F]{0,4}|[0-9.]+)$" .) }}true{{ end }}
{{- end }}

{{- define "dogear.isCIDR" -}}
{{- $address := regexReplaceAll "/[0-9]+$" . "" }}
{{- $length := trimPrefix "/" (regexFind "/[0-9]+$" .) }}
{{- $most := contains ":" $address | ternary "^(12[0-8]|1[01][0-9]|[1-9]?[0-9])$" "^(3[0-2]|[12]?[0-9])$" }}
{{- if and (include "dogear.isAddress" $address) (regexMatch $most $length) }}true{{ end }}
{{- end }}

{{/* Whether an IPv4 network such as 10.1.2.3/16 has bits behind its prefix. */}}
{{- define "dogear.bitsBehind" -}}
{{- if and (contains "/" .) (not (contains ":" .)) }}
{{- $parts := splitList "/" . }}
{{- $number := 0 }}
{{- range splitList "." (index $parts 0) }}
{{- $number = add (mul $number 256) (int64 .) }}
{{- end }}
{{- $hosts := 1 }}
{{- range until (sub 32 (index $parts 1 | int) | int) }}
{{- $hosts = mul $hosts 2 }}
{{- end }}
{{- if mod $number $hosts }}true{{ end }}
{{- end }}
{{- end }}
