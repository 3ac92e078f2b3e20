{{/* Parts of Pods: of Deployments, Jobs and tests. */}}

{{- define "dogear.image" -}}
{{- $image := .Values.image }}
{{- $name := list $image.registry ($image.repository | default "dogear-dev/dogear") | compact | join "/" }}
{{- if $image.digest }}
{{- printf "%s@%s" $name $image.digest }}
{{- else }}
{{- printf "%s:%s" $name ($image.tag | default .Chart.AppVersion) }}
{{- end }}
{{- end }}

{{/* What all Pods have: root, account, and values with what users may set. */}}
{{- define "dogear.pod" -}}
{{- $root := .root -}}
serviceAccountName: {{ .account | quote }}
enableServiceLinks: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- if kindIs "bool" $root.Values.hostUsers }}
hostUsers: {{ $root.Values.hostUsers }}
{{- end }}
{{- with $root.Values.podSecurityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- if .values.dnsPolicy }}
dnsPolicy: {{ .values.dnsPolicy }}
{{- else if .values.hostNetwork }}
dnsPolicy: ClusterFirstWithHostNet
{{- end }}
{{- with .values.dnsConfig }}
dnsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- include "dogear.texts" . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
{{- toYaml . | nindent 0 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* What all containers have: root and values. */}}
{{- define "dogear.container" -}}
image: {{ include "dogear.image" .root | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy | default "IfNotPresent" }}
{{- with .root.Values.securityContext }}
securityContext:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.resources }}
resources:
  {{- toYaml . | nindent 2 }}
{{- end }}
terminationMessagePolicy: FallbackToLogsOnError
env:
- name: DOGEAR_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: GOMEMLIMIT
  valueFrom: {resourceFieldRef: {resource: limits.memory}}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* What the Pods of both Deployments have besides. */}}
{{- define "dogear.spread" -}}
topologySpreadConstraints:
{{- with .values.topologySpreadConstraints }}
{{ toYaml . }}
{{- else }}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "dogear.selector" . | nindent 6 }}
  matchLabelKeys: [pod-template-hash]
{{- end }}
{{- end }}

{{- define "dogear.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: health}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /healthz, port: health}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 3
readinessProbe:
  httpGet: {path: /readyz, port: health}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 3 # one that stops goes on answering, and is left out by its end
{{- end }}

{{/* Annotations of a Pod that a change of settings replaces. */}}
{{- define "dogear.podAnnotations" -}}
{{- $checksum := dict "checksum/settings" (include "dogear.settings" .root | sha256sum) }}
{{- include "dogear.texts" (mergeOverwrite (dict) (.values.podAnnotations | default dict) $checksum) }}
{{- end }}

{{/* Labels of a Deployment (which tools look for), and those of its Pods. */}}
{{- define "dogear.componentLabels" -}}
{{- include "dogear.labels" (merge (dict "labels" (dict "dogear.dev/component" .component)) .) }}
{{- end }}

{{- define "dogear.podLabels" -}}
{{- $own := dict "dogear.dev/component" .component "dogear.dev/metrics" "true" }}
{{- include "dogear.labels" (merge (dict "pod" true "labels" (mergeOverwrite (dict) (.values.podLabels | default dict) $own)) .) }}
{{- end }}
