package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// memory is what a holder knows beyond what the API says. Losing it in a restart is safe: what it speaks of is recorded.
type memory struct {
	mu       sync.Mutex
	followed map[types.UID]string // token of the operation this process follows, by trigger
	claims   map[string]claim     // by namespace/name of a GitRepository

	waiting map[types.NamespacedName]wait // the newest token that is not handled, by trigger
}

// wait is for a token to be handled.
type wait struct {
	token string
	since time.Time
}

// claim keeps others from recording an operation on a source until the one that has it is seen in the API.
type claim struct {
	trigger types.NamespacedName
	uid     types.UID
	writing bool // the record is on its way
}

// follows says that this process follows the trigger's operation.
func (m *memory) follows(t *v1alpha1.FluxTrigger) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	op := t.Status.Operation
	return op != nil && m.followed[t.UID] == op.Token
}

// follow notes what became of the trigger's operation: nil or a final one is followed no longer.
func (m *memory) follow(trigger types.UID, op *v1alpha1.Operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.followed == nil {
		m.followed = map[types.UID]string{}
	}
	if op == nil || op.Phase.Final() {
		delete(m.followed, trigger)
		return
	}
	m.followed[trigger] = op.Token
}

// waited returns for how long the trigger's applier has been seen with a token that is not handled; empty: it has none.
func (m *memory) waited(trigger types.NamespacedName, token string, now time.Time) time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = map[types.NamespacedName]wait{}
	}
	if token == "" {
		delete(m.waiting, trigger)
		return 0
	}
	if m.waiting[trigger].token != token {
		m.waiting[trigger] = wait{token, now}
	}
	return now.Sub(m.waiting[trigger].since)
}

// take claims the source for trigger while it writes its record; false when another has it.
func (m *memory) take(source string, trigger types.NamespacedName, uid types.UID) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.claims == nil {
		m.claims = map[string]claim{}
	}
	if c, taken := m.claims[source]; taken && c.uid != uid {
		return false
	}
	m.claims[source] = claim{trigger: trigger, uid: uid, writing: true}
	return true
}

// written says that the record of trigger has been answered, whatever the answer.
func (m *memory) written(source string, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, taken := m.claims[source]; taken && c.uid == uid {
		c.writing = false
		m.claims[source] = c
	}
}

// claimed returns who has the source, if that is not uid.
func (m *memory) claimed(source string, uid types.UID) (claim, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, taken := m.claims[source]
	return c, taken && c.uid != uid
}

// drop ends a claim, unless its record is on its way again.
func (m *memory) drop(source string, uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if c, taken := m.claims[source]; taken && c.uid == uid && !c.writing {
		delete(m.claims, source)
	}
}
