package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/cluster"
	"github.com/holdfast-gitops/holdfast/test/cluster/gitserver"
	"github.com/holdfast-gitops/holdfast/test/scene"
)

// bob is the author of pushes by hand.
var bob = gitserver.Author{Name: "Bob", Email: cluster.Bob}

// push commits files to the team's branch as bob does from his clone.
func push(ctx context.Context, t *scene.Team, message string, files map[string]string) string {
	GinkgoHelper()
	hash, err := world.Git.Commit(ctx, t.Name, "main", bob, message, files)
	Expect(err).NotTo(HaveOccurred())
	return hash
}

// mirrored is a team whose objects are mirrored with nothing held, once its streams run.
func mirrored(ctx context.Context, o scene.Options) *scene.Team {
	GinkgoHelper()
	o.NoApply = true
	t := team(ctx, o)
	seen(ctx, t)
	return t
}

// seen waits until the team's streams run.
func seen(ctx context.Context, t *scene.Team) {
	GinkgoHelper()
	g, err := t.Target(ctx)
	Expect(err).NotTo(HaveOccurred())
	_, err = t.AwaitReason(ctx, g, v1alpha1.ConditionStreamsRunning, v1alpha1.ReasonSucceeded)
	Expect(err).NotTo(HaveOccurred())
}

// follows makes an edit as the deployer and expects its commit directly on tip: nothing was committed in between.
func follows(ctx context.Context, t *scene.Team, tip string) {
	GinkgoHelper()
	kubectl(ctx, cluster.Deployer, "-n", t.Name, "annotate", "--overwrite", "configmap/settings", "looked="+tip[:8])
	c, err := t.AwaitCommit(ctx, tip, deployer)
	Expect(err).NotTo(HaveOccurred())
	log, err := world.Git.Log(ctx, t.Name, "main")
	Expect(err).NotTo(HaveOccurred())
	Expect(log[0].Hash).To(Equal(c.Hash))
	Expect(log[1].Hash).To(Equal(tip), "committed in between: %s by %s", log[1].Message, log[1].AuthorName)
}

const deployer = "system=3Aserviceaccount=3Ateam-a=3Adeployer@users.holdfast.invalid"

// inGit reads the document of a ConfigMap out of the branch.
func inGit(ctx context.Context, t *scene.Team, path string) corev1.ConfigMap {
	GinkgoHelper()
	text, err := world.Git.ReadFile(ctx, t.Name, "main", path)
	Expect(err).NotTo(HaveOccurred())
	var cm corev1.ConfigMap
	Expect(yaml.Unmarshal([]byte(text), &cm)).To(Succeed())
	return cm
}

// live reads a ConfigMap of the team.
func live(ctx context.Context, t *scene.Team, name string) corev1.ConfigMap {
	GinkgoHelper()
	var cm corev1.ConfigMap
	Expect(t.Client.Get(ctx, t.In(name), &cm)).To(Succeed())
	return cm
}

var _ = Describe("Edits", Label("mirror"), func() {
	It("two hundred by five users at once: each lands once, by its author and in its order", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-crowd"})
		const each = 40
		users := map[string]string{cluster.Alice: cluster.Alice, cluster.Bob: cluster.Bob, cluster.Deployer: deployer,
			cluster.Admin: "admin@users.holdfast.invalid", cluster.HolderUser: "system=3Aserviceaccount=3Aflux-system=3Aholdfast-holder@users.holdfast.invalid"}
		kubectl(ctx, cluster.Admin, "-n", t.Name, "create", "rolebinding", "crowd", "--clusterrole=edit", "--serviceaccount=flux-system:holdfast-holder")
		var wg sync.WaitGroup
		for i, user := range []string{cluster.Alice, cluster.Bob, cluster.Deployer, cluster.Admin, cluster.HolderUser} {
			c, err := world.Client(user)
			Expect(err).NotTo(HaveOccurred())
			wg.Go(func() {
				defer GinkgoRecover()
				for n := range each {
					cm := &corev1.ConfigMap{}
					cm.Namespace, cm.Name = t.Name, "settings"
					patch := fmt.Sprintf(`{"data":{"user-%d":"%d"}}`, i, n)
					Expect(c.Patch(ctx, cm, client.RawPatch(types.MergePatchType, []byte(patch)))).To(Succeed())
				}
			})
		}
		wg.Wait()
		Expect(t.Await(ctx, "Git says what is live", func(ctx context.Context) (bool, string, error) {
			text, err := world.Git.ReadFile(ctx, t.Name, "main", "apps/settings.yaml")
			var cm corev1.ConfigMap
			if err == nil {
				err = yaml.Unmarshal([]byte(text), &cm)
			}
			return err == nil && fmt.Sprint(cm.Data) == fmt.Sprint(live(ctx, t, "settings").Data), text, err
		})).To(Succeed())
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		made := map[string]int{}
		for _, c := range log[:len(log)-1] {
			made[c.AuthorEmail]++
		}
		for user, email := range users {
			Expect(made).To(HaveKeyWithValue(email, each), user)
		}
		Expect(log).To(HaveLen(len(users)*each + 1))
	})

	It("made in whatever way are captured with their author B21", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-ways", Quiet: time.Hour})
		in := []string{"-n", t.Name}
		apply := func(text string, args ...string) {
			GinkgoHelper()
			_, err := world.KubectlInput(ctx, cluster.Alice, text, append(slices.Clone(in), args...)...)
			Expect(err).NotTo(HaveOccurred())
		}
		settings := scene.Settings(t.Name, "%s")
		for _, way := range []struct {
			says string
			do   func(value string)
		}{
			{"apply", func(v string) { apply(fmt.Sprintf(settings, v), "apply", "-f", "-") }},
			{"server-side apply", func(v string) {
				apply(fmt.Sprintf(settings, v), "apply", "--server-side", "--force-conflicts", "-f", "-")
			}},
			{"replace", func(v string) { apply(fmt.Sprintf(settings, v), "replace", "-f", "-") }},
			{"edit", func(v string) {
				cmd := exec.CommandContext(ctx, world.KubectlPath(), "-n", t.Name, "edit", "configmap", "settings")
				cmd.Env = append(os.Environ(), "KUBECONFIG="+world.Kubeconfig(cluster.Alice), "KUBE_EDITOR=sed -i s/level:.*/level:\\ "+v+"/")
				out, err := cmd.CombinedOutput()
				Expect(err).NotTo(HaveOccurred(), string(out))
			}},
			{"a patch", func(v string) {
				kubectl(ctx, cluster.Alice, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"level":"`+v+`"}}`)
			}},
			{"a JSON patch B37", func(v string) {
				kubectl(ctx, cluster.Alice, "-n", t.Name, "patch", "configmap", "settings", "--type=json", "-p", `[{"op":"replace","path":"/data/level","value":"`+v+`"}]`)
			}},
			{"a patch under the applier's own field manager", func(v string) {
				kubectl(ctx, cluster.Alice, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "--field-manager=kustomize-controller", "-p", `{"data":{"level":"`+v+`"}}`)
			}},
			{"an apply under the applier's own field manager", func(v string) {
				apply(fmt.Sprintf(settings, v), "apply", "--server-side", "--force-conflicts", "--field-manager=kustomize-controller", "-f", "-")
			}},
		} {
			By(way.says)
			before := head(ctx, t)
			value := strings.ReplaceAll(strings.ToLower(strings.Fields(way.says)[0]), "-", "") + "-" + before[:6]
			way.do(value)
			c, err := t.AwaitCommit(ctx, before, cluster.Alice)
			Expect(err).NotTo(HaveOccurred())
			Expect(c.Files).To(Equal([]string{"apps/settings.yaml"}))
			Expect(inGit(ctx, t, "apps/settings.yaml").Data).To(Equal(map[string]string{"level": value}))
		}
	})

	It("in somebody's name are that user's, and who did it is in a trailer B36", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-as"})
		before := head(ctx, t)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "--as", cluster.Bob, "scale", "deployment/web", "--replicas=3")
		c, err := t.AwaitCommit(ctx, before, cluster.Bob)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Message).To(ContainSubstring("\n\nImpersonated-By: admin <admin@users.holdfast.invalid>\nHoldfast-Write: "))
	})

	It("that the applier makes are never committed, and its copies by a person are", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-applier"})
		pushed := push(ctx, t, "Two things", map[string]string{
			"apps/settings.yaml": scene.Settings(t.Name, "debug"),
			"apps/more.yaml":     strings.Replace(scene.Settings(t.Name, "x"), "name: settings", "name: more", 1),
		})
		_, err := t.AwaitApplied(ctx, pushed)
		Expect(err).NotTo(HaveOccurred())
		Expect(live(ctx, t, "more").Labels).To(HaveKey("kustomize.toolkit.fluxcd.io/name"))
		follows(ctx, t, pushed)

		By("alice copies an object with the label that the applier put there")
		before := head(ctx, t)
		text := strings.Replace(kubectl(ctx, cluster.Alice, "-n", t.Name, "get", "configmap", "more", "-o", "yaml"), "name: more\n", "name: copy\n", 1)
		_, err = world.KubectlInput(ctx, cluster.Alice, text, "create", "-f", "-")
		Expect(err).NotTo(HaveOccurred())
		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Files).To(Equal([]string{"apps/" + t.Name + "/core/configmaps/copy.yaml"}))
		Expect(inGit(ctx, t, c.Files[0]).Labels).To(BeEmpty())
	})

	It("of another field while an apply runs stay, live and in Git", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-overlap"})
		thaw := freeze(cluster.KustomizeController)
		pushed := push(ctx, t, "Scale", map[string]string{"apps/web.yaml": strings.Replace(scene.Web(t.Name)["apps/web.yaml"], "replicas: 1", "replicas: 2", 1)})
		Expect(t.Await(ctx, "the operation is under way", func(ctx context.Context) (bool, string, error) {
			f, err := t.Trigger(ctx)
			op := f.Status.Operation
			return err == nil && op != nil && op.Commit == pushed, scene.Say(f), err
		})).To(Succeed())
		kubectl(ctx, cluster.Alice, "-n", t.Name, "set", "env", "deployment/web", "GREETING=while")
		kubectl(ctx, cluster.Alice, "-n", t.Name, "annotate", "deployment/web", "note=while")
		thaw()
		Expect(t.Await(ctx, "both edits are in Git", func(ctx context.Context) (bool, string, error) {
			text, err := world.Git.ReadFile(ctx, t.Name, "main", "apps/web.yaml")
			return strings.Contains(text, "note: while") && strings.Contains(text, `"while"`) && strings.Contains(text, "replicas: 2"), text, err
		})).To(Succeed())
		_, err := t.AwaitApplied(ctx, head(ctx, t))
		Expect(err).NotTo(HaveOccurred())
		Expect(kubectl(ctx, cluster.Admin, "-n", t.Name, "get", "deployment", "web", "-o",
			`jsonpath={.spec.replicas} {.metadata.annotations.note} {.spec.template.spec.containers[0].env[0].value}`)).To(Equal("2 while while"))
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		for _, c := range log[:len(log)-2] {
			Expect(c.AuthorEmail).To(BeElementOf(cluster.Alice, cluster.Bob), "the applier's own writes are nobody's edit: %s", c.Message)
		}
	})

	It("that only have a prefix of a name are each told apart B34", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-generate"})
		const each = 10
		authors := map[string]string{}
		var mu sync.Mutex
		var wg sync.WaitGroup
		for _, user := range []string{cluster.Alice, cluster.Bob} {
			c, err := world.Client(user)
			Expect(err).NotTo(HaveOccurred())
			for range each {
				wg.Go(func() {
					defer GinkgoRecover()
					cm := &corev1.ConfigMap{Data: map[string]string{"by": user}}
					cm.Namespace, cm.GenerateName = t.Name, "made-"
					Expect(c.Create(ctx, cm)).To(Succeed())
					mu.Lock()
					defer mu.Unlock()
					authors["apps/"+t.Name+"/core/configmaps/"+cm.Name+".yaml"] = user
				})
			}
		}
		wg.Wait()
		Expect(t.Await(ctx, "all are in Git", func(ctx context.Context) (bool, string, error) {
			log, err := world.Git.Log(ctx, t.Name, "main")
			return len(log) == 2*each+1, fmt.Sprint(len(log), " commits"), err
		})).To(Succeed())
		log, err := world.Git.Log(ctx, t.Name, "main")
		Expect(err).NotTo(HaveOccurred())
		for _, c := range log[:2*each] {
			Expect(c.Files).To(HaveLen(1))
			Expect(c.AuthorEmail).To(Equal(authors[c.Files[0]]), c.Files[0])
		}
	})

	It("that delete and wait for a finalizer are whoever's asked for it", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-finalizer"})
		before := head(ctx, t)
		kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"metadata":{"finalizers":["example.org/wait"]}}`)
		kubectl(ctx, cluster.Alice, "-n", t.Name, "delete", "configmap", "settings", "--wait=false")
		kubectl(ctx, cluster.Bob, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"data":{"level":"late"}}`)
		kubectl(ctx, cluster.Bob, "-n", t.Name, "patch", "configmap", "settings", "--type=merge", "-p", `{"metadata":{"finalizers":[]}}`)
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonEditRefused, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(And(ContainSubstring("by "+cluster.Alice), ContainSubstring("apps/settings.yaml")))
		Expect(head(ctx, t)).To(Equal(before))
	})

	// But for U+0085, which kustomize itself makes a blank of.
	It("with whatever text survive the way to Git and back B53", storyBound, func(ctx SpecContext) {
		t := settledTeam(ctx, scene.Options{Name: "team-hostile"})
		before := head(ctx, t)
		cm := &corev1.ConfigMap{Data: map[string]string{}, BinaryData: map[string][]byte{}}
		cm.Namespace, cm.Name = t.Name, "hostile.name-0"
		for i, v := range []string{"yes", "No", "on", "1e3", "0o17", "0123", "1_000", "null", "~", "12:30", ".inf", "-.nan", "0x1F", "2030-01-02", "=", "<<", "!!str x",
			"", " ", "\n", "\n\n", "a\n", "a\n\n", "\ta", "a\tb", "  lead\nand\n", "trail  \n", "a\r\nb\r\n", "# no comment", "a: b", "- a", "---\na: 1\n", "...", "{{ .x }}",
			"\"'`", "\\n", "%YAML", "@at", "&a *a", "é\u00a0\u2028\u2029\ufeff\U0001F600", "\x07\x1b[31m", strings.Repeat("long ", 200), "kind: Secret\nmetadata: {name: x}\n"} {
			cm.Data[fmt.Sprintf("%02d", i)] = v
		}
		for _, key := range []string{"yes", "null", "1e3", "a..b", "-", "_", "0", ".hidden", "on.yaml"} {
			cm.Data["key-"+key], cm.Data[key] = key, "v"
		}
		for b := range 256 {
			cm.BinaryData["bytes"] = append(cm.BinaryData["bytes"], byte(b))
		}
		cm.Annotations = map[string]string{"example.org/note": "yes", "example.org/lines": "a\n b\n"}
		want := cm.DeepCopy()
		alice, err := world.Client(cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(alice.Create(ctx, cm)).To(Succeed())
		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Files).To(Equal([]string{"apps/" + t.Name + "/core/configmaps/hostile.name-0.yaml"}))
		got := inGit(ctx, t, c.Files[0])
		Expect(got.Data).To(Equal(want.Data))
		Expect(got.BinaryData).To(Equal(want.BinaryData))

		By("the applier reads the same out of it")
		_, err = t.AwaitApplied(ctx, c.Hash)
		Expect(err).NotTo(HaveOccurred())
		back := live(ctx, t, cm.Name)
		Expect(back.Data).To(Equal(want.Data))
		Expect(back.BinaryData).To(Equal(want.BinaryData))
		Expect(back.Annotations).To(And(HaveKeyWithValue("example.org/note", "yes"), HaveKeyWithValue("example.org/lines", "a\n b\n")))

		By("and an edit of one value changes that value alone")
		patch, err := json.Marshal(map[string]any{"data": map[string]string{"00": "on\nand off"}})
		Expect(err).NotTo(HaveOccurred())
		Expect(alice.Patch(ctx, cm, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
		_, err = t.AwaitCommit(ctx, c.Hash, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		want.Data["00"] = "on\nand off"
		Expect(inGit(ctx, t, c.Files[0]).Data).To(Equal(want.Data))
	})

	It("of a megabyte are written or refused by name, and stop nobody", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-huge"})
		before := head(ctx, t)
		alice, err := world.Client(cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		large := func(name string, bytes int) *corev1.ConfigMap {
			cm := &corev1.ConfigMap{Data: map[string]string{"text": strings.Repeat("0123456789abcdef", bytes/16)}}
			cm.Namespace, cm.Name = t.Name, name
			return cm
		}
		Expect(alice.Create(ctx, large("large", 900<<10))).To(Succeed())
		c, err := t.AwaitCommit(ctx, before, cluster.Alice)
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Files).To(Equal([]string{"apps/" + t.Name + "/core/configmaps/large.yaml"}))
		Expect(alice.Create(ctx, large("largest", 1<<20-16))).To(Succeed())
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonEditRefused, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(And(ContainSubstring("largest"), ContainSubstring("bigger than")))
		follows(ctx, t, c.Hash)
	})

	It("of a kind of somebody's own are mirrored, and the end of the kind deletes nothing B41", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-gadgets"})
		Expect(world.Apply(ctx, strings.ReplaceAll(strings.ReplaceAll(widgets+"---\n"+seeWidgets, "idget", "adget"), "shop.example", "attack.example"))).To(Succeed())
		kubectl(ctx, cluster.Admin, "-n", t.Name, "patch", "watchrule", "web", "--type=json", "-p",
			`[{"op":"add","path":"/spec/rules/-","value":{"apiGroups":["attack.example"],"resources":["wadgets"]}}]`)
		rule := &v1alpha1.WatchRule{}
		rule.Namespace, rule.Name = t.Name, "web"
		Expect(t.Within(healBound).Await(ctx, "the rule is seen", func(ctx context.Context) (bool, string, error) {
			err := t.Client.Get(ctx, client.ObjectKeyFromObject(rule), rule)
			ok, saw, _ := t.IsTrue(ctx, rule, v1alpha1.ConditionReady)
			return ok && rule.Status.ObservedGeneration == rule.Generation, saw, err
		})).To(Succeed())
		wadget := func(name string) {
			GinkgoHelper()
			text := "apiVersion: attack.example/v1\nkind: Wadget\nmetadata: {name: " + name + ", namespace: " + t.Name + "}\nspec: {size: 3, on: \"yes\"}\n"
			_, err := world.KubectlInput(ctx, cluster.Admin, text, "create", "-f", "-")
			Expect(err).NotTo(HaveOccurred())
		}
		By("one whose document says that the kind is watched")
		wadget("first")
		Expect(t.Await(ctx, "its document", func(ctx context.Context) (bool, string, error) {
			_, err := world.Git.ReadFile(ctx, t.Name, "main", "apps/"+t.Name+"/attack.example/wadgets/first.yaml")
			return err == nil, "", err
		})).To(Succeed())
		before := head(ctx, t)
		wadget("w")
		c, err := t.AwaitCommit(ctx, before, "admin@users.holdfast.invalid")
		Expect(err).NotTo(HaveOccurred())
		Expect(c.Files).To(Equal([]string{"apps/" + t.Name + "/attack.example/wadgets/w.yaml"}))

		kubectl(ctx, cluster.Admin, "delete", "crd", "wadgets.attack.example")
		message, err := t.AwaitEvent(ctx, v1alpha1.ReasonEditRefused, "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(message).To(ContainSubstring("/attack.example/wadgets/"))
		follows(ctx, t, c.Hash)
	})

	It("that delete a whole namespace write nothing and disturb nobody", storyBound, func(ctx SpecContext) {
		t := mirrored(ctx, scene.Options{Name: "team-doomed"})
		other := mirrored(ctx, scene.Options{Name: "team-beside"})
		before, beside := head(ctx, t), head(ctx, other)
		kubectl(ctx, cluster.Admin, "delete", "namespace", t.Name)
		follows(ctx, other, beside)
		Expect(head(ctx, t)).To(Equal(before))
	})
})
