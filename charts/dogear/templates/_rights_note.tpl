{{/* What the notes say of rights: those that the controller has, and how it gets others. */}}
{{- define "dogear.rightsNote" -}}
{{- $v := .Values }}
{{- if not $v.rbac.create }}
Have the roles made that rbac.create=false leaves out; what they must be:
helm template {{ .Release.Name }} oci://ghcr.io/dogear-dev/charts/dogear --version {{ .Chart.Version }} -n {{ .Release.Namespace }} -f values.yaml --set rbac.create=true
{{- else }}
{{- $names := list }}
{{- range $v.rbac.resources }}
{{- $names = append $names (list .resource .group | compact | join ".") }}
{{- end }}
{{- if $names }}
The controller may handle {{ join ", " $names }}. To give it rights for another RESOURCE:
{{- else }}
Give the controller rights for the resource that handlers are for, such as certificates.cert-manager.io:
{{- end }}
{{- $resource := empty $names | ternary "certificates.cert-manager.io" "RESOURCE" }}
{{- if $v.namespaced.enabled }}
{{- $account := printf "%s/%s" .Release.Namespace (include "dogear.account" (dict "root" . "component" "controller")) }}
{{- if or $v.controller.serviceAccount.name $v.hooks.serviceAccount.uninstall }}
{{- $account = printf "%s,%s/%s" $account .Release.Namespace (include "dogear.account" (dict "root" . "component" "uninstall")) }}
{{- end }}
{{- range include "dogear.namespaces" . | fromYamlArray }}
dogear rbac {{ $resource }} --namespace-role={{ . }} --service-account={{ $account }} | kubectl apply -f -
{{- end }}
{{- else }}
dogear rbac {{ $resource }} | kubectl apply -f -
{{- end }}
{{- if not $v.rbac.allEndpointSecrets }}
{{- if $v.rbac.endpointSecrets }}
Secrets that sets refer to are those of rbac.endpointSecrets.
{{- else }}
Secrets that sets refer to, such as signing keys, must be named in rbac.endpointSecrets.
{{- end }}
{{- end }}
{{- end }}
{{- end }}
