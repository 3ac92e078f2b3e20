{{/* What is allowed and yet a risk: told after each installation and upgrade. */}}
{{- define "dogear.warnings" -}}
{{- $v := .Values }}
{{- $w := list }}
{{- $webhook := include "dogear.webhook" . }}
{{- $replicas := include "dogear.webhookReplicas" . | int }}
{{- $controllers := include "dogear.controllerReplicas" . | int }}
{{- $fail := eq ($v.webhook.failurePolicy | default "Ignore") "Fail" }}
{{- $count := empty $v.webhook.autoscaling.enabled | ternary "webhook.replicas" "webhook.autoscaling.minReplicas" }}
{{- if and $webhook (eq $replicas 0) $fail }}
{{- $w = append $w "webhook.failurePolicy is Fail and webhook.replicas is 0: all writes of objects that sets select are refused until there is a Pod. Set webhook.replicas to 2 or more." }}
{{- else if and $webhook (eq $replicas 0) }}
{{- $w = append $w "webhook.replicas is 0: there is no Pod, so defaults are not filled in, users can change Dogear's annotations, and API servers ask in vain. To have no webhook, set webhook.enabled to false." }}
{{- else if and $webhook $fail (eq $replicas 1) }}
{{- $w = append $w (printf "webhook.failurePolicy is Fail with 1 replica: while its Pod is replaced, users can write no object that sets select. Set %s to 2 or more." $count) }}
{{- else if and $webhook (eq $replicas 1) }}
{{- $w = append $w (printf "%s is 1: while its Pod is replaced, defaults are not filled in." $count) }}
{{- end }}
{{- if and $webhook $fail $v.webhook.hostNetwork }}
{{- $w = append $w "webhook.failurePolicy is Fail on the nodes' network: a Pod stops before its successor starts, so the others must be able to take all requests." }}
{{- end }}
{{- if and $webhook $v.webhook.autoscaling.enabled $v.webhook.autoscaling.targetCPUUtilizationPercentage (not (dig "requests" "cpu" "" ($v.webhook.resources | default dict))) (not (dig "limits" "cpu" "" ($v.webhook.resources | default dict))) }}
{{- $w = append $w "webhook.autoscaling: targetCPUUtilizationPercentage is a share of webhook.resources.requests.cpu, which there is not: by this it never scales. Set the request." }}
{{- end }}
{{- if and (not $webhook) (not $v.namespaced.enabled) }}
{{- $w = append $w "webhook.enabled is false: defaults are not filled in, and users can change Dogear's annotations. If there was a webhook before: kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration dogear.dev" }}
{{- end }}
{{- if $v.namespaced.enabled }}
{{- $w = append $w "namespaced.enabled: there is no webhook, so defaults are not filled in, and ClusterHandlerSets are not looked at." }}
{{- end }}
{{- range $component := list "controller" "webhook" }}
{{- $budget := (index $v $component).podDisruptionBudget }}
{{- $count := eq $component "webhook" | ternary $replicas $controllers }}
{{- if and $budget.enabled (gt $count 1) (or $webhook (eq $component "controller")) }}
{{- if and (include "dogear.given" $budget.minAvailable) (ge (include "dogear.shareOf" (list $budget.minAvailable $count) | int) $count) }}
{{- $w = append $w (printf "%s.podDisruptionBudget.minAvailable is %v of %d replicas: no node with one of them can be drained." $component $budget.minAvailable $count) }}
{{- else if and (include "dogear.given" $budget.maxUnavailable) (eq (include "dogear.shareOf" (list $budget.maxUnavailable $count) | int) 0) }}
{{- $w = append $w (printf "%s.podDisruptionBudget.maxUnavailable is %v: no node with one of its Pods can be drained." $component $budget.maxUnavailable) }}
{{- end }}
{{- end }}
{{- end }}
{{- if eq $controllers 0 }}
{{- $w = append $w "controller.replicas is 0: nothing is handled, and objects with Dogear's finalizer cannot be deleted." }}
{{- end }}
{{- if and $v.rbac.allEndpointSecrets $v.namespaced.enabled }}
{{- $w = append $w (printf "rbac.allEndpointSecrets: the controller may read every Secret in %s. rbac.endpointSecrets names those that it needs." (include "dogear.namespaces" . | fromYamlArray | join ", ")) }}
{{- else if $v.rbac.allEndpointSecrets }}
{{- $w = append $w "rbac.allEndpointSecrets: the controller may read every Secret of the cluster. rbac.endpointSecrets names those that it needs." }}
{{- end }}
{{- if $v.settings.allowSecrets }}
{{- $w = append $w "settings.allowSecrets: who may write sets may have Secrets sent to endpoints, with their values if the set asks for them." }}
{{- end }}
{{- if $v.settings.allowLoopback }}
{{- $w = append $w "settings.allowLoopback: URLs of sets may lead to the Pod's own host. It is for tests." }}
{{- end }}
{{- if and $v.settings.urlPrefixes (not $v.settings.deniedNetworks) }}
{{- $w = append $w "settings.urlPrefixes without settings.deniedNetworks: name the addresses of the API server's machines there, so that no URL leads to them." }}
{{- end }}
{{- if and $v.crds.enabled (not $v.crds.keep) }}
{{- $w = append $w "crds.keep is false: helm uninstall deletes the CRDs, and with them all sets of the cluster." }}
{{- end }}
{{- if not $v.uninstall.enabled }}
{{- $w = append $w "uninstall.enabled is false: before helm uninstall run `dogear uninstall`, else objects with Dogear's finalizer get stuck." }}
{{- end }}
{{- if $v.uninstall.keepState }}
{{- $w = append $w "uninstall.keepState: after helm uninstall, objects with Dogear's finalizer cannot be deleted until an installation goes on, or `dogear uninstall` releases them." }}
{{- end }}
{{- if and $v.metrics.prometheusRule.enabled (not (or $v.metrics.serviceMonitor.enabled $v.metrics.podMonitor.enabled)) }}
{{- $w = append $w (printf "metrics.prometheusRule without metrics.serviceMonitor or metrics.podMonitor: the alerts are on the job %s-metrics of namespace %s, and DogearDown fires for good if nobody else scrapes the Pods by this name." (include "dogear.fullname" .) .Release.Namespace) }}
{{- end }}
{{- if not $v.rbac.create }}
{{- $w = append $w "rbac.create is false: roles and bindings must be there already, those of the hooks included." }}
{{- end }}
{{- toJson $w }}
{{- end }}
