// Package status builds the conditions both programs report.
//
// It takes condition types and reasons of their own Go types, so that one in the place of the other does not compile. It
// keeps the transition time of a condition whose status stays, and bounds every message. It reads no clock and writes
// nothing anywhere: what is built here reaches the API server in the one status write of a pass.
package status
