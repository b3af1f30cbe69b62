// Package redact takes credentials out of text that people and other programs may read. Messages repeat what other programs
// said, such as the URL a controller could not fetch; whoever shows them passes them through here.
package redact
