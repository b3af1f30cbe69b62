// Package author turns the username of an audit event into the name and e-mail address of a Git author.
//
// It decides only how a username is written down. Whether a username is proven is decided where facts are joined.
package author
