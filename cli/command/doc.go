// Package command is the command line: it reads what a person asks for, talks to the API server, and prints one line for
// each object. What has to be done is decided elsewhere.
package command
