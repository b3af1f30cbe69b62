// Package buildcache turns Go modules into programs and keeps them outside the checkout, so that the second run of a
// suite starts at once.
//
// A program from an upstream module is kept under a key: a hash of everything that can change what comes out, which is
// its module's go.mod and go.sum, the module's own sources, the Go version and the flags. Equal key, equal program; so
// nothing is ever rebuilt "to be sure" and nothing stale is ever used. Programs of the product itself change with every
// edit, so there the Go build cache decides.
//
// One file lock a key lets any number of test runs share the folder: the first builds, the others wait and say so. A
// program appears under its name only when it is whole, by a rename.
//
// It never downloads a prebuilt program and never builds two things at once: linking the control plane takes gigabytes.
package buildcache
