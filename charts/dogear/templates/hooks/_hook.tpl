{{/*
Hooks: objects that Helm makes when something is about to happen, and takes away
afterwards. Accounts come first, then roles, then bindings, then what uses them; on
success all go.

A hook is a dict with root, hook (when), component (its account's suffix, too), and
pod: how its Pod differs.
*/}}

{{/* metadata of one of its objects: the hook, weight, and namespace and name. */}}
{{- define "dogear.hookMeta" -}}
name: {{ .name | default (printf "%s-%s" (include "dogear.fullname" .root) .component) | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- include "dogear.labels" . | nindent 2 }}
annotations:
  helm.sh/hook: {{ .hook }}
  helm.sh/hook-weight: {{ .weight | quote }}
  helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded{{ if and (eq .hook "test") (not .pod) }},hook-failed{{ end }}
  {{- with .logs }}
  helm.sh/hook-output-log-policy: {{ . }}
  {{- end }}
{{- end }}

{{- define "dogear.hookAccount" -}}
{{- if include "dogear.makesAccount" .root.Values.hooks.serviceAccount -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  {{- include "dogear.hookMeta" (merge (dict "weight" -20 "namespace" .root.Release.Namespace "name" (include "dogear.account" .)) .) | nindent 2 }}
automountServiceAccountToken: false
{{- end }}
{{- end }}

{{/* A role with rules (a text) and its binding, in namespace or in the cluster. */}}
{{- define "dogear.hookRole" -}}
{{- $kind := empty .namespace | ternary "ClusterRole" "Role" }}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}
metadata:
  {{- include "dogear.hookMeta" (merge (dict "weight" -15) .) | nindent 2 }}
rules:
{{- .rules | trim | nindent 0 }}
---
{{ include "dogear.hookBinding" (merge (dict "role" (.name | default (printf "%s-%s" (include "dogear.fullname" .root) .component))) .) }}
{{- end }}

{{/* A binding of a role that there is, in namespace or in the cluster. */}}
{{- define "dogear.hookBinding" -}}
{{- $kind := empty .namespace | ternary "ClusterRole" "Role" -}}
apiVersion: rbac.authorization.k8s.io/v1
kind: {{ $kind }}Binding
metadata:
  {{- include "dogear.hookMeta" (merge (dict "weight" -10) .) | nindent 2 }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: {{ $kind }}
  name: {{ .role }}
subjects:
- kind: ServiceAccount
  namespace: {{ .root.Release.Namespace | quote }}
  name: {{ include "dogear.account" . | quote }}
{{- end }}

{{/* The spec of its Pod: root, component, args. */}}
{{- define "dogear.hookPod" -}}
{{- $values := .root.Values.hooks }}
{{- $part := dict "root" .root "values" $values "account" (include "dogear.account" .) }}
{{- include "dogear.pod" $part }}
automountServiceAccountToken: true
restartPolicy: Never
containers:
- name: {{ .component }}
  {{- include "dogear.container" $part | nindent 2 }}
  args:
  {{- toYaml .args | nindent 2 }}
{{- end }}

{{/* A Job: root, hook, component, args, backoffLimit, and deadline in seconds. */}}
{{- define "dogear.hookJob" -}}
apiVersion: batch/v1
kind: Job
metadata:
  {{- include "dogear.hookMeta" (merge (dict "weight" 0 "namespace" .root.Release.Namespace "logs" "hook-failed") .) | nindent 2 }}
spec:
  backoffLimit: {{ .backoffLimit }}
  activeDeadlineSeconds: {{ .deadline }}
  template:
    metadata:
      labels:
        {{- include "dogear.labels" (merge (dict "pod" true "labels" .root.Values.hooks.podLabels) .) | nindent 8 }}
      {{- with .root.Values.hooks.podAnnotations }}
      annotations:
        {{- include "dogear.texts" . | nindent 8 }}
      {{- end }}
    spec:
      {{- include "dogear.hookPod" . | nindent 6 }}
{{- end }}
