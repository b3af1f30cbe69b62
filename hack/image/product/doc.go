// Package product knows what Holdfast's own image is made of: its programs, each linked statically, the certificate
// authorities by which gitmirror knows a Git host, and the one user they run as. There is no shell in it, nothing is
// writable, and no command: a pod names the program it runs.
//
// The Dockerfile at the root of the checkout makes the same with a container engine. It takes the files from this package
// too; a test keeps the rest of the two together.
package product
