package manifest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// object reads one object written in JSON, with single quotes for double ones.
func object(t testing.TB, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(text, "'", `"`)), &v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestSanitizeLeavesWhatBelongsIntoGit(t *testing.T) {
	for _, row := range []struct{ says, live, want string }{
		{"status and the API server's own metadata go",
			`{'kind':'X','status':{},'metadata':{'name':'a','namespace':'n','uid':'u','resourceVersion':'1','generation':2,'creationTimestamp':null,'managedFields':[],'selfLink':'/','deletionTimestamp':'t','deletionGracePeriodSeconds':1}}`,
			`{'kind':'X','metadata':{'name':'a','namespace':'n'}}`},
		{"generateName, owners and finalizers go B56",
			`{'metadata':{'name':'a-x','generateName':'a-','ownerReferences':[{'uid':'u'}],'finalizers':['f']}}`,
			`{'metadata':{'name':'a-x'}}`},
		{"marks of Flux, Argo CD, Holdfast and controllers go, and the maps they leave empty",
			`{'metadata':{'labels':{'kustomize.toolkit.fluxcd.io/name':'a','kustomize.toolkit.fluxcd.io/namespace':'b','argocd.argoproj.io/instance':'c'},'annotations':{'reconcile.fluxcd.io/requestedAt':'t','argocd.argoproj.io/tracking-id':'x','deployment.kubernetes.io/revision':'3','holdfast.dev/held-by':'h'}}}`,
			`{'metadata':{}}`},
		{"what people tell Flux and Argo CD stays",
			`{'metadata':{'annotations':{'kustomize.toolkit.fluxcd.io/prune':'disabled','argocd.argoproj.io/sync-wave':'1','kubectl.kubernetes.io/restartedAt':'t'}}}`,
			`{'metadata':{'annotations':{'kustomize.toolkit.fluxcd.io/prune':'disabled','argocd.argoproj.io/sync-wave':'1','kubectl.kubernetes.io/restartedAt':'t'}}}`},
		{"last-applied goes at every depth B55",
			`{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'SECRET','a':'b'}},'spec':{'template':{'metadata':{'annotations':{'kubectl.kubernetes.io/last-applied-configuration':'SECRET'}}},'items':[{'annotations':{'other.io/last-applied':'SECRET'}}]}}`,
			`{'metadata':{'annotations':{'a':'b'}},'spec':{'template':{'metadata':{}},'items':[{}]}}`},
		{"maps that were empty before stay", `{'metadata':{},'spec':{'emptyDir':{},'annotations':{},'l':[]}}`, `{'metadata':{},'spec':{'emptyDir':{},'annotations':{},'l':[]}}`},
		{"a Service's assigned addresses go", `{'apiVersion':'v1','kind':'Service','spec':{'clusterIP':'10.0.0.1','clusterIPs':['10.0.0.1'],'type':'ClusterIP'}}`,
			`{'apiVersion':'v1','kind':'Service','spec':{'type':'ClusterIP'}}`},
		{"a headless Service stays headless", `{'apiVersion':'v1','kind':'Service','spec':{'clusterIP':'None','clusterIPs':['None']}}`,
			`{'apiVersion':'v1','kind':'Service','spec':{'clusterIP':'None'}}`},
		{"a volume a controller chose goes", `{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'annotations':{'pv.kubernetes.io/bound-by-controller':'yes'}},'spec':{'volumeName':'pv'}}`,
			`{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{},'spec':{}}`},
		{"a volume a person chose stays", `{'apiVersion':'v1','kind':'PersistentVolumeClaim','spec':{'volumeName':'pv'}}`,
			`{'apiVersion':'v1','kind':'PersistentVolumeClaim','spec':{'volumeName':'pv'}}`},
		{"a Namespace is its name and labels", `{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'a','labels':{'kubernetes.io/metadata.name':'a','team':'x'}},'spec':{'finalizers':['kubernetes']}}`,
			`{'apiVersion':'v1','kind':'Namespace','metadata':{'name':'a','labels':{'team':'x'}}}`},
		{"a Job's own selector goes with its labels", `{'apiVersion':'batch/v1','kind':'Job','metadata':{'labels':{'job-name':'a'}},'spec':{'selector':{},'template':{'metadata':{'labels':{'controller-uid':'u','app':'a'}}}}}`,
			`{'apiVersion':'batch/v1','kind':'Job','metadata':{},'spec':{'template':{'metadata':{'labels':{'app':'a'}}}}}`},
	} {
		t.Run(row.says, func(t *testing.T) {
			live := object(t, row.live)
			got := Sanitize(live)
			if !sameValue(got, object(t, row.want)) {
				t.Errorf("-want +got:\n%s", cmp.Diff(object(t, row.want), got))
			}
			if !sameValue(live, object(t, row.live)) {
				t.Error("the live object itself was changed")
			}
			if again := Sanitize(got); !sameValue(again, got) {
				t.Errorf("twice is not once:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestControlledIsWhatAControllerMadeB56(t *testing.T) {
	for live, want := range map[string]bool{
		`{'metadata':{'ownerReferences':[{'kind':'ReplicaSet','controller':true}]}}`: true,
		`{'metadata':{'ownerReferences':[{'kind':'Team'}]}}`:                         false,
		`{'metadata':{}}`: false,
		`{}`:              false,
	} {
		if got := Controlled(object(t, live)); got != want {
			t.Errorf("Controlled(%s) = %t", live, got)
		}
	}
}

func TestDiffIsTheSmallestChange(t *testing.T) {
	for _, row := range []struct{ says, old, new, want string }{
		{"nothing", `{'a':1,'b':[1,{'c':null}]}`, `{'b':[1,{'c':null}],'a':1}`, `[]`},
		{"a value", `{'a':{'b':1,'c':2}}`, `{'a':{'b':1,'c':3}}`, `[{'path':[{'key':'a'},{'key':'c'}],'value':3}]`},
		{"a number by its value", `{'a':1}`, `{'a':1.0}`, `[]`},
		{"a quantity as it is written", `{'limits':{'cpu':'1000m'}}`, `{'limits':{'cpu':'1'}}`, `[{'path':[{'key':'limits'},{'key':'cpu'}],'value':'1'}]`},
		{"a member gone remembers what it was", `{'a':{'b':1}}`, `{}`, `[{'path':[{'key':'a'}],'remove':true,'old':{'b':1}}]`},
		{"in a list with names only the element", `{'l':[{'name':'x','v':1},{'name':'y','v':1}]}`, `{'l':[{'name':'x','v':1},{'name':'y','v':2}]}`,
			`[{'path':[{'key':'l'},{'name':'y'},{'key':'v'}],'value':2}]`},
		{"an element added knows what it follows", `{'l':[{'name':'x'}]}`, `{'l':[{'name':'w'},{'name':'x'},{'name':'y'}]}`,
			`[{'path':[{'key':'l'},{'name':'w'}],'value':{'name':'w'}},{'path':[{'key':'l'},{'name':'y'}],'value':{'name':'y'},'after':'x'}]`},
		{"a list with a name missing is whole", `{'l':[{'name':'x'},{'v':1}]}`, `{'l':[{'name':'x'}]}`, `[{'path':[{'key':'l'}],'value':[{'name':'x'}]}]`},
		{"a list with a name twice is whole", `{'l':[{'name':'x'},{'name':'x'}]}`, `{'l':[{'name':'x'}]}`, `[{'path':[{'key':'l'}],'value':[{'name':'x'}]}]`},
		{"a list in another order is whole", `{'l':[{'name':'x'},{'name':'y'}]}`, `{'l':[{'name':'y'},{'name':'x'}]}`,
			`[{'path':[{'key':'l'}],'value':[{'name':'y'},{'name':'x'}]}]`},
	} {
		t.Run(row.says, func(t *testing.T) {
			var want []Change
			if err := json.Unmarshal([]byte(strings.ReplaceAll(row.want, "'", `"`)), &want); err != nil {
				t.Fatal(err)
			}
			got, err := json.Marshal(Diff(object(t, row.old), object(t, row.new)))
			if err != nil {
				t.Fatal(err)
			}
			var back []Change
			if err := json.Unmarshal(got, &back); err != nil || len(back) != len(want) || len(want) > 0 && !cmp.Equal(want, back) {
				t.Errorf("-want +got:\n%s", cmp.Diff(want, back))
			}
		})
	}
}

func TestSameMeaningIsWhatTheAPIServerWouldKeep(t *testing.T) {
	for _, row := range []struct {
		says, path, a, b string
		same             bool
	}{
		{"a quantity in two spellings B54", "resources.limits.cpu", `1000m`, `1`, true},
		{"a quantity as a number B54", "resources.requests.cpu", `1`, `'1'`, true},
		{"a binary and a decimal quantity B54", "resources.limits.memory", `1024Mi`, `1Gi`, true},
		{"another quantity", "resources.limits.cpu", `1`, `2`, false},
		{"a quantity where none is kept", "data.cpu", `1000m`, `'1'`, false},
		{"a port as text", "targetPort", `'80'`, `80`, true},
		{"text that is no number elsewhere", "data.x", `'80'`, `80`, false},
		{"a mode in octal B58", "defaultMode", `0400`, `256`, true},
		{"a mode that only looks the same B58", "defaultMode", `0400`, `400`, false},
		{"an integer and a float", "x", `1`, `1.0`, true},
		{"null and a text", "targetPort", `null`, `''`, false},
		{"a mapping and none", "x", `{}`, `null`, false},
	} {
		t.Run(row.says, func(t *testing.T) {
			var values []any
			for _, text := range []string{row.a, row.b} {
				v, err := decode([]byte("v: " + text))
				if err != nil {
					t.Fatal(err)
				}
				values = append(values, v["v"])
			}
			if got := sameMeaning(at(t, row.path), values[0], values[1]); got != row.same {
				t.Errorf("%v and %v: %t", values[0], values[1], got)
			}
		})
	}
}
