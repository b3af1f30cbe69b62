package inject

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"
)

// list reads amounts such as "cpu=1 memory=1Gi".
func list(t testing.TB, text string) corev1.ResourceList {
	t.Helper()
	out := corev1.ResourceList{}
	for _, field := range strings.Fields(text) {
		name, amount, _ := strings.Cut(field, "=")
		out[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
	return out
}

// needs reads requests and limits such as "cpu=10m / cpu=1".
func needs(t testing.TB, text string) corev1.ResourceRequirements {
	t.Helper()
	requests, limits, _ := strings.Cut(text, "/")
	return corev1.ResourceRequirements{Requests: list(t, requests), Limits: list(t, limits)}
}

// itemsOf reads the items of a LimitRange "l".
func itemsOf(t testing.TB, text string) Room {
	t.Helper()
	var items []corev1.LimitRangeItem
	if err := yaml.UnmarshalStrict([]byte(text), &items); err != nil {
		t.Fatal(err)
	}
	return Room{Ranges: []corev1.LimitRange{{ObjectMeta: metav1.ObjectMeta{Name: "l"}, Spec: corev1.LimitRangeSpec{Limits: items}}}}
}

// quotaOf is a quota "q" that is as it is asked for: hard, used and scopes.
func quotaOf(t testing.TB, hard, used string, scopes ...corev1.ResourceQuotaScope) Room {
	t.Helper()
	return Room{Quotas: []corev1.ResourceQuota{{
		ObjectMeta: metav1.ObjectMeta{Name: "q"}, Spec: corev1.ResourceQuotaSpec{Scopes: scopes},
		Status: corev1.ResourceQuotaStatus{Hard: list(t, hard), Used: list(t, used)},
	}}}
}

// podWith is a pod whose controller has resources, in need of a holder.
func podWith(t testing.TB, resources string) *corev1.Pod {
	t.Helper()
	return &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Resources: needs(t, resources)}}}}
}

const (
	fluxs   = "cpu=100m memory=64Mi / cpu=1 memory=1Gi"
	holders = "cpu=10m memory=64Mi / cpu=1 memory=512Mi"
)

// B7
func TestAHolderFitsIntoTheLimitRangesOfItsNamespace(t *testing.T) {
	for _, row := range []struct {
		name, items string
		pod, want   string
		refused     string // a part of it; "": it is not
	}{
		{"no limits", ``, fluxs, holders, ""},
		{"what each container must have, it has", `[{type: Container, min: {cpu: 10m, memory: 64Mi}}]`, fluxs, holders, ""},
		{"less than each must have is raised", `[{type: Container, min: {cpu: 11m}}]`, fluxs, "cpu=11m memory=64Mi / cpu=1 memory=512Mi", ""},
		{"and its limit with it", `[{type: Container, min: {memory: 600Mi}}]`, "cpu=1 memory=1Gi / cpu=1 memory=1Gi",
			"cpu=10m memory=600Mi / cpu=1 memory=600Mi", ""},
		{"as much as each may have, it has", `[{type: Container, max: {cpu: "1", memory: 512Mi}}]`, fluxs, holders, ""},
		{"more than each may have is lowered", `[{type: Container, max: {cpu: 999m, memory: 511Mi}}]`, fluxs, "cpu=10m memory=64Mi / cpu=999m memory=511Mi", ""},
		{"a request of more too", `[{type: Container, max: {cpu: 5m}}]`, fluxs, "cpu=5m memory=64Mi / cpu=5m memory=512Mi", ""},
		{"memory is lowered to the policy's request", `[{type: Container, max: {memory: 64Mi}}]`, fluxs, "cpu=10m memory=64Mi / cpu=1 memory=64Mi", ""},
		{"and no further: it would not start", `[{type: Container, max: {memory: 63Mi}}]`, "/memory=63Mi", "",
			"LimitRange l wants at most 63Mi of memory for each Container, and the holder has a request of 64Mi and a limit of 64Mi"},
		{"as many times its request as allowed", `[{type: Container, maxLimitRequestRatio: {cpu: "100"}}]`, fluxs, holders, ""},
		{"more often than allowed raises the request", `[{type: Container, maxLimitRequestRatio: {cpu: "99", memory: "4"}}]`, fluxs,
			"cpu=11m memory=128Mi / cpu=1 memory=512Mi", ""},
		{"a ratio of one makes both the same", `[{type: Container, maxLimitRequestRatio: {cpu: "1"}}]`, fluxs, "cpu=1 memory=64Mi / cpu=1 memory=512Mi", ""},
		{"several at once", `[{type: Container, min: {cpu: 50m}, max: {cpu: "2"}}, {type: Container, max: {cpu: 500m}, maxLimitRequestRatio: {cpu: "5"}}]`, fluxs,
			"cpu=100m memory=64Mi / cpu=500m memory=512Mi", ""},
		{"as much as a pod may have, with its holder", `[{type: Pod, max: {cpu: "2", memory: 1536Mi}}]`, fluxs, holders, ""},
		{"more than a pod may have", `[{type: Pod, max: {cpu: 1999m}}]`, fluxs, "",
			"LimitRange l wants at most 1999m of cpu for each Pod, and the pod with a holder has a request of 110m and a limit of 2"},
		{"less of the controller's own may fit", `[{type: Pod, max: {cpu: 400m}}]`, "cpu=100m memory=64Mi / cpu=200m memory=1Gi",
			"cpu=100m memory=64Mi / cpu=200m memory=1Gi", ""},
		{"with just the memory it needs too", `[{type: Pod, max: {cpu: 400m}}]`, "cpu=100m memory=64Mi / cpu=200m memory=64Mi",
			"cpu=100m memory=64Mi / cpu=200m memory=64Mi", ""},
		{"but not with less", `[{type: Pod, max: {cpu: 400m}}]`, "cpu=100m memory=32Mi / cpu=200m memory=63Mi", "", "LimitRange l"},
		{"more than a pod may have without a holder is not the holder's doing", `[{type: Pod, max: {cpu: 999m}}]`, fluxs, holders, ""},
		{"what is said of claims is not said of pods", `[{type: PersistentVolumeClaim, max: {storage: 1Gi}}]`, fluxs, holders, ""},
		{"what nobody says is given", `[{type: Container, max: {ephemeral-storage: 1Gi}, default: {ephemeral-storage: 1Gi}, defaultRequest: {ephemeral-storage: 1Gi}}]`,
			fluxs, holders, ""},
		{"and where it is not, the controller's own fit", `[{type: Container, max: {ephemeral-storage: 1Gi}}]`,
			fluxs + " ephemeral-storage=1Gi", fluxs + " ephemeral-storage=1Gi", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			checkTaken(t, itemsOf(t, row.items), podWith(t, row.pod), holders, row.want, row.refused)
		})
	}
}

// checkTaken checks what a holder that should have wanted gets in a pod.
func checkTaken(t *testing.T, room Room, pod *corev1.Pod, wanted, want, refused string) {
	t.Helper()
	got, warning, why := room.take(pod, &pod.Spec.Containers[0], needs(t, wanted), false)
	if refused != "" || why != "" {
		if refused == "" || !strings.Contains(why, refused) {
			t.Errorf("refused because %q, want %q", why, refused)
		}
		return
	}
	if changed := !same(needs(t, wanted), needs(t, want)); (warning != "") != changed {
		t.Errorf("the warning is %q", warning)
	}
	if !same(got, needs(t, want)) {
		t.Errorf("got %v, want %s", got, want)
	}
}

func same(a, b corev1.ResourceRequirements) bool {
	equal := func(a, b corev1.ResourceList) bool {
		for name := range a {
			if x, y := a[name], b[name]; x.Cmp(y) != 0 {
				return false
			}
		}
		return len(a) == len(b)
	}
	return equal(a.Requests, b.Requests) && equal(a.Limits, b.Limits)
}

// B7
func TestAHolderFitsIntoTheQuotasOfItsNamespace(t *testing.T) {
	for _, row := range []struct {
		name, hard, used string
		pod, want        string
		refused          string
	}{
		{"as much as is left", "requests.cpu=1 limits.cpu=3", "requests.cpu=890m limits.cpu=1", fluxs, holders, ""},
		{"less of a request", "requests.cpu=1", "requests.cpu=891m", fluxs, "",
			"ResourceQuota q has 1 of requests.cpu, 891m of it used, and the pod with a holder takes 110m"},
		{"less of a limit", "limits.cpu=3", "limits.cpu=1001m", fluxs, "", "limits.cpu"},
		{"less memory requested", "requests.memory=1Gi", "requests.memory=897Mi", fluxs, "", "requests.memory"},
		{"less memory", "limits.memory=2Gi", "limits.memory=513Mi", fluxs, "", "limits.memory"},
		{"cpu is what is requested of it", "cpu=1", "cpu=891m", fluxs, "", "1 of cpu"},
		{"so is memory", "memory=1Gi", "memory=897Mi", fluxs, "", "1Gi of memory"},
		{"what is used up without a holder is not the holder's doing", "limits.cpu=1", "limits.cpu=1", fluxs, holders, ""},
		{"a number of pods is none of cpu", "pods=1", "pods=0", fluxs, holders, ""},
		{"storage is asked of nobody", "limits.ephemeral-storage=1Gi", "", fluxs, holders, ""},
		{"less of the controller's own may fit", "limits.cpu=1", "limits.cpu=600m", "cpu=1m memory=64Mi/cpu=200m memory=1Gi",
			"cpu=1m memory=64Mi/cpu=200m memory=1Gi", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			checkTaken(t, quotaOf(t, row.hard, row.used), podWith(t, row.pod), holders, row.want, row.refused)
		})
	}
}

func TestAQuotaWantsAnAmountOfEveryContainer(t *testing.T) {
	room := quotaOf(t, "limits.cpu=4", "limits.cpu=0")
	checkTaken(t, room, podWith(t, fluxs), "cpu=10m/", fluxs, "")
	checkTaken(t, room, podWith(t, "/"), "cpu=10m/cpu=1", "cpu=10m/cpu=1", "") // refused without a holder too
	checkTaken(t, room, podWith(t, "/"), "cpu=10m/", "", "wants limits.cpu of every container, and holdfast-holder has none")
}

func TestAQuotaCountsThePodsInItsScopes(t *testing.T) {
	full := func(scopes ...corev1.ResourceQuotaScope) Room {
		return quotaOf(t, "requests.cpu=100m", "requests.cpu=0", scopes...)
	}
	classes := func(op corev1.ScopeSelectorOperator, values ...string) Room {
		r := full()
		r.Quotas[0].Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: op, Values: values},
		}}
		return r
	}
	ending, critical := podWith(t, fluxs), podWith(t, fluxs)
	ending.Spec.ActiveDeadlineSeconds, critical.Spec.PriorityClassName = ptr.To(int64(9)), "critical"
	for _, row := range []struct {
		name   string
		room   Room
		pod    *corev1.Pod
		counts bool
	}{
		{"all, without any", full(), podWith(t, fluxs), true},
		{"those without a deadline", full(corev1.ResourceQuotaScopeNotTerminating), podWith(t, fluxs), true},
		{"not those with one", full(corev1.ResourceQuotaScopeNotTerminating), ending, false},
		{"those with a deadline", full(corev1.ResourceQuotaScopeTerminating), ending, true},
		{"not those without", full(corev1.ResourceQuotaScopeTerminating), podWith(t, fluxs), false},
		{"those that ask for something", full(corev1.ResourceQuotaScopeNotBestEffort), podWith(t, fluxs), true},
		{"not those that do, of the others", full(corev1.ResourceQuotaScopeBestEffort), podWith(t, fluxs), false},
		{"those of a class", full(corev1.ResourceQuotaScopePriorityClass), critical, true},
		{"not those without a class", full(corev1.ResourceQuotaScopePriorityClass), podWith(t, fluxs), false},
		{"those of this class", classes(corev1.ScopeSelectorOpIn, "critical"), critical, true},
		{"not those of another", classes(corev1.ScopeSelectorOpIn, "low"), critical, false},
		{"those of any other class", classes(corev1.ScopeSelectorOpNotIn, "low"), critical, true},
		{"not those of a class named", classes(corev1.ScopeSelectorOpNotIn, "critical"), critical, false},
		{"those of no class", classes(corev1.ScopeSelectorOpDoesNotExist), podWith(t, fluxs), true},
		{"not those of one", classes(corev1.ScopeSelectorOpDoesNotExist), critical, false},
		{"those of a scope that is not known here", full("Tomorrow"), podWith(t, fluxs), true},
		{"only those of all scopes", full(corev1.ResourceQuotaScopeNotBestEffort, corev1.ResourceQuotaScopeTerminating), podWith(t, fluxs), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, _, refused := row.room.take(row.pod, &row.pod.Spec.Containers[0], needs(t, holders), false); (refused != "") != row.counts {
				t.Errorf("refused because %q", refused)
			}
		})
	}
}

// A pod that asks for nothing gets into the scope of other quotas by a holder that asks for something.
func TestAHolderDoesNotMoveItsPodIntoAQuotaThatRefusesIt(t *testing.T) {
	room := quotaOf(t, "requests.cpu=9", "requests.cpu=0", corev1.ResourceQuotaScopeNotBestEffort)
	checkTaken(t, room, podWith(t, "/"), holders, "/", "")
}

func TestAPodThatLimitsAllItsContainersTogetherIsJudgedByThat(t *testing.T) {
	pod := podWith(t, "/")
	pod.Spec.Resources = ptr.To(needs(t, fluxs))
	checkTaken(t, quotaOf(t, "limits.cpu=1 limits.memory=1Gi", ""), pod, "/", "/", "")
	checkTaken(t, itemsOf(t, `[{type: Pod, max: {cpu: "1"}}]`), pod, "/", "/", "")
	each := func(amounts string) Room {
		return itemsOf(t, "[{type: Container, default: "+amounts+", defaultRequest: "+amounts+"}]")
	}
	checkTaken(t, each(`{cpu: 100m, memory: 64Mi}`), pod, "/", "/", "")
	checkTaken(t, each(`{cpu: 101m}`), pod, "/", "", "the pod requests 100m of cpu for all its containers, and with the holder's they come to 101m")
	pod.Spec.Resources.Requests = nil
	checkTaken(t, each(`{cpu: 1001m}`), pod, "/", "", "the pod is limited to 1 of cpu, and holdfast-holder to 1001m")
	pod.Spec.Containers[0].Resources = needs(t, "/cpu=100m")
	checkTaken(t, each(`{cpu: 1001m}`), pod, "/", "/cpu=100m", "")
}

func TestWhatAPodAsksForInAll(t *testing.T) {
	sidecar := ptr.To(corev1.ContainerRestartPolicyAlways)
	pod := podWith(t, "cpu=100m/cpu=1")
	pod.Spec.InitContainers = []corev1.Container{
		{Resources: needs(t, "cpu=10m/cpu=100m"), RestartPolicy: sidecar},
		{Resources: needs(t, "cpu=200m memory=1Gi/cpu=200m")}, // beside the first sidecar alone
		{Resources: needs(t, "cpu=20m/cpu=100m"), RestartPolicy: sidecar},
	}
	pod.Spec.Overhead = list(t, "cpu=1 memory=1Mi")
	if got := total(pod); !same(got, needs(t, "cpu=210m memory=1Gi/cpu=1200m")) {
		t.Errorf("got %v", got)
	}
	got, want := usage(pod), list(t, "cpu=1210m requests.cpu=1210m memory=1025Mi requests.memory=1025Mi limits.cpu=2200m")
	if !same(corev1.ResourceRequirements{Requests: got}, corev1.ResourceRequirements{Requests: want}) {
		t.Errorf("got %v", got)
	}
}

// The quota has counted a pod that runs, and one that takes its place gets what that one had.
func TestAPodThatRunsIsLookedAtAsOneThatTakesItsPlace(t *testing.T) {
	pod := fluxPod(t)
	for _, row := range []struct {
		limit string
		want  Skip
	}{{"2", ""}, {"1999m", SkipNoRoom}} {
		room := quotaOf(t, "limits.cpu="+row.limit, "limits.cpu=1")
		if r := Look(pod, DefaultPolicy(), room); r.Skip != row.want || !r.Skip.Missing() {
			t.Errorf("with %s: %q, %s", row.limit, r.Skip, r.Why)
		}
	}
}
