package cluster

import (
	"crypto/rand"
)

// Users of the world's Git server; each may read and write every repository. Git.Password gives their passwords, which
// differ in every world, so that one found in a log can only have leaked.
const (
	GitHoldfast = "holdfast" // gitmirror
	GitBob      = "bob"      // a person with a clone
	GitFlux     = "flux"     // source-controller
)

func gitUsers() map[string]string {
	return map[string]string{GitHoldfast: rand.Text(), GitBob: rand.Text(), GitFlux: rand.Text()}
}
