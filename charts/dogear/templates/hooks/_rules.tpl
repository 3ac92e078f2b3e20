{{/* Rules of the roles of hooks. */}}

{{/* uninstall: what it changes in the cluster, or in a namespace of a namespaced installation. */}}
{{- define "dogear.rules.uninstall" -}}
{{- if not .Values.namespaced.enabled }}
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [dogear.dev]
  verbs: [delete]
{{- end }}
- apiGroups: [dogear.dev]
  resources: {{ include "dogear.setKinds" . }}
  verbs: [get, list, patch]
{{- end }}

{{/* uninstall: what it changes in the namespace of the release. */}}
{{- define "dogear.rules.uninstallOwn" -}}
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list]
- apiGroups: [apps]
  resources: [deployments/scale]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [dogear.dev]
  verbs: [get, delete]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [dogear.dev]
  verbs: [get, delete]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: [dogear.dev-webhook, dogear.dev-callback, dogear.dev-callback-tokens]
  verbs: [delete]
{{- end }}

{{/* check: what it reads in the cluster, or in a namespace of a namespaced installation. */}}
{{- define "dogear.rules.check" -}}
{{- if not .Values.namespaced.enabled }}
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [dogear.dev]
  verbs: [get]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [clusterhandlersets.dogear.dev, handlersets.dogear.dev]
  verbs: [get]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews] # asks what the controller may do
  verbs: [create]
{{- else }}
- apiGroups: [authorization.k8s.io]
  resources: [localsubjectaccessreviews] # asks what the controller may do here
  verbs: [create]
{{- end }}
- apiGroups: [dogear.dev]
  resources: {{ include "dogear.setKinds" . }}
  verbs: [get, list]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
{{- if .Values.tests.rbac.create }}
{{- range .Values.rbac.resources }}
- apiGroups: [{{ .group | default "" | quote }}]
  resources: [{{ .resource }}]
  verbs: [list, create] # creates as a dry run
{{- end }}
{{- end }}
{{- end }}

{{/* check: what it reads in the namespace of the release. */}}
{{- define "dogear.rules.checkOwn" -}}
- apiGroups: [apps]
  resources: [deployments]
  verbs: [get, list]
- apiGroups: [""]
  resources: [pods, configmaps, services]
  verbs: [get, list]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list]
{{- end }}

{{/* migrate: it rewrites sets, then tells the CRDs that old versions are gone. */}}
{{- define "dogear.rules.migrate" -}}
- apiGroups: [dogear.dev]
  resources: [clusterhandlersets, handlersets]
  verbs: [get, list, patch]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  resourceNames: [clusterhandlersets.dogear.dev, handlersets.dogear.dev]
  verbs: [get]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions/status]
  resourceNames: [clusterhandlersets.dogear.dev, handlersets.dogear.dev]
  verbs: [patch]
{{- end }}
