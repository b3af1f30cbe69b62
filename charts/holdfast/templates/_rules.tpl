{{/*
The rules of a generated role: (dict "root" $ "program" … "kind" "ClusterRole" or "Role" "without" resources to leave out,
optional). They are made from the markers in the source, so that a role says what its program does and no more. A value that
turns a part of the program off takes what only that part needs out of them. Nothing when the program has no role of that kind.
*/}}
{{- define "holdfast.rules" -}}
{{- $without := .without | default list -}}
{{- range $document := splitList "\n---\n" (.root.Files.Get (printf "files/rbac/%s.yaml" .program)) -}}
{{- $role := fromYaml $document -}}
{{- if eq ($role.kind | default "") $.kind -}}
{{- $rules := list -}}
{{- range $rule := $role.rules -}}
{{- $resources := list -}}
{{- range $resource := $rule.resources }}{{ if not (has $resource $without) }}{{ $resources = append $resources $resource }}{{ end }}{{ end -}}
{{- if $resources }}{{ $rules = append $rules (set $rule "resources" $resources) }}{{ end -}}
{{- end -}}
{{ toYaml $rules }}
{{- end -}}
{{- end -}}
{{- end -}}
