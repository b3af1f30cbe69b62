{{/*
The rules of a generated role: (dict "root" $ "program" … "kind" "ClusterRole" or "Role"). They are made from the markers in
the source, so that a role says what its program does and no more. Nothing when the program has no role of that kind.
*/}}
{{- define "holdfast.rules" -}}
{{- range $document := splitList "\n---\n" (.root.Files.Get (printf "files/rbac/%s.yaml" .program)) -}}
{{- $role := fromYaml $document -}}
{{- if eq ($role.kind | default "") $.kind -}}
{{ toYaml $role.rules }}
{{- end -}}
{{- end -}}
{{- end -}}
