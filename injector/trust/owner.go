package trust

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owner is the webhook configuration as an owner: what the injector writes belongs to it, and is collected once it is
// gone, whoever removes it and however. nil: there is none, as far as was seen last.
func (k *Keeper) Owner() *metav1.OwnerReference {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return k.owner.DeepCopy()
}

// owns keeps what Owner returns; a nil configuration owns nothing.
func (k *Keeper) owns(c *admissionregistrationv1.MutatingWebhookConfiguration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.owner = nil
	if c != nil {
		k.owner = ownerOf(c)
	}
}

func ownerOf(c *admissionregistrationv1.MutatingWebhookConfiguration) *metav1.OwnerReference {
	return &metav1.OwnerReference{
		APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingWebhookConfiguration", Name: c.Name, UID: c.UID,
	}
}
