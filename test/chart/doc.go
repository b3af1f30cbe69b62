// Package chart holds the chart to what it promises, with helm's own library: that it lints, renders the same each time,
// refuses values it does not know, uses and documents those it has, and gives out no right its programs do not need.
//
// The renders under testdata are goldens: `go test . -update` writes them anew, to be read as code. That what is rendered
// works is told by the stories of test/e2e with the label install, with the helm program that is built from this module.
package chart
