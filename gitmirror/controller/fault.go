package controller

import (
	"errors"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/gitmirror/conditions"
	"github.com/holdfast-gitops/holdfast/gitmirror/gitstore"
)

// repositoryFault says in a GitProvider's words why its repository does not answer; the fields named are its own. credentials
// says whether it was asked with any.
func repositoryFault(err error, credentials bool) conditions.Fault {
	switch {
	case err == nil:
		return conditions.Fault{}
	case errors.Is(err, gitstore.ErrAuthentication) && !credentials:
		return conditions.Fault{Reason: v1alpha1.ReasonAuthenticationFailed, Message: "the repository wants credentials, or does not exist; " +
			"name a Secret with the keys username and password, or bearerToken, in spec.secretRef"}
	case errors.Is(err, gitstore.ErrAuthentication):
		return conditions.Fault{Reason: v1alpha1.ReasonAuthenticationFailed, Message: "correct the credentials in the Secret of spec.secretRef: " + err.Error()}
	case errors.Is(err, gitstore.ErrRepositoryNotFound):
		return conditions.Fault{Reason: v1alpha1.ReasonRepositoryNotFound, Message: "correct spec.url, or create the repository: " + err.Error()}
	default:
		return conditions.Fault{Reason: v1alpha1.ReasonUnreachable, Message: "see that the server of spec.url is up and can be reached from gitmirror: " + err.Error()}
	}
}
