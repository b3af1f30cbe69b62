{{/* What objects and their pods have in common. */}}

{{/* The metadata of an object: (dict "root" $ "name" … "namespace" … "component" … "annotations" … "labels" …), the last four optional. */}}
{{- define "holdfast.metadata" -}}
name: {{ .name | quote }}
{{- with .namespace }}
namespace: {{ . | quote }}
{{- end }}
labels:
  {{- include "holdfast.labels" . | nindent 2 }}
{{- with merge (dict) (.annotations | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "holdfast.labels" -}}
{{- $own := dict "app.kubernetes.io/name" "holdfast" "app.kubernetes.io/instance" .root.Release.Name "app.kubernetes.io/part-of" "holdfast"
  "app.kubernetes.io/managed-by" .root.Release.Service "app.kubernetes.io/version" .root.Chart.AppVersion
  "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") -}}
{{- with .component }}{{ $_ := set $own "app.kubernetes.io/component" . }}{{ end -}}
{{- toYaml (merge $own (.labels | default dict) (.root.Values.commonLabels | default dict)) -}}
{{- end -}}

{{/* What selects the pods of a component; it never changes. */}}
{{- define "holdfast.selector" -}}
app.kubernetes.io/name: holdfast
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The metadata of a component's pods: (dict "root" $ "component" … "values" its values). */}}
{{- define "holdfast.podMetadata" -}}
labels:
  {{- $own := fromYaml (include "holdfast.selector" .) }}
  {{- toYaml (merge $own (dict "app.kubernetes.io/part-of" "holdfast") (.values.podLabels | default dict) (.root.Values.commonLabels | default dict)) | nindent 2 }}
{{- with merge (dict) (.values.podAnnotations | default dict) (.root.Values.commonAnnotations | default dict) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where the pods of a component run: (dict "root" $ "values" its values). */}}
{{- define "holdfast.placement" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $field := list "priorityClassName" "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints" }}
{{- with get $.values $field }}
{{ $field }}:{{ if kindIs "string" . }} {{ quote . }}{{ else }}{{ toYaml . | nindent 2 }}{{ end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "holdfast.podSecurity" -}}
runAsNonRoot: true
{{- with .root.Values.runAsUser }}
runAsUser: {{ int64 . }}
{{- end }}
{{- if .fsGroup }}
{{- with .root.Values.runAsUser }}
fsGroup: {{ int64 . }}
{{- end }}
{{- end }}
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "holdfast.containerSecurity" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
{{- end -}}
