{{/* Pods: how many, their ports and networks, and how they are replaced. */}}

{{- define "dogear.guard.pods" -}}
{{- $v := .Values }}
{{- $p := list }}
{{- range $component := list "controller" "webhook" }}
{{- $budget := (index $v $component).podDisruptionBudget }}
{{- if and (include "dogear.given" $budget.minAvailable) (include "dogear.given" $budget.maxUnavailable) }}
{{- $p = append $p (printf "%s.podDisruptionBudget: minAvailable and maxUnavailable are set: set one of them" $component) }}
{{- end }}
{{- end }}
{{- range $component := list "controller" "webhook" "hooks" }}
{{- with index $v $component }}
{{- if and (eq (.dnsPolicy | default "") "None") (not (dig "nameservers" "" (.dnsConfig | default dict))) }}
{{- $p = append $p (printf "%s.dnsPolicy: with None names are looked up nowhere: set %s.dnsConfig.nameservers" $component $component) }}
{{- end }}
{{- end }}
{{- end }}
{{- $scaling := $v.webhook.autoscaling }}
{{- if $scaling.enabled }}
{{- if gt ($scaling.minReplicas | default 1 | int) ($scaling.maxReplicas | default 6 | int) }}
{{- $p = append $p (printf "webhook.autoscaling.minReplicas: %d is more than maxReplicas, which is %d" ($scaling.minReplicas | default 1 | int) ($scaling.maxReplicas | default 6 | int)) }}
{{- end }}
{{- if not (or $scaling.targetCPUUtilizationPercentage $scaling.metrics) }}
{{- $p = append $p "webhook.autoscaling: nothing to scale by: set targetCPUUtilizationPercentage or metrics" }}
{{- end }}
{{- end }}
{{- /* Ports of one Pod. Two Pods share none: of the components, the webhook alone may be on the nodes' network. */}}
{{- $common := list (list "metrics.port" ($v.metrics.port | default 8080)) (list "healthPort" ($v.healthPort | default 8081)) }}
{{- $pods := list $common }}
{{- if $v.callback.enabled }}
{{- $pods = append $pods (append $common (list "callback.port" ($v.callback.port | default 9444))) }}
{{- end }}
{{- if include "dogear.webhook" . }}
{{- $pods = append $pods (append $common (list "webhook.port" ($v.webhook.port | default 9443))) }}
{{- end }}
{{- if and (include "dogear.webhook" .) $v.webhook.hostNetwork }}
{{- if eq ($v.hostUsers | toString) "false" }}
{{- $p = append $p "hostUsers: Pods on the nodes' network, which webhook.hostNetwork has, cannot have user IDs of their own: set one of them otherwise" }}
{{- end }}
{{- range append $common (list "webhook.port" ($v.webhook.port | default 9443)) }}
{{- if eq (index . 1 | int) 10250 }}
{{- $p = append $p (printf "%s: on the nodes' network, which webhook.hostNetwork has, 10250 is the kubelet's: set another one" (index . 0)) }}
{{- end }}
{{- end }}
{{- end }}
{{- range $pods }}
{{- $ports := dict }}
{{- range . }}
{{- $port := index . 1 | int | toString }}
{{- if hasKey $ports $port }}
{{- $p = append $p (printf "%s: %s is %s, too: give each a port of its own" (index . 0) $port (get $ports $port)) }}
{{- end }}
{{- $_ := set $ports $port (index . 0) }}
{{- end }}
{{- end }}
{{- range $component := list "controller" "webhook" }}
{{- $strategy := (index $v $component).strategy | default dict }}
{{- if and (eq ($strategy.type | default "RollingUpdate") "Recreate") $strategy.rollingUpdate }}
{{- $p = append $p (printf "%s.strategy.rollingUpdate: the type is Recreate: take one of them away" $component) }}
{{- end }}
{{- $rolling := $strategy.rollingUpdate | default dict }}
{{- $no := list "0" "0%" }}
{{- if and (has ($rolling.maxSurge | toString) $no) (has ($rolling.maxUnavailable | toString) $no) }}
{{- $p = append $p (printf "%s.strategy.rollingUpdate: with maxSurge and maxUnavailable 0 no Pod can be replaced: set one of them to 1 or more" $component) }}
{{- end }}
{{- end }}
{{- toJson (uniq $p) }}
{{- end }}
