{{/* What the injector is told of the holders it adds, as inject.ParsePolicy reads it. */}}
{{- define "holdfast.policy" -}}
image: {{ .Values.holder.image | default (include "holdfast.image" .) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
resources:
  {{- toYaml .Values.holder.resources | nindent 2 }}
runAsUser: {{ with .Values.runAsUser }}{{ int64 . }}{{ else }}null{{ end }}
args:
  - --log-level={{ .Values.holder.logLevel }}
  {{- $own := list "application-namespaces" "controller-feature-gates" "controller-leader-election" "controller-namespace"
    "events-addr" "metrics-bind-address" "watch-all-namespaces" "watch-label-selector" }}
  {{- range .Values.holder.extraArgs }}
  {{- $flag := trimPrefix "--" . | splitList "=" | first }}
  {{- if has $flag $own }}
  {{- fail (printf "holder.extraArgs: take --%s out. The injector sets it pod by pod, by what the controller beside the holder is started with; told to by a policy as well, it would refuse the policy and not become ready." $flag) }}
  {{- end }}
  - {{ quote . }}
  {{- end }}
flux:
  enabled: {{ .Values.flux.enabled }}
  serviceAccounts: [{{ include "holdfast.flux.serviceAccount" . }}]
# This version's holder holds Kustomizations only.
argocd:
  enabled: false
{{- end -}}
