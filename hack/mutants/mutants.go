package main

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

	// Run is the regular expression for go test's -run; "" runs all tests of the package.
	Run string

	// Args follow the package, for the test binary: `-ginkgo.focus=…`.
	Args []string
}

// mutants are run in this order; neighbours with the same tests share one run of the unchanged source.
var mutants = []Mutant{
	{
		Name:    "author-name-keeps-angle-brackets",
		Promise: "A username cannot forge a line of a commit's header.",
		File:    "gitmirror/author/author.go",
		Old:     `if r < 0x20 || r == 0x7f || r == '<' || r == '>' || r == '\uFFFD' {`,
		New:     `if r == 0x7f || r == '\uFFFD' {`,
		Package: "./gitmirror/author",
		Run:     "^TestOfWritesDownAUsername$",
	},
}
