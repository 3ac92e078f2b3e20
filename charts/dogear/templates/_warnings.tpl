{{/* What is allowed and yet a risk: told after each installation and upgrade. */}}
{{- define "dogear.warnings" -}}
{{- $v := .Values }}
{{- $w := list }}
{{- $webhook := include "dogear.webhook" . }}
{{- $replicas := include "dogear.webhookReplicas" . | int }}
{{- if and $webhook (eq ($v.webhook.failurePolicy | default "Ignore") "Fail") (lt $replicas 2) }}
{{- $w = append $w (printf "webhook.failurePolicy is Fail with %d replica: while its Pod is replaced, users can write no object that sets select. Set webhook.replicas to 2 or more." $replicas) }}
{{- else if and $webhook (lt $replicas 2) }}
{{- $w = append $w (printf "webhook.replicas is %d: while its Pod is replaced, defaults are not filled in." $replicas) }}
{{- end }}
{{- if and $webhook (eq ($v.webhook.failurePolicy | default "Ignore") "Fail") $v.webhook.hostNetwork }}
{{- $w = append $w "webhook.failurePolicy is Fail on the nodes' network: a Pod stops before its successor starts, so the others must be able to take all requests." }}
{{- end }}
{{- if and (not $webhook) (not $v.namespaced.enabled) }}
{{- $w = append $w "webhook.enabled is false: defaults are not filled in, and users can change Dogear's annotations. If there was a webhook before: kubectl delete mutatingwebhookconfiguration,validatingwebhookconfiguration dogear.dev" }}
{{- end }}
{{- if $v.namespaced.enabled }}
{{- $w = append $w "namespaced.enabled: there is no webhook, so defaults are not filled in, and ClusterHandlerSets are not looked at." }}
{{- end }}
{{- range $component := list "controller" "webhook" }}
{{- $values := index $v $component }}
{{- $count := eq $component "webhook" | ternary $replicas ($values.replicas | default 0 | int) }}
{{- if and $values.podDisruptionBudget.enabled (gt $count 1) (regexMatch "^[0-9]+$" ($values.podDisruptionBudget.minAvailable | toString)) (ge ($values.podDisruptionBudget.minAvailable | int) $count) }}
{{- $w = append $w (printf "%s.podDisruptionBudget.minAvailable is %v of %d replicas: no node with one of them can be drained." $component $values.podDisruptionBudget.minAvailable $count) }}
{{- end }}
{{- end }}
{{- if eq ($v.controller.replicas | default 0 | int) 0 }}
{{- $w = append $w "controller.replicas is 0: nothing is handled, and objects with Dogear's finalizer cannot be deleted." }}
{{- end }}
{{- if $v.rbac.allEndpointSecrets }}
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
{{- if not $v.rbac.create }}
{{- $w = append $w "rbac.create is false: roles and bindings must be there already, those of the hooks included." }}
{{- end }}
{{- toJson $w }}
{{- end }}
