package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
	"github.com/holdfast-gitops/holdfast/gitmirror/mirror"
	"github.com/holdfast-gitops/holdfast/internal/status"
)

// holding is a fake API server that holds these objects.
func holding(t *testing.T, objs ...client.Object) client.Client {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme, eventsv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objs...).WithStatusSubresource(objs...).Build()
}

// served is a mapper of a cluster in which another group has a resource called services, and one whose name begins alike.
func served() *meta.DefaultRESTMapper {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{{Group: "serving.knative.dev", Version: "v1"}, {Version: "v1"}, {Group: "apps", Version: "v1"}, {Group: "apps", Version: "v1beta1"}})
	add := func(group, version, kind string, scope meta.RESTScope) {
		m.Add(schema.GroupVersionKind{Group: group, Version: version, Kind: kind}, scope)
	}
	add("serving.knative.dev", "v1", "Service", meta.RESTScopeNamespace)
	add("", "v1", "Service", meta.RESTScopeNamespace)
	add("", "v1", "Namespace", meta.RESTScopeRoot)
	add("apps", "v1beta1", "Deployment", meta.RESTScopeNamespace)
	add("apps", "v1", "Deployment", meta.RESTScopeNamespace)
	return m
}

func rule(group, resource string) *v1alpha1.WatchRule {
	return &v1alpha1.WatchRule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1alpha1.WatchRuleSpec{
		GitTargetRef: v1alpha1.LocalReference{Name: "web"},
		Rules:        []v1alpha1.ResourceRule{{APIGroups: []string{group}, Resources: []string{resource}}},
	}}
}

func TestResolveNamesExactlyTheResourceOfTheRule(t *testing.T) {
	for _, row := range []struct {
		says, group, resource string
		want                  string
		fault                 v1alpha1.Reason
	}{
		{"the version the server prefers", "apps", "deployments", "apps/v1, Resource=deployments of Deployment", ""},
		{"the core group's, whoever has one of that name", "", "services", "/v1, Resource=services of Service", ""},
		{"another group's of that name", "serving.knative.dev", "services", "serving.knative.dev/v1, Resource=services of Service", ""},
		{"another group's is not the core group's", "", "deployments", "", v1alpha1.ReasonResourceNotFound},
		{"the beginning of a group is not the group", "app", "deployments", "", v1alpha1.ReasonResourceNotFound},
		{"a singular is no resource", "apps", "deployment", "", v1alpha1.ReasonResourceNotFound},
		{"a resource that is not served", "apps", "widgets", "", v1alpha1.ReasonResourceNotFound},
		{"a cluster-scoped one", "", "namespaces", "", v1alpha1.ReasonResourceNotWatchable},
	} {
		t.Run(row.says, func(t *testing.T) {
			got, fault := Resolve(served(), rule(row.group, row.resource))
			said := ""
			for _, r := range got {
				said += fmt.Sprintf("%s of %s", r.GroupVersionResource, r.Kind)
			}
			if said != row.want || fault.Reason != row.fault {
				t.Errorf("got %q, %+v", said, fault)
			}
			if fault.Reason != "" && !strings.Contains(fault.Message, "spec.rules[0]") {
				t.Errorf("the message names no field: %s", fault.Message)
			}
		})
	}
}

// down is a mapper whose API server does not answer.
type down struct{ meta.RESTMapper }

var errDown = errors.New("connection refused")

func (down) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) { return nil, errDown }

func (down) ResourcesFor(schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return nil, errDown
}

func TestAServerThatDoesNotAnswerFaultsNoRuleAndStopsNothing(t *testing.T) {
	if _, fault := Resolve(down{}, rule("", "services")); !fault.Passing {
		t.Errorf("fault %+v", fault)
	}
	m := &fakeMirror{}
	r := GitTargetReconciler{Client: holding(t, target("web", "repo"), rule("", "services")), Mapper: down{}, Mirror: m, Clock: testclock.NewFakePassiveClock(noon)}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: shop}); err == nil {
		t.Error("not tried again")
	}
	if len(m.set)+len(m.removed) != 0 {
		t.Errorf("set %v, removed %v: streams would be cut and edits lost", m.set, m.removed)
	}
}

// complete is all that a target refers to, with the defaults the API server fills in.
func complete() (*v1alpha1.GitTarget, []client.Object) {
	t := target("web", "repo")
	t.Spec.KubeProviderRef.Name = "default"
	t.Spec.Commit = v1alpha1.CommitWindow{IdleTimeout: &metav1.Duration{Duration: 5 * time.Second}, MaxDuration: &metav1.Duration{Duration: 30 * time.Second}}
	return t, []client.Object{t, rule("apps", "deployments"),
		&v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: "default"}},
		&v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "repo"}, Spec: v1alpha1.GitProviderSpec{
			URL: "https://git.example/shop", AllowedBranches: []string{"main"},
			Commit: v1alpha1.GitProviderCommit{Committer: v1alpha1.Signature{Name: "Holdfast", Email: "holdfast@holdfast.invalid"}},
		}},
	}
}

func TestATargetIsMirroredAsItAndWhatItRefersToSay(t *testing.T) {
	_, objs := complete()
	m := &fakeMirror{}
	r := GitTargetReconciler{Client: holding(t, objs...), Mapper: served(), Mirror: m, Clock: testclock.NewFakePassiveClock(noon)}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: shop}); err != nil {
		t.Fatal(err)
	}
	want := []mirror.Target{{
		Name: shop, Provider: types.NamespacedName{Namespace: "shop", Name: "repo"}, URL: "https://git.example/shop", Branch: "main", Folder: "apps",
		Idle: 5 * time.Second, Max: 30 * time.Second, Triggered: true,
		Resources: []mirror.Resource{{GroupVersionResource: schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}, Kind: "Deployment"}},
	}}
	want[0].Committer.Name, want[0].Committer.Email = "Holdfast", "holdfast@holdfast.invalid"
	if diff := cmp.Diff(want, m.set); diff != "" || len(m.removed) != 0 {
		t.Errorf("removed %v, set (-want +got)\n%s", m.removed, diff)
	}
}

func TestATargetThatMayNotWriteOrIsGoneIsNotMirrored(t *testing.T) {
	deleted := func(t *v1alpha1.GitTarget, _ []client.Object) {
		t.DeletionTimestamp, t.Finalizers = &metav1.Time{Time: noon}, []string{"example.org/wait"}
	}
	for says, change := range map[string]func(*v1alpha1.GitTarget, []client.Object){
		"a branch that is not allowed": func(t *v1alpha1.GitTarget, _ []client.Object) { t.Spec.Branch = "release" },
		"a provider that is not there": func(t *v1alpha1.GitTarget, _ []client.Object) { t.Spec.GitProviderRef.Name = "none" },
		"another name":                 func(t *v1alpha1.GitTarget, _ []client.Object) { t.Name = "other" },
		"a namespace that is not admitted": func(_ *v1alpha1.GitTarget, objs []client.Object) {
			objs[2].(*v1alpha1.KubeProvider).Spec.AccessFrom = &v1alpha1.AccessFrom{NamespaceSelectors: []v1alpha1.NamespaceSelector{
				{MatchLabels: map[string]string{"team": "shop"}},
			}}
		},
		"a target being deleted": deleted,
	} {
		t.Run(says, func(t *testing.T) {
			spec, objs := complete()
			change(spec, objs)
			m := &fakeMirror{}
			r := GitTargetReconciler{Client: holding(t, objs...), Mapper: served(), Mirror: m, Clock: testclock.NewFakePassiveClock(noon)}
			if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: shop}); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]types.NamespacedName{shop}, m.removed); diff != "" || len(m.set) != 0 {
				t.Errorf("set %v, removed (-want +got)\n%s", m.set, diff)
			}
		})
	}
}

func TestALabelOnTheNamespaceHealsATargetThatWasNotAdmitted(t *testing.T) {
	_, objs := complete()
	objs[2].(*v1alpha1.KubeProvider).Spec.AccessFrom = &v1alpha1.AccessFrom{NamespaceSelectors: []v1alpha1.NamespaceSelector{
		{MatchLabels: map[string]string{"team": "shop"}},
	}}
	c := holding(t, append(objs, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"team": "shop"}}})...)
	m := &fakeMirror{}
	r := GitTargetReconciler{Client: c, Mapper: served(), Mirror: m, Clock: testclock.NewFakePassiveClock(noon)}
	if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: shop}); err != nil {
		t.Fatal(err)
	}
	if len(m.set) != 1 || len(m.removed) != 0 {
		t.Errorf("set %v, removed %v", m.set, m.removed)
	}
	if woken := listTargetsIn(t.Context(), c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}); len(woken) != 1 || woken[0] != shop {
		t.Errorf("the namespace wakes %v", woken)
	}
}

func TestCredentialsAreReadAsTheyAre(t *testing.T) {
	secret := func(pairs ...string) *corev1.Secret {
		s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "git"}, Data: map[string][]byte{}}
		for i := 0; i < len(pairs); i += 2 {
			s.Data[pairs[i]] = []byte(pairs[i+1])
		}
		return s
	}
	provider := &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "repo"}, Spec: v1alpha1.GitProviderSpec{SecretRef: &v1alpha1.LocalReference{Name: "git"}}}
	for _, row := range []struct {
		says   string
		secret *corev1.Secret
		want   gitstore.Credentials
		fault  string
	}{
		{"a password with characters that URLs mind", secret("username", "alice", "password", "50%25:@/ü"), gitstore.Credentials{Username: "alice", Password: "50%25:@/ü"}, ""},
		{"a bearer token", secret("bearerToken", "t0k"), gitstore.Credentials{BearerToken: "t0k"}, ""},
		{"no credentials", secret("username", "alice"), gitstore.Credentials{}, "keys username and password, or bearerToken"},
		{"no Secret", nil, gitstore.Credentials{}, `"git", which does not exist`},
	} {
		t.Run(row.says, func(t *testing.T) {
			c := holding(t, provider)
			if row.secret != nil {
				c = holding(t, provider, row.secret)
			}
			got, err := CredentialsOf(t.Context(), c, c, types.NamespacedName{Namespace: "shop", Name: "repo"})
			if got != row.want || (err == nil) != (row.fault == "") || err != nil && !strings.Contains(err.Error(), row.fault) {
				t.Errorf("got %+v, %v", got, err)
			}
			if err != nil && strings.Contains(err.Error(), "alice") {
				t.Errorf("the message repeats what the Secret says: %v", err)
			}
		})
	}
	anonymous := &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "repo"}}
	if got, err := Credentials(t.Context(), holding(t), anonymous); got != (gitstore.Credentials{}) || err != nil {
		t.Errorf("without a secretRef: %+v, %v", got, err)
	}
}

func TestARepositorysFaultIsSaidInTheProvidersWords(t *testing.T) {
	for _, row := range []struct {
		err    error
		reason v1alpha1.Reason
		field  string
	}{
		{nil, "", ""},
		{fmt.Errorf("list: %w", gitstore.ErrAuthentication), v1alpha1.ReasonAuthenticationFailed, "spec.secretRef"},
		{fmt.Errorf("list: %w", gitstore.ErrRepositoryNotFound), v1alpha1.ReasonRepositoryNotFound, "spec.url"},
		{fmt.Errorf("list: %w", gitstore.ErrUnreachable), v1alpha1.ReasonUnreachable, "spec.url"},
		{errors.New("what else there is"), v1alpha1.ReasonUnreachable, "what else there is"},
	} {
		if got := repositoryFault(row.err, true); got.Reason != row.reason || !strings.Contains(got.Message, row.field) || got.Passing {
			t.Errorf("%v: %+v", row.err, got)
		}
	}
	if got := repositoryFault(gitstore.ErrAuthentication, false); got.Reason != v1alpha1.ReasonAuthenticationFailed || !strings.HasPrefix(got.Message, "the repository wants credentials") {
		t.Errorf("asked without credentials: %v", got)
	}
	if repositoryFault(nil, true) != (conditions.Fault{}) {
		t.Error("no error is a fault")
	}
}

func TestAProviderIsAskedAgainAfterAMinute(t *testing.T) {
	p := &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1alpha1.GitProviderSpec{URL: "https://git.example/shop"}}
	c := holding(t, p)
	answer := gitstore.ErrUnreachable
	r := GitProviderReconciler{Client: c, Secrets: c, Clock: testclock.NewFakePassiveClock(noon), Probe: func(_ context.Context, _ types.NamespacedName, url string) error {
		if url != p.Spec.URL {
			t.Errorf("asked %s", url)
		}
		return answer
	}}
	for _, want := range []bool{false, true} {
		if res, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: shop}); err != nil || res.RequeueAfter != time.Minute {
			t.Errorf("%+v, %v", res, err)
		}
		got := &v1alpha1.GitProvider{}
		if err := c.Get(t.Context(), shop, got); err != nil {
			t.Fatal(err)
		}
		if status.IsTrue(got.Status.Conditions, v1alpha1.ConditionReady) != want {
			t.Errorf("Ready is not %t: %+v", want, got.Status.Conditions)
		}
		answer = nil
	}
}

func TestFactsAreExpectedOfAClusterThatEverSentOne(t *testing.T) {
	provider := func(name string) *v1alpha1.KubeProvider {
		return &v1alpha1.KubeProvider{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	c := holding(t, provider("web"), provider("fresh"))
	received, expected := false, true
	pass := func(name string) {
		r := KubeProviderReconciler{Client: c, Clock: testclock.NewFakePassiveClock(noon), FactsReceived: func() bool { return received }, ExpectFacts: func(e bool) { expected = e }}
		if _, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	if pass("web"); expected {
		t.Error("expected before any arrived: every edit would wait in vain")
	}
	received = true
	if pass("web"); !expected {
		t.Error("not expected although they arrive")
	}
	received = false // gitmirror was restarted
	if pass("web"); !expected {
		t.Error("forgotten by a restart: the first edit after it would have no name")
	}
	if pass("fresh"); !expected {
		t.Error("forgotten for another object about the same cluster")
	}
}

func TestEachRefusedEditHasAnEventOfItsOwn(t *testing.T) {
	c := holding(t, target("web", "repo"))
	ids := 0
	tell := TellRefused(c, func() string { ids++; return fmt.Sprint("ID", ids) }, logr.Discard())
	for _, name := range []string{"a", "b"} {
		tell(t.Context(), shop, mirror.Refusal{Object: manifest.Identity{Version: "v1", Kind: "ConfigMap", Namespace: "shop", Name: name}, Message: "no place for " + name})
	}
	tell(t.Context(), types.NamespacedName{Namespace: "shop", Name: "gone"}, mirror.Refusal{Message: "of nobody's concern"})
	var events eventsv1.EventList
	if err := c.List(t.Context(), &events); err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, e := range events.Items {
		said = append(said, fmt.Sprintf("%s %s %s %s: %s about %s %s", e.Name, e.Type, e.Regarding.Kind, e.Reason, e.Note, e.Related.Kind, e.Related.Name))
	}
	want := []string{
		"web.id1 Warning GitTarget EditRefused: no place for a about ConfigMap a",
		"web.id2 Warning GitTarget EditRefused: no place for b about ConfigMap b",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestAnObjectThatIsGoneByTheTimeOfTheWriteNeedsNone(t *testing.T) {
	gone := fmt.Errorf("write the status: %w", apierrors.NewNotFound(schema.GroupResource{Resource: "gittargets"}, "web"))
	if res, err := again(gone); err != nil || !res.IsZero() {
		t.Errorf("got %+v, %v", res, err)
	}
	if _, err := again(errDown); !errors.Is(err, errDown) {
		t.Errorf("another error ends as %v", err)
	}
}
