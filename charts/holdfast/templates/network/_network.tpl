{{/* A rule's peers, when there are any: (dict "field" "from" or "to" "peers" …). */}}
{{- define "holdfast.peers" -}}
{{- with .peers }}
{{ $.field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Ports by number or name: (list …). */}}
{{- define "holdfast.ports" -}}
ports:
  {{- range . }}
  - {protocol: TCP, port: {{ . }}}
  {{- end }}
{{- end -}}

{{/* What every program calls: names, and the API server. */}}
{{- define "holdfast.egress" -}}
- ports:
    - {protocol: UDP, port: 53}
    - {protocol: TCP, port: 53}
- {{ include "holdfast.ports" .apiServer.ports | nindent 2 | trim }}
  {{- with include "holdfast.peers" (dict "field" "to" "peers" .apiServer.peers) | trim }}
  {{- . | nindent 2 }}
  {{- end }}
{{- end -}}
