package e2e

import (
	"context"
	"fmt"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// part picks one object out of what a team creates.
func part[T client.Object](objs []client.Object) T {
	GinkgoHelper()
	for _, o := range objs {
		if t, ok := o.(T); ok {
			return t
		}
	}
	var none T
	Fail(fmt.Sprintf("a team has no %T", none))
	return none
}

// create creates the team's Holdfast objects after change has had its way with them.
func create(ctx context.Context, t *scene.Team, change func(objs []client.Object)) {
	GinkgoHelper()
	objs := t.Holdfast()
	change(objs)
	for _, o := range objs {
		Expect(client.IgnoreAlreadyExists(t.Client.Create(ctx, o))).To(Succeed())
	}
}

// refuse waits until the object says the reason on Ready and is Stalled, and returns the message.
func refuse(ctx context.Context, t *scene.Team, obj client.Object, r v1alpha1.Reason) string {
	GinkgoHelper()
	_, err := t.AwaitReason(ctx, obj, v1alpha1.ConditionStalled, r)
	Expect(err).NotTo(HaveOccurred())
	message, err := t.AwaitReason(ctx, obj, v1alpha1.ConditionReady, r)
	Expect(err).NotTo(HaveOccurred())
	return message
}

var _ = Describe("Bad input", Label("badinput"), func() {
	It("wrong credentials: said on the GitProvider, healed when the Secret is right, and no edit is lost", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-password", NoHold: true})
		create(ctx, t, func(objs []client.Object) {
			for _, o := range objs {
				if s, ok := o.(*corev1.Secret); ok {
					s.StringData["password"] = "not-the-password"
				}
			}
		})
		message := refuse(ctx, t, &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "repo"}}, v1alpha1.ReasonAuthenticationFailed)
		Expect(message).To(And(ContainSubstring("secretRef"), Not(ContainSubstring("not-the-password"))))
		before := head(ctx, t)
		g, err := t.Target(ctx)
		Expect(err).NotTo(HaveOccurred())
		_, err = t.AwaitReason(ctx, g, v1alpha1.ConditionStreamsRunning, v1alpha1.ReasonSucceeded)
		Expect(err).NotTo(HaveOccurred())
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")

		s := &corev1.Secret{}
		Expect(t.Client.Get(ctx, t.In("git"), s)).To(Succeed())
		s.Data["password"] = []byte(world.Git.Password(cluster.GitHoldfast))
		Expect(t.Client.Update(ctx, s)).To(Succeed())
		_, err = t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
	})

	It("a missing Secret: said with its name and its keys", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-secret", NoHold: true})
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.GitProvider](objs).Spec.SecretRef.Name = "absent"
		})
		message := refuse(ctx, t, &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "repo"}}, v1alpha1.ReasonSecretNotFound)
		Expect(message).To(And(ContainSubstring(`"absent"`), ContainSubstring("username and password")))
	})

	It("a missing repository: said, and healed when it is there", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-norepo", NoHold: true})
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.GitProvider](objs).Spec.URL = world.Git.URL("late")
		})
		p := &v1alpha1.GitProvider{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "repo"}}
		Expect(refuse(ctx, t, p, v1alpha1.ReasonRepositoryNotFound)).To(ContainSubstring("spec.url"))

		Expect(world.Git.AddRepo(ctx, "late", scene.Web(t.Name))).To(Succeed())
		Expect(t.Within(healBound).Await(ctx, "the GitProvider is Ready", ready(t, p))).To(Succeed())
	})

	It("a branch that is not allowed: said with the field that would allow it, and healed by it", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-branch", NoHold: true, NoApply: true})
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.GitProvider](objs).Spec.AllowedBranches = []string{"release/*"}
		})
		g := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, g, v1alpha1.ReasonBranchNotAllowed)).To(ContainSubstring("spec.allowedBranches"))

		kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "gitprovider", "repo", "--type=merge", "-p", `{"spec":{"allowedBranches":["main"]}}`)
		Expect(t.Await(ctx, "the GitTarget is Ready", ready(t, g))).To(Succeed())
	})

	It("a path outside the repository: refused at once, by the field's name", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-path", NoHold: true})
		for _, path := range []string{"../other", "/etc", "apps/../../x", ".git", "apps/.GIT/hooks", "apps//x", "apps/", "./apps"} {
			g := part[*v1alpha1.GitTarget](t.Holdfast())
			g.Spec.Path = path
			Expect(t.Client.Create(ctx, g)).To(MatchError(ContainSubstring("path must be a folder inside the repository")), path)
		}
	})

	It("an unknown resource: said on the WatchRule, and healed when its CRD is there", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-resource", NoHold: true, NoApply: true})
		create(ctx, t, func(objs []client.Object) {
			r := part[*v1alpha1.WatchRule](objs)
			r.Spec.Rules = []v1alpha1.ResourceRule{{APIGroups: []string{"shop.example"}, Resources: []string{"widgets"}}}
		})
		rule := &v1alpha1.WatchRule{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, rule, v1alpha1.ReasonResourceNotFound)).To(And(ContainSubstring("spec.rules[0]"), ContainSubstring("widgets.shop.example")))
		g := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, g, v1alpha1.ReasonNoWatchRule)).To(ContainSubstring("WatchRule"))

		Expect(world.Apply(ctx, widgets)).To(Succeed())
		Expect(t.Within(healBound).Await(ctx, "the WatchRule is Ready", ready(t, rule))).To(Succeed())
		By("and gitmirror must be allowed to read it")
		Expect(refuse(ctx, t, g, v1alpha1.ReasonForbidden)).To(And(ContainSubstring("widgets.shop.example"), ContainSubstring("get, list and watch")))
		Expect(world.Apply(ctx, seeWidgets)).To(Succeed())
		Expect(t.Within(healBound).Await(ctx, "the GitTarget is Ready", ready(t, g))).To(Succeed())
	})

	It("Secrets: refused at once, because their values would reach Git", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-secrets", NoHold: true})
		r := part[*v1alpha1.WatchRule](t.Holdfast())
		r.Spec.Rules[1].Resources = []string{"configmaps", "secrets"}
		Expect(t.Client.Create(ctx, r)).To(MatchError(ContainSubstring("secrets cannot be mirrored")))
	})

	It("a missing Kustomization: said on the trigger, and held once it is there", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-nokust", NoHold: true})
		k, err := t.Kustomization(ctx)
		Expect(err).NotTo(HaveOccurred())
		Expect(t.Client.Delete(ctx, k)).To(Succeed())
		Expect(t.Await(ctx, "the Kustomization is gone", func(ctx context.Context) (bool, string, error) {
			_, err := t.Kustomization(ctx)
			return client.IgnoreNotFound(err) == nil && err != nil, "still there", client.IgnoreNotFound(err)
		})).To(Succeed())
		Expect(t.Furnish(ctx)).To(Succeed())
		f := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, f, v1alpha1.ReasonApplierNotFound)).To(And(ContainSubstring("spec.kustomizationRef"), ContainSubstring("flux-system")))

		Expect(t.Client.Create(ctx, &kustomizev1.Kustomization{
			ObjectMeta: metav1.ObjectMeta{Namespace: k.Namespace, Name: k.Name}, Spec: k.Spec,
		})).To(Succeed())
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})

	It("another namespace's Kustomization without the grant: said with the field that grants it", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-grant", NoHold: true})
		create(ctx, t, func(objs []client.Object) {
			p := part[*v1alpha1.KubeProvider](objs)
			p.Name, p.Spec.AllowCrossNamespace.Appliers = "stingy", false
			part[*v1alpha1.GitTarget](objs).Spec.KubeProviderRef.Name = "stingy"
			part[*v1alpha1.FluxTrigger](objs).Spec.KubeProviderRef.Name = "stingy"
		})
		f := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, f, v1alpha1.ReasonApplierNamespaceNotAllowed)).To(ContainSubstring("allowCrossNamespace.appliers"))

		kubectl(ctx, cluster.Admin, "patch", "kubeprovider", "stingy", "--type=merge", "-p", `{"spec":{"allowCrossNamespace":{"appliers":true}}}`)
		Expect(t.AwaitHeld(ctx)).To(Succeed())
	})

	It("a target that writes another repository than the Kustomization fetches: said with both", storyBound, func(ctx SpecContext) {
		t := team(ctx, scene.Options{Name: "team-mismatch", NoHold: true})
		Expect(world.Git.AddRepo(ctx, "elsewhere", scene.Web(t.Name))).To(Succeed())
		create(ctx, t, func(objs []client.Object) {
			part[*v1alpha1.GitProvider](objs).Spec.URL = world.Git.URL("elsewhere")
		})
		f := &v1alpha1.FluxTrigger{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, f, v1alpha1.ReasonSourceMismatch)).To(And(ContainSubstring("elsewhere"), ContainSubstring(t.Name)))
	})

	It("a folder with a kustomization.yaml: said, and nothing is written there", storyBound, func(ctx SpecContext) {
		files := scene.Web("team-kustomize")
		files["apps/kustomization.yaml"] = "resources: [web.yaml, settings.yaml]\n"
		t := team(ctx, scene.Options{Name: "team-kustomize", Files: files, NoApply: true})
		before := head(ctx, t)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "scale", "deployment/web", "--replicas=2")
		g := &v1alpha1.GitTarget{ObjectMeta: metav1.ObjectMeta{Namespace: t.Name, Name: "web"}}
		Expect(refuse(ctx, t, g, v1alpha1.ReasonPathNotAccepted)).To(ContainSubstring("kustomization"))
		Expect(head(ctx, t)).To(Equal(before))
	})
})

// ready looks for Ready=True of the fresh object.
func ready(t *scene.Team, obj client.Object) func(context.Context) (bool, string, error) {
	return func(ctx context.Context) (bool, string, error) {
		return t.IsTrue(ctx, obj, v1alpha1.ConditionReady)
	}
}

const widgets = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {kind: Widget, plural: widgets, singular: widget, listKind: WidgetList}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`

// seeWidgets lets everybody with the view role read them, gitmirror among them.
const seeWidgets = `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: see-widgets, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules:
  - {apiGroups: [shop.example], resources: [widgets], verbs: [get, list, watch]}
`
