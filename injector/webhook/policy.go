package webhook

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/go-logr/logr"

	"github.com/holdfast-gitops/holdfast/injector/inject"
)

// pollPolicy is how often the file is looked at; kubelet takes a minute to change it.
const pollPolicy = 2 * time.Second

// PolicyFile is the policy of a file that may change at any time. A change that cannot be used leaves the last good one.
type PolicyFile struct {
	path    string
	metrics *Metrics
	log     logr.Logger

	mu      sync.RWMutex
	content []byte
	seen    bool
	good    *inject.Policy
	problem error
}

// OpenPolicy reads the file. A file that cannot be used is no error: Current and Ready say so until it can.
func OpenPolicy(path string, m *Metrics, log logr.Logger) *PolicyFile {
	p := &PolicyFile{path: path, metrics: m, log: log}
	p.look()
	return p
}

// Current returns the newest policy that could be used, or why there was none.
func (p *PolicyFile) Current() (inject.Policy, error) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.good == nil {
		return inject.Policy{}, p.problem
	}
	return *p.good, nil
}

// Ready returns why there is no policy.
func (p *PolicyFile) Ready() error {
	_, err := p.Current()
	return err
}

// Start looks at the file until ctx ends.
func (p *PolicyFile) Start(ctx context.Context) error {
	tick := time.NewTicker(pollPolicy)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			p.look()
		}
	}
}

// NeedLeaderElection is false: every replica answers calls.
func (p *PolicyFile) NeedLeaderElection() bool { return false }

// look reads the file, and takes what it says when that has changed and can be used.
func (p *PolicyFile) look() {
	content, err := os.ReadFile(p.path)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil && p.seen && bytes.Equal(content, p.content) {
		return
	}
	var policy inject.Policy
	if err == nil {
		p.content, p.seen = content, true
		policy, err = inject.ParsePolicy(content)
	} else {
		p.seen = false // what comes next is new
	}
	p.metrics.policy(err)
	if err != nil {
		err = fmt.Errorf("policy %s: %w", p.path, err)
		if !sameText(err, p.problem) {
			p.log.Error(err, "the policy cannot be used", "lastGoodHolds", p.good != nil)
		}
		p.problem = err
		return
	}
	p.good, p.problem = &policy, nil
	p.log.Info("the policy holds from now on", "image", policy.Image, "flux", policy.Flux.Enabled, "argocd", policy.ArgoCD.Enabled)
}

func sameText(a, b error) bool { return b != nil && a.Error() == b.Error() }
