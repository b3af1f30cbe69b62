{{/* What the injector is told of the holders it adds, as inject.ParsePolicy reads it. */}}
{{- define "holdfast.policy" -}}
image: {{ .Values.holder.image | default (include "holdfast.image" .) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources:
  {{- toYaml .Values.holder.resources | nindent 2 }}
runAsUser: {{ with .Values.runAsUser }}{{ int64 . }}{{ else }}null{{ end }}
args:
  - --log-level={{ .Values.holder.logLevel }}
  {{- range .Values.holder.extraArgs }}
  - {{ quote . }}
  {{- end }}
flux:
  enabled: {{ .Values.flux.enabled }}
  serviceAccounts: [{{ include "holdfast.flux.serviceAccount" . }}]
# This version's holder holds Kustomizations only.
argocd:
  enabled: false
{{- end -}}
