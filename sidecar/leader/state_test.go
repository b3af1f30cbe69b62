package leader

import (
	"testing"
	"time"
)

func TestLeaseOfIsTheNameFluxGivesIt(t *testing.T) {
	for _, row := range []struct{ name, selector, want string }{
		{"without shards", "", "flux-system/kustomize-controller-leader-election"},
		// printf %s "$selector" | sha256sum | cut -c1-8
		{"of a shard", "sharding.fluxcd.io/key=shard1", "flux-system/kustomize-controller-leader-election-73fdc1be"},
		{"of the main controller beside shards", "!sharding.fluxcd.io/key", "flux-system/kustomize-controller-leader-election-42da7484"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := LeaseOf("flux-system", row.selector).String(); got != row.want {
				t.Errorf("got %s, want %s", got, row.want)
			}
		})
	}
}

func TestAPodLeadsByTheIdentityOfItsProcess(t *testing.T) {
	for _, row := range []struct {
		name, identity, pod string
		want                bool
	}{
		{"a process of the pod", "kc-1_6f0c", "kc-1", true},
		{"a process of another pod", "kc-2_6f0c", "kc-1", false},
		{"a pod whose name begins alike", "kc-10_6f0c", "kc-1", false},
		{"a host whose name has the separator itself", "my_node_6f0c", "my_node", true},
		{"only the last separator counts", "my_node_6f0c", "my", false},
		{"the name alone is no process", "kc-1", "kc-1", false},
		{"nobody", "", "kc-1", false},
		{"nobody, for a pod without a name", "_6f0c", "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := leads(row.identity, row.pod); got != row.want {
				t.Errorf("leads(%q, %q) = %v", row.identity, row.pod, got)
			}
		})
	}
}

func TestStateCountsFromTheMomentAnIdentityIsSeen(t *testing.T) {
	type read struct {
		at, lease time.Duration
		identity  string
	}
	const s = time.Second
	for _, row := range []struct {
		name  string
		reads []read
		at    time.Duration
		want  State
	}{
		{"nothing read yet: nobody leads", nil, 3 * s, State{Since: 3 * s, Lease: fluxLease}},
		{"a leader that was there before this process is as new as any", []read{{2 * s, 10 * s, "a_1"}}, 5 * s,
			State{Leads: true, Controller: "a_1", Since: 3 * s, Lease: 10 * s}},
		{"a renewal changes nothing", []read{{2 * s, 10 * s, "a_1"}, {7 * s, 10 * s, "a_1"}}, 8 * s,
			State{Leads: true, Controller: "a_1", Since: 6 * s, Lease: 10 * s}},
		{"another process of the same pod is another leader", []read{{2 * s, 10 * s, "a_1"}, {7 * s, 10 * s, "a_2"}}, 8 * s,
			State{Leads: true, Controller: "a_2", Since: s, Lease: 10 * s}},
		{"another pod", []read{{2 * s, 10 * s, "a_1"}, {7 * s, 10 * s, "b_1"}}, 8 * s,
			State{Controller: "b_1", Since: s, Lease: 10 * s}},
		{"who steps down leaves a second, which is no leader's", []read{{2 * s, 10 * s, "a_1"}, {7 * s, s, ""}}, 8 * s,
			State{Since: s, Lease: 10 * s}},
		{"a lease that lasts longer now", []read{{2 * s, 10 * s, "a_1"}, {7 * s, 20 * s, "a_1"}}, 8 * s,
			State{Leads: true, Controller: "a_1", Since: 6 * s, Lease: 20 * s}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var o observation
			for _, r := range row.reads {
				o, _ = o.next(r.identity, r.lease, r.at)
			}
			if got := o.state("a", row.at); got != row.want {
				t.Errorf("got %+v, want %+v", got, row.want)
			}
		})
	}
}

func TestOnlyAnotherIdentityIsAChange(t *testing.T) {
	o, changed := observation{}.next("", 0, 1)
	if changed {
		t.Error("nobody after nobody is a change")
	}
	o, changed = o.next("a_1", time.Second, 2)
	if !changed {
		t.Error("a first leader is none")
	}
	if _, changed = o.next("a_1", time.Second, 3); changed {
		t.Error("a renewal is a change")
	}
	if _, changed = o.next("", 0, 3); !changed {
		t.Error("a leader less is none")
	}
}
