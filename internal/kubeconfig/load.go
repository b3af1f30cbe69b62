package kubeconfig

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
)

// Load returns how to reach the API server: by the file --kubeconfig or KUBECONFIG names, as the account of the pod, or by
// the file in the home directory, in this order. An error says what each lacks.
func Load() (*rest.Config, error) {
	c, err := config.GetConfig()
	switch {
	case err == nil:
		return c, nil
	case clientcmd.IsEmptyConfig(err):
		_, account := rest.InClusterConfig() // which was found wanting already, and only logged
		return nil, fmt.Errorf("find the API server: neither --kubeconfig nor KUBECONFIG names a file, and there is no account of a pod to use: %w", account)
	}
	return nil, fmt.Errorf("find the API server: read the kubeconfig: %w", err)
}
