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

{{- define "dogear.guard.rights" -}}
{{- $v := .Values }}
{{- $p := list }}
{{- if not $v.rbac.create }}
{{- range $name := list "resources" "endpointServices" "endpointSecrets" "allEndpointSecrets" }}
{{- if index $v.rbac $name }}
{{- $p = append $p (printf "rbac.%s: rbac.create is false, so no role is made of it: set that to true, or take this away" $name) }}
{{- end }}
{{- end }}
{{- end }}
{{- /* One account for two would have the rights of both. */}}
{{- $accounts := dict }}
{{- range $component := list "controller" "webhook" "uninstall" "check" "migrate" }}
{{- $account := include "dogear.account" (dict "root" $ "component" $component) }}
{{- $value := printf "hooks.serviceAccount.%s" $component }}
{{- if has $component (list "controller" "webhook") }}{{ $value = printf "%s.serviceAccount.name" $component }}{{ end }}
{{- if hasKey $accounts $account }}
{{- $p = append $p (printf "%s: %s is %s, too, and would have the rights of both: give each a name of its own" $value $account (get $accounts $account)) }}
{{- end }}
{{- $_ := set $accounts $account $value }}
{{- end }}
{{- $allowed := include "dogear.namespaces" . | fromYamlArray }}
{{- range $list := list "endpointServices" "endpointSecrets" }}
{{- $seen := list }}
{{- range index $v.rbac $list }}
{{- if has .namespace $seen }}
{{- $p = append $p (printf "rbac.%s: namespace %q is there twice: put its names into one entry" $list .namespace) }}
{{- end }}
{{- $seen = append $seen .namespace }}
{{- if and $v.namespaced.enabled (not (has .namespace $allowed)) }}
{{- $p = append $p (printf "rbac.%s: namespace %q is none of namespaced.namespaces (%s): sets can name nothing there" $list .namespace (join ", " $allowed)) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and $v.rbac.allEndpointServices $v.rbac.endpointServices }}
{{- $p = append $p "rbac.endpointServices: rbac.allEndpointServices has all of them: set that to false, or take this away" }}
{{- end }}
{{- if and $v.rbac.allEndpointSecrets $v.rbac.endpointSecrets }}
{{- $p = append $p "rbac.endpointSecrets: rbac.allEndpointSecrets has all of them: set that to false, or take this away" }}
{{- end }}
{{- $seen := list }}
{{- range $v.rbac.resources }}
{{- $name := list .resource .group | compact | join "." }}
{{- if has $name $seen }}
{{- $p = append $p (printf "rbac.resources: %s is there twice: take one away" $name) }}
{{- end }}
{{- $seen = append $seen $name }}
{{- if include "dogear.forbidden" . }}
{{- $p = append $p (printf "rbac.resources: no set may handle %s, so the controller needs no rights for them: take them away" $name) }}
{{- end }}
{{- if and (eq $name "secrets") (not $v.settings.allowSecrets) }}
{{- $p = append $p "rbac.resources: sets may not handle secrets: set settings.allowSecrets to true, or take them away" }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}

{{/* Whether a resource is one that no set may name: v1alpha1.Forbidden says why. */}}
{{- define "dogear.forbidden" -}}
{{- $groups := list "dogear.dev" "coordination.k8s.io" "events.k8s.io" "authentication.k8s.io" "authorization.k8s.io" "rbac.authorization.k8s.io" "admissionregistration.k8s.io" }}
{{- $core := list "events" "bindings" "componentstatuses" }}
{{- $group := .group | default "" }}
{{- if or (has $group $groups) (and (eq $group "") (has .resource $core)) (and (hasSuffix "reviews" .resource) (hasSuffix ".k8s.io" $group)) }}true{{ end }}
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

{{- define "dogear.guard.others" -}}
{{- $v := .Values }}
{{- $p := list }}
{{- if and $v.uninstall.keepState $v.uninstall.removeMarkers }}
{{- $p = append $p "uninstall.removeMarkers: uninstall.keepState leaves all state on objects: set one of them to false" }}
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
