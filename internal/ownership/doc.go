// Package ownership reads off a Kustomization's managedFields what of it is Holdfast's, and whose the rest is.
//
// A value alone says nothing about who put it there: anybody who may write a Kustomization can write the annotation or the
// finalizer of a hold. What a holder applied, the API server has recorded under its field manager, until somebody else sets
// another value. The package decides nothing about what follows.
package ownership
