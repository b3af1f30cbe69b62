package main

import "slices"

// Mutant is one line of defence taken out, and the tests that must notice.
type Mutant struct {
	// Name in kebab case; -only takes it.
	Name string

	// Promise the removed line keeps, as a sentence.
	Promise string

	// File that is changed, from the repository's root.
	File string

	// Old is the text taken out. It must occur in File exactly once.
	Old string

	// New is the text put in its place. The result must compile.
	New string

	// Dir is the module whose tests run, from the repository's root; "" is the root module itself.
	Dir string

	// Package to test, as the go command takes it from Dir.
	Package string

	// Run is the regular expression for go test's -run. It names tests that fail for the same reason each time: one that
	// searches at random would leave what it found in the checkout.
	Run string

	// Args follow the package, for the test binary: `-ginkgo.focus=…`.
	Args []string
}

// mutants are run in this order; neighbours with the same tests share one run of the unchanged source.
var mutants = slices.Concat(ofTheHolder, inTheStatusPage, ofTheInjector, aroundInjecting, ofGitmirror, inTheSimulator)
