{{/* Names that are made of more than one value. */}}

{{- define "holdfast.image" -}}
{{- with .Values.image }}{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}{{ end }}
{{- end -}}

{{- define "holdfast.flux.namespace" -}}
{{- .Values.flux.namespace | default "flux-system" -}}
{{- end -}}

{{- define "holdfast.flux.serviceAccount" -}}
{{- .Values.flux.serviceAccount | default "kustomize-controller" -}}
{{- end -}}

{{- define "holdfast.argocd.namespace" -}}
{{- .Values.argocd.namespace | default (get (dict "openshift" "openshift-gitops") .Values.argocd.flavour | default "argocd") -}}
{{- end -}}

{{- define "holdfast.argocd.serviceAccount" -}}
{{- $byFlavour := dict "operator" "argocd-argocd-application-controller" "openshift" "openshift-gitops-argocd-application-controller" -}}
{{- .Values.argocd.serviceAccount | default (get $byFlavour .Values.argocd.flavour | default "argocd-application-controller") -}}
{{- end -}}

{{/* The seconds of a duration in seconds or minutes, such as 90s or 4m. */}}
{{- define "holdfast.seconds" -}}
{{- $number := regexFind "^[0-9]+" . | int -}}
{{- if hasSuffix "m" . }}{{ mul $number 60 }}{{ else }}{{ $number }}{{ end -}}
{{- end -}}
