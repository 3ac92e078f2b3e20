{{/* Rules of roles: the rights that docs/service.md tells, and no "*". */}}

{{/* What the controller needs of its kinds and of what sets refer to: in the
cluster, or in each namespace of a namespaced installation. */}}
{{- define "dogear.rules.controller" -}}
{{- $namespaced := .Values.namespaced.enabled }}
{{- $sets := include "dogear.setKinds" . | fromJsonArray }}
- apiGroups: [dogear.dev]
  resources: {{ $sets | toJson }}
  verbs: [list, watch, patch]
- apiGroups: [dogear.dev]
  resources:
  {{- range $sets }}
  - {{ . }}/status
  {{- end }}
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create, patch]
{{- if .Values.rbac.allEndpointServices }}
- apiGroups: [""]
  resources: [services]
  verbs: [get]
{{- end }}
{{- if .Values.rbac.allEndpointSecrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- if not $namespaced }}
- apiGroups: [""]
  resources: [namespaces]
  verbs: [list, watch]
{{- end }}
{{- if include "dogear.webhook" . }}
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  verbs: [create] # has no name to be restricted to
- apiGroups: [admissionregistration.k8s.io]
  resources: [mutatingwebhookconfigurations, validatingwebhookconfigurations]
  resourceNames: [dogear.dev]
  verbs: [get, patch]
{{- end }}
{{- end }}

{{/* Secrets of the service's own, as a list. */}}
{{- define "dogear.ownSecrets" -}}
{{- $names := list }}
{{- if and (include "dogear.webhook" .) (eq (include "dogear.certificate" .) "builtin") }}
{{- $names = append $names "dogear.dev-webhook" }}
{{- end }}
{{- if .Values.callback.enabled }}
{{- if not .Values.callback.certificate.secretName }}
{{- $names = append $names "dogear.dev-callback" }}
{{- end }}
{{- $names = append $names "dogear.dev-callback-tokens" }}
{{- end }}
{{- $names | toJson }}
{{- end }}

{{/* What the controller keeps in the namespace of the release. */}}
{{- define "dogear.rules.state" -}}
{{- $secrets := include "dogear.ownSecrets" . | fromJsonArray }}
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [dogear.dev]
  verbs: [get, update]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [dogear.dev]
  verbs: [get, update]
{{- with $secrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [create]
- apiGroups: [""]
  resources: [secrets]
  resourceNames: {{ . | toJson }}
  verbs: [get]
{{- end }}
{{- with without $secrets "dogear.dev-callback-tokens" }}
- apiGroups: [""]
  resources: [secrets]
  resourceNames: {{ . | toJson }}
  verbs: [update]
{{- end }}
{{- end }}

{{/* What the controller needs of a resource that sets handle. */}}
{{- define "dogear.rules.resource" -}}
- apiGroups: [{{ .group | default "" | quote }}]
  resources: [{{ .resource | quote }}]
  verbs: [get, list, watch, patch]
{{- if .status }}
- apiGroups: [{{ .group | default "" | quote }}]
  resources: [{{ printf "%s/status" .resource | quote }}]
  verbs: [patch]
{{- end }}
{{- end }}

{{/* What users do with HandlerSets. */}}
{{- define "dogear.rules.viewSets" -}}
- apiGroups: [dogear.dev]
  resources: [handlersets, handlersets/status]
  verbs: [get, list, watch]
{{- end }}

{{- define "dogear.rules.editSets" -}}
- apiGroups: [dogear.dev]
  resources: [handlersets]
  verbs: [create, update, patch, delete, deletecollection]
{{- end }}

{{/* metadata of a role or binding: root, name, and namespace, component and labels where it has some. */}}
{{- define "dogear.rbacMeta" -}}
name: {{ .name }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- include "dogear.labels" . | nindent 2 }}
{{- end }}

{{/* A binding of the role of the same kind and name: root, name, account (whose
ServiceAccount it is for), and namespace where it is for one. */}}
{{- define "dogear.binding" -}}
{{- $kind := empty .namespace | ternary "ClusterRole" "Role" }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  {{- include "dogear.rbacMeta" . | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .name }}
subjects:
- kind: ServiceAccount
  namespace: {{ .root.Release.Namespace | quote }}
  name: {{ include "dogear.account" (dict "root" .root "component" .account) | quote }}
{{- end }}
