// Package stopping sees to it that a program that is told to stop does so. It decides nothing else: what a program still has to
// do, and how long it may take, its main says.
package stopping
