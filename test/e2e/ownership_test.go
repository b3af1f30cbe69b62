package e2e

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// kubectlEdit is `kubectl edit` by somebody whose editor runs the sed script.
func kubectlEdit(ctx context.Context, user, script string, args ...string) {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, world.KubectlPath(), append([]string{"edit"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + world.Dir, "TMPDIR=" + world.Dir, "KUBECONFIG=" + world.Kubeconfig(user), "KUBE_EDITOR=sed -i '" + script + "'"}
	out, err := cmd.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(out))
	Expect(string(out)).To(ContainSubstring("edited"))
}

// piped runs kubectl as user with input on its standard input.
func piped(ctx context.Context, user, input string, args ...string) {
	GinkgoHelper()
	_, err := world.KubectlInput(ctx, user, input, args...)
	Expect(err).NotTo(HaveOccurred())
}

// toldOf waits for an Event about the team's trigger whose message has all of says.
func toldOf(ctx context.Context, t *scene.Team, r v1alpha1.Reason, says ...string) {
	GinkgoHelper()
	Expect(t.Await(ctx, fmt.Sprintf("Event %s that says %q", r, says), func(ctx context.Context) (bool, string, error) {
		var events corev1.EventList
		if err := t.Client.List(ctx, &events); err != nil {
			return false, "", err
		}
		var saw []string
		for _, e := range events.Items {
			if e.Reason != string(r) || e.InvolvedObject.Namespace != t.Name {
				continue
			}
			if !slices.ContainsFunc(says, func(s string) bool { return !strings.Contains(e.Message, s) }) {
				return true, "", nil
			}
			saw = append(saw, e.Message)
		}
		return false, strings.Join(saw, "; "), nil
	})).To(Succeed())
}

// suspensions counts from now on how often the team's Kustomization goes from resumed to suspended, until the end of the
// story.
func suspensions(ctx context.Context, t *scene.Team) *atomic.Int64 {
	GinkgoHelper()
	c, err := client.NewWithWatch(world.RESTConfig(cluster.Admin), client.Options{Scheme: t.Client.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	k := kustomization(ctx, t)
	var list kustomizev1.KustomizationList
	w, err := c.Watch(ctx, &list, client.InNamespace(cluster.FluxNamespace), client.MatchingFields{"metadata.name": t.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: k.ResourceVersion}})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(w.Stop)
	n, was := &atomic.Int64{}, k.Spec.Suspend
	go func() {
		for e := range w.ResultChan() {
			if k, ok := e.Object.(*kustomizev1.Kustomization); ok {
				if k.Spec.Suspend && !was {
					n.Add(1)
				}
				was = k.Spec.Suspend
			}
		}
	}()
	return n
}

// child is the team's Kustomization as a manifest of a parent, with one more line in its spec.
func child(t *scene.Team, line string) string {
	return fmt.Sprintf(`apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  path: ./apps
  interval: 1h
  prune: true
  targetNamespace: %[1]s
  sourceRef: {kind: GitRepository, name: %[1]s}
  %[3]s
`, t.Name, cluster.FluxNamespace, line)
}

var _ = Describe("A held Kustomization", Label("flux"), func() {
	// B13
	It("that anybody resumes by any means is taken back, and they are named", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "own-resume")
		flux, k := cluster.FluxNamespace, kustomization(ctx, t)
		minimal := fmt.Sprintf("apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: %s, namespace: %s}\nspec: {suspend: false}\n", t.Name, flux)
		for _, row := range []struct {
			means, names string
			do           func()
		}{
			// It takes the field away, as anybody can; each row has a name of its own, which only its Event can say.
			{"flux resume", "somebody who removed spec.suspend", func() {
				out, _ := world.Flux(ctx, cluster.Bob, "resume", "kustomization", t.Name, "-n", flux) // the holder is faster than it waits
				Expect(out).To(ContainSubstring("kustomization resumed"))
			}},
			{"a program that sets the field", "field manager flux (Update)", func() {
				Expect(t.Client.Patch(ctx, k.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(resume)), client.FieldOwner("flux"))).To(Succeed())
			}},
			{"kubectl edit", "field manager kubectl-edit (Update)", func() {
				kubectlEdit(ctx, cluster.Bob, "s/suspend: true/suspend: false/", "-n", flux, "kustomization", t.Name)
			}},
			{"kubectl patch", "field manager kubectl-patch (Update)", func() { by(ctx, t, "kustomization", resume) }},
			{"kubectl replace", "field manager kubectl-replace (Update)", func() {
				text := kubectl(ctx, cluster.Bob, "-n", flux, "get", "kustomization", t.Name, "-o", "yaml")
				piped(ctx, cluster.Bob, strings.Replace(text, "suspend: true", "suspend: false", 1), "replace", "-f", "-")
			}},
			{"kubectl apply", "field manager kubectl-client-side-apply (Update)", func() { piped(ctx, cluster.Bob, minimal, "apply", "-f", "-") }},
			{"kubectl apply --server-side", "field manager kubectl (Apply)", func() {
				_, err := world.KubectlInput(ctx, cluster.Bob, minimal, "apply", "--server-side", "-f", "-")
				Expect(err).To(MatchError(ContainSubstring(`conflict with "holdfast"`)), "it is said whose the field is")
				piped(ctx, cluster.Bob, minimal, "apply", "--server-side", "--force-conflicts", "-f", "-")
			}},
		} {
			By(row.means)
			row.do()
			toldOf(ctx, t, v1alpha1.ReasonResumedElsewhere, row.names)
			Expect(t.Await(ctx, "the suspend is handled", func(ctx context.Context) (bool, string, error) { // the trigger may not say yet that it was resumed
				k, err := t.Kustomization(ctx)
				token := k.Annotations["reconcile.fluxcd.io/requestedAt"]
				return k.Spec.Suspend && token == k.Status.LastHandledReconcileAt, fmt.Sprint(k.Spec.Suspend, token, k.Status.LastHandledReconcileAt), err
			})).To(Succeed())
			Expect(t.AwaitHeld(ctx)).To(Succeed())
		}
		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
	})

	It("whose marks are taken off is marked again, and never resumed for it", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "own-marks")
		before := kustomization(ctx, t)
		for what, patch := range map[string]string{
			"our finalizer":      `{"metadata":{"finalizers":["finalizers.fluxcd.io"]}}`,
			"all finalizers":     `{"metadata":{"finalizers":null}}`,
			"held-by":            `{"metadata":{"annotations":{"holdfast.dev/held-by":null}}}`,
			"the token":          `{"metadata":{"annotations":{"reconcile.fluxcd.io/requestedAt":null}}}`,
			"everything but one": `{"metadata":{"finalizers":null,"annotations":null}}`,
		} {
			By(what)
			by(ctx, t, "kustomization", patch)
			Expect(t.Await(ctx, "the hold is whole", func(ctx context.Context) (bool, string, error) {
				k, err := t.Kustomization(ctx)
				by, token := k.Annotations[v1alpha1.HeldByAnnotation], k.Annotations["reconcile.fluxcd.io/requestedAt"]
				return slices.Contains(k.Finalizers, v1alpha1.HoldFinalizer) && strings.HasSuffix(by, "/"+string(trigger(ctx, t).UID)) &&
					token != "" && token == k.Status.LastHandledReconcileAt, fmt.Sprint(k.Finalizers, k.Annotations), err
			})).To(Succeed())
			Expect(t.AwaitHeld(ctx)).To(Succeed())
		}
		Expect(kustomization(ctx, t).Generation).To(Equal(before.Generation), "a resume would have made another generation")
	})

	It("that a person suspends too is applied and handed back all the same", storyBound, func(ctx SpecContext) {
		t := stillTeam(ctx, "own-suspend")
		k := kustomization(ctx, t)
		Expect(t.Client.Patch(ctx, k, client.RawPatch(types.MergePatchType, []byte(suspend)), client.FieldOwner("flux"))).To(Succeed())
		ask(ctx, t, "r1", pushed(ctx, t, "debug"))
		ends(ctx, t, "r1", v1alpha1.OperationSucceeded)
		Expect(t.Client.Patch(ctx, k, client.RawPatch(types.MergePatchType, []byte(suspend)), client.FieldOwner("flux"))).To(Succeed())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "delete", "fluxtrigger", "web", "--timeout=60s")
		handedBack(ctx, t)
	})

	// B13
	It("that a parent resumes every few seconds is taken back once, then left to the parent until that lets go, and goes with it when pruned",
		storyBound, func(ctx SpecContext) {
			t := stillTeam(ctx, "own-parent")
			writes := suspensions(ctx, t)
			gives := func(content string) {
				GinkgoHelper()
				commit, err := world.Git.Commit(ctx, t.Name, "main", bob, "Parent", map[string]string{"parent/child.yaml": content})
				Expect(err).NotTo(HaveOccurred())
				fetched(ctx, t, commit)
			}
			parent := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.FluxNamespace, Name: t.Name + "-parent"}}
			goesOn := func(runs int) { // as many reconciliations of the parent
				GinkgoHelper()
				Expect(t.Client.Get(ctx, client.ObjectKeyFromObject(parent), parent)).To(Succeed())
				since := reconciliations(parent)
				Expect(t.Await(ctx, "the parent applies", func(ctx context.Context) (bool, string, error) {
					err := t.Client.Get(ctx, client.ObjectKeyFromObject(parent), parent)
					return reconciliations(parent) >= since+int64(runs), fmt.Sprint(reconciliations(parent)), err
				})).To(Succeed())
			}
			gives(child(t, "suspend: false"))
			own := kustomization(ctx, t).Spec
			parent.Spec = kustomizev1.KustomizationSpec{
				Path: "./parent", Interval: metav1.Duration{Duration: 2 * time.Second}, Prune: true, SourceRef: own.SourceRef,
			}
			Expect(t.Client.Create(ctx, parent)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) {
				Expect(client.IgnoreNotFound(t.Client.Delete(ctx, parent))).To(Succeed())
			})

			message, err := t.AwaitReason(ctx, web(t), v1alpha1.ConditionConfigured, v1alpha1.ReasonSuspendOwnedElsewhere)
			Expect(err).NotTo(HaveOccurred())
			Expect(message).To(And(ContainSubstring("kustomize-controller"), ContainSubstring("take the field out")))
			waits(ctx, t, "Stalled")
			toldOf(ctx, t, v1alpha1.ReasonResumedElsewhere, "kustomize-controller")
			toldOf(ctx, t, v1alpha1.ReasonSuspendOwnedElsewhere, "kustomize-controller")
			goesOn(3)
			Expect(kustomization(ctx, t).Spec.Suspend).To(BeFalse())
			Expect(writes.Load()).To(BeNumerically("==", 1), "suspended once, and no more")

			By("the parent does not have the field any more")
			gives(child(t, "retryInterval: 1m"))
			Expect(t.AwaitHeld(ctx)).To(Succeed())
			Expect(kustomization(ctx, t).Spec.Suspend).To(BeTrue())
			goesOn(2)
			Expect(writes.Load()).To(BeNumerically("==", 2))
			Expect(t.AwaitHeld(ctx)).To(Succeed())

			By("the parent does not have the Kustomization any more") // B12
			gives("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: own-parent, namespace: own-parent}\n")
			Expect(t.Await(ctx, "the Kustomization is gone", func(ctx context.Context) (bool, string, error) {
				k, err := t.Kustomization(ctx)
				return apierrors.IsNotFound(err), fmt.Sprint(k.Finalizers), client.IgnoreNotFound(err)
			})).To(Succeed())
			toldOf(ctx, t, v1alpha1.ReasonApplierDeleted, "2 objects")
			Expect(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "configmap,deployment", "-l", "kustomize.toolkit.fluxcd.io/name="+t.Name, "-o", "name")).To(BeEmpty())
		})
})

// reconciliations is how often Flux has run the Kustomization with what it has.
func reconciliations(k *kustomizev1.Kustomization) (n int64) {
	for _, h := range k.Status.History {
		n += h.TotalReconciliations
	}
	return n
}

// B21
var _ = Describe("Edits of mirrored objects, by whatever field manager", Label("flux"), func() {
	It("are each captured, and after the next apply the objects are as Git says", storyBound, func(ctx SpecContext) {
		const n = 4
		t := settledTeam(ctx, scene.Options{Name: "own-edits", Files: scene.ConfigMaps("own-edits", n, "0"), Idle: 500 * time.Millisecond, Quiet: 2 * time.Second})
		manifest := func(i int, added string) string {
			return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: cm-%03d\n  namespace: %s\ndata:\n  rev: \"1\"\n  added: %s\n", i, t.Name, added)
		}
		kubectlEdit(ctx, cluster.Alice, `s/^  rev: .*/  rev: "1"\n  added: edit/`, "-n", t.Name, "configmap", "cm-000")
		piped(ctx, cluster.Alice, manifest(1, "apply"), "apply", "-f", "-")
		piped(ctx, cluster.Alice, manifest(2, "server-side"), "apply", "--server-side", "--force-conflicts", "-f", "-")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "patch", "configmap", "cm-003", "--field-manager=somebody", "--type=merge", "-p", `{"data":{"rev":"1","added":"patch"}}`)

		files := func() map[string]map[string]string { // data by name, of the branch's tip
			all := map[string]map[string]string{}
			for i := range n {
				name := fmt.Sprintf("cm-%03d", i)
				text, err := world.Git.ReadFile(ctx, t.Name, head(ctx, t), "apps/"+name+".yaml")
				Expect(err).NotTo(HaveOccurred())
				var c corev1.ConfigMap
				Expect(yaml.Unmarshal([]byte(text), &c)).To(Succeed())
				all[name] = c.Data
			}
			return all
		}
		live := func() map[string]map[string]string {
			var list corev1.ConfigMapList
			Expect(t.Client.List(ctx, &list, client.InNamespace(t.Name), client.MatchingLabels{"kustomize.toolkit.fluxcd.io/name": t.Name})).To(Succeed())
			all := map[string]map[string]string{}
			for _, c := range list.Items {
				all[c.Name] = c.Data
			}
			return all
		}
		want := map[string]map[string]string{}
		for i, added := range []string{"edit", "apply", "server-side", "patch"} {
			want[fmt.Sprintf("cm-%03d", i)] = map[string]string{"rev": "1", "added": added}
		}
		Expect(t.Await(ctx, "all four are in Git", func(context.Context) (bool, string, error) {
			in := files()
			return maps.EqualFunc(in, want, maps.Equal), fmt.Sprint(in), nil
		})).To(Succeed())
		_, err := t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())
		Expect(live()).To(Equal(want))

		By("Git takes out what they brought: a field stays while a manager that is not kubectl's owns it, which is how Flux is")
		gone, err := world.Git.Commit(ctx, t.Name, "main", bob, "Take it out", scene.ConfigMaps(t.Name, n, "2"))
		Expect(err).NotTo(HaveOccurred())
		_, err = t.AwaitApplied(ctx, gone)
		Expect(err).NotTo(HaveOccurred())
		want = files()
		want["cm-003"]["added"] = "patch"
		Expect(live()).To(Equal(want))
		Expect(head(ctx, t)).To(Equal(gone), "and nothing of it comes back as an edit")
	})
})
