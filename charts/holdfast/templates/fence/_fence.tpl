{{/*
A policy within the API server that lets only holders end a hold. A field manager is a claim anybody may make, so it counts
together with the user it is made by. What an object carries already, such as who holds it, is read from the old object; the
new one may be anything.
*/}}

{{/* Who may end a hold, as a list of CEL strings: (dict "root" $ "holder" a username). */}}
{{- define "holdfast.fence.users" -}}
{{- $users := list .holder (printf "system:serviceaccount:%s:holdfast-uninstall" .root.Release.Namespace) -}}
[{{ range $i, $user := concat $users .root.Values.fence.users }}{{ if $i }}, {{ end }}'{{ $user }}'{{ end }}]
{{- end -}}

{{- define "holdfast.fence.groups" -}}
[{{ range $i, $group := .Values.fence.groups }}{{ if $i }}, {{ end }}'{{ $group }}'{{ end }}]
{{- end -}}

{{/* What decides in every such policy. */}}
{{- define "holdfast.fence.conditions" -}}
- name: held
  expression: >-
    has(oldObject.metadata.annotations) && 'holdfast.dev/held-by' in oldObject.metadata.annotations
{{- end -}}

{{- define "holdfast.fence.variables" -}}
- name: manager
  expression: "has(request.options.fieldManager) ? request.options.fieldManager : ''"
- name: holder
  expression: >-
    variables.manager == 'holdfast' &&
    (request.userInfo.username in {{ include "holdfast.fence.users" . }}
    || (has(request.userInfo.groups) && request.userInfo.groups.exists(g, g in {{ include "holdfast.fence.groups" .root }})))
- name: annotations
  expression: "has(object.metadata.annotations) ? object.metadata.annotations : {}"
- name: breakGlass
  expression: "'holdfast.dev/break-glass' in variables.annotations && variables.annotations['holdfast.dev/break-glass'] != ''"
- name: unmarks
  expression: >-
    !('holdfast.dev/held-by' in variables.annotations) ||
    variables.annotations['holdfast.dev/held-by'] != oldObject.metadata.annotations['holdfast.dev/held-by']
{{- end -}}

{{/* The last words of a refusal. */}}
{{- define "holdfast.fence.advice" -}}
' To hand it back for good, delete its trigger. In an emergency set the annotation holdfast.dev/break-glass to the reason'
+ ' first, or with the same write; the audit log keeps it. ('
+ (variables.manager == '' ? '' : 'field manager ' + variables.manager + ', ') + 'user ' + request.userInfo.username + ')'
{{- end -}}

{{- define "holdfast.fence.actions" -}}
[{{ .Values.fence.mode }}, Audit]
{{- end -}}
