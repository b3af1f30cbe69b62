// Package scratch makes container images that are nothing but the files they are given: no base image, no registry, no
// container engine. The same files and the same Config make the same image, byte for byte, on any machine and at any time;
// what a file's clock, owner or place on this machine says is no part of it.
package scratch
