// Package trust keeps API servers trusting the injector while its certificates change.
//
// One Secret holds the authority. Every replica signs a certificate of its own from it, kept in memory and served without
// a restart, and every replica writes the caBundle of the webhook configuration. What makes a change of authority safe is
// the order, which Step decides for each replica alone:
//
//	the Secret has another authority
//	  │   it is added to the bundle, beside those that are there
//	  ▼
//	trusted: the bundle has had it for Settle, so that every API server knows
//	  │   this replica signs a new certificate from it and serves that
//	  ▼
//	the bundle drops what the Secret has not had for Overlap, by when every replica has moved
//
// Until then a replica serves the last good certificate, whatever became of the Secret. A Secret that is missing, cannot be
// read, or is about to expire gets a new authority; deleting it is how a person asks for one. Two replicas that make one at
// the same time do no harm: each serves from what it read back, and the bundle has both.
//
// The package never reads a Secret but its own, and of the webhook configuration it writes nothing but caBundle.
package trust
