// Package version says what a program of Holdfast was built from, in one way for all of them. It decides nothing: no
// behaviour may depend on what it returns.
package version
