{{/* Rights, and whose they are. */}}

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
{{- with include "dogear.misnamed" . }}
{{- $p = append $p (printf "rbac.resources: %s" .) }}
{{- end }}
{{- if include "dogear.forbidden" . }}
{{- $p = append $p (printf "rbac.resources: no set may handle %s, so the controller needs no rights for them: take them away" $name) }}
{{- end }}
{{- if and (eq $name "secrets") (not $v.settings.allowSecrets) }}
{{- $p = append $p "rbac.resources: sets may not handle secrets: set settings.allowSecrets to true, or take them away" }}
{{- end }}
{{- end }}
{{- toJson $p }}
{{- end }}

{{/* What is wrong with the name of a resource: the API server takes it, and gives rights for nothing. */}}
{{- define "dogear.misnamed" -}}
{{- $group := .group | default "" }}
{{- $parts := splitn "." 2 .resource }}
{{- $core := list "configmaps" "endpoints" "limitranges" "namespaces" "nodes" "persistentvolumeclaims" "persistentvolumes" "pods" "podtemplates" "replicationcontrollers" "resourcequotas" "secrets" "serviceaccounts" "services" }}
{{- if hasSuffix "/status" .resource }}
{{- printf "%q: write resource: %s, status: true" .resource (trimSuffix "/status" .resource) }}
{{- else if contains "/" .resource }}
{{- printf "%q: sets handle whole objects: write resource: %s" .resource (splitList "/" .resource | first) }}
{{- else if contains "/" $group }}
{{- printf "group %q has a version in it: write group: %s" $group (splitList "/" $group | first) }}
{{- else if and $parts._1 (ne $parts._1 "core") }}
{{- printf "%q has its group in it: write group: %s, resource: %s" .resource $parts._1 $parts._0 }}
{{- else if or $parts._1 (has $group (list "core" "v1")) }}
{{- printf "the core group has no name: write resource: %s, without a group" $parts._0 }}
{{- else if and (kindIs "invalid" .group) (not (has .resource $core)) (not (include "dogear.forbidden" .)) }}
{{- printf "%s is not in the core group: say its group, such as group: cert-manager.io, or group: \"\" if it is" .resource }}
{{- end }}
{{- end }}

{{/* Whether a resource is one that no set may name: v1alpha1.Forbidden says why. */}}
{{- define "dogear.forbidden" -}}
{{- $groups := list "dogear.dev" "coordination.k8s.io" "events.k8s.io" "authentication.k8s.io" "authorization.k8s.io" "rbac.authorization.k8s.io" "admissionregistration.k8s.io" }}
{{- $core := list "events" "bindings" "componentstatuses" }}
{{- $group := .group | default "" }}
{{- if or (has $group $groups) (and (eq $group "") (has .resource $core)) (and (hasSuffix "reviews" .resource) (hasSuffix ".k8s.io" $group)) }}true{{ end }}
{{- end }}
