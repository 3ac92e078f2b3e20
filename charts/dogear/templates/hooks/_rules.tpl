{{/* Rules of the roles of hooks. */}}

{{/* uninstall: what it changes in the cluster, or in a namespace of a namespaced installation. */}}
{{- define "dogear.rules.uninstall" -}}
{{- if not .Values.namespaced.enabled }}
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [dogear.dev]
  verbs: [get, delete]
{{- end }}
- apiGroups: [dogear.dev]
  resources: {{ include "dogear.setKinds" . }}
  verbs: [get, list, patch]
- apiGroups: [dogear.dev]
  resources: # says in sets that nothing puts them in force any more
  {{- range include "dogear.setKinds" . | fromJsonArray }}
  - {{ . }}/status
  {{- end }}
  verbs: [patch]
{{- end }}

{{/* uninstall: what it reads and changes in the namespace of the release. */}}
{{- define "dogear.rules.uninstallOwn" -}}
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list]
- apiGroups: [apps]
  resources: [deployments/scale]
  resourceNames: [{{ include "dogear.fullname" . }}-controller, {{ include "dogear.fullname" . }}-webhook]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [dogear.dev]
  verbs: [get, delete]
{{- if .Values.namespaced.enabled }}
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [{{ include "dogear.fullname" . }}-settings] # they name the namespaces
  verbs: [get]
{{- end }}
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
- apiGroups: [""]
  resources: [namespaces] # which ones sets select
  verbs: [list]
{{- else }}
- apiGroups: [authorization.k8s.io]
  resources: [localsubjectaccessreviews] # asks what the controller may do here
  verbs: [create]
{{- end }}
- apiGroups: [dogear.dev]
  resources: {{ include "dogear.setKinds" . }}
  verbs: [list]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [list]
{{- if .Values.tests.rbac.create }}
{{- range .Values.rbac.resources }}
- apiGroups: [{{ .group | default "" | quote }}]
  resources: [{{ .resource | quote }}]
  verbs: [list, create] # creates as a dry run
{{- end }}
{{- end }}
{{- end }}

{{/* check: what it reads in the namespace of the release. */}}
{{- define "dogear.rules.checkOwn" -}}
{{- $fullname := include "dogear.fullname" . }}
- apiGroups: [apps]
  resources: [deployments]
  verbs: [list]
- apiGroups: [""]
  resources: [pods]
  verbs: [list]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [dogear.dev, {{ $fullname }}-settings]
  verbs: [get]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [dogear.dev]
  verbs: [get]
{{- if include "dogear.webhook" . }}
- apiGroups: [""]
  resources: [services]
  resourceNames: [{{ $fullname }}-webhook]
  verbs: [get]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [list]
- apiGroups: [dogear.dev]
  resources: [handlersets] # a wrong one, as a dry run: the webhook must refuse it
  verbs: [create]
{{- end }}
{{- if .Values.namespaced.enabled }}
- apiGroups: [authorization.k8s.io]
  resources: [localsubjectaccessreviews] # asks what the controller may do here
  verbs: [create]
{{- end }}
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
