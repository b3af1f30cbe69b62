package trust

import (
	"context"
	"crypto/x509"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	acadmission "k8s.io/client-go/applyconfigurations/admissionregistration/v1"
	accore "k8s.io/client-go/applyconfigurations/core/v1"
	acmeta "k8s.io/client-go/applyconfigurations/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// FieldManager owns the caBundle of the webhook configuration and the Secret, and nothing else of either.
const FieldManager = "holdfast-injector"

// perform does what is planned. Every step may be repeated. A write loses against one it has not seen, with a conflict.
func (k *Keeper) perform(ctx context.Context, w *seenObjects, p Plan, now time.Time) error {
	if p.Sign {
		s, err := w.kept.sign(w.hosts, now)
		if err != nil {
			return err
		}
		k.serve(s)
		k.Metrics.changed(changeCertificate)
		log.FromContext(ctx).Info("another certificate is served", "hosts", s.leaf.Hosts, "notAfter", s.leaf.NotAfter, "authority", s.leaf.By)
	}
	if p.Write {
		if err := k.writeBundles(ctx, w, p.Bundle); err != nil {
			return fmt.Errorf("write caBundle of the webhook configuration %s: %w", k.Configuration, err)
		}
	}
	if p.Make {
		if err := k.makeAuthority(ctx, w, now); err != nil {
			return fmt.Errorf("write the Secret %s: %w", k.Secret, err)
		}
	}
	return nil
}

// writeBundles applies caBundle of every webhook to the configuration as it was read.
func (k *Keeper) writeBundles(ctx context.Context, w *seenObjects, want []Mark) error {
	var certs []*x509.Certificate
	for _, mark := range want {
		certs = append(certs, w.known[mark])
	}
	bundle := writeBundle(certs)
	if len(bundle) == 0 {
		return nil // there is no authority yet; nothing is taken away before there is
	}
	c := acadmission.MutatingWebhookConfiguration(w.configuration.Name).
		WithUID(w.configuration.UID).WithResourceVersion(w.configuration.ResourceVersion)
	for _, webhook := range w.configuration.Webhooks {
		clientConfig := acadmission.WebhookClientConfig().WithCABundle(bundle...)
		c.WithWebhooks(acadmission.MutatingWebhook().WithName(webhook.Name).WithClientConfig(clientConfig))
	}
	if err := k.Client.Apply(ctx, c, client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return err
	}
	k.Metrics.changed(changeBundle)
	log.FromContext(ctx).Info("caBundle was written", "configuration", w.configuration.Name, "authorities", want)
	return nil
}

// makeAuthority puts a new authority into the Secret, which goes when the webhook configuration does.
func (k *Keeper) makeAuthority(ctx context.Context, w *seenObjects, now time.Time) error {
	s, err := makeSigner(now)
	if err != nil {
		return err
	}
	o := ownerOf(w.configuration)
	owner := acmeta.OwnerReference().WithAPIVersion(o.APIVersion).WithKind(o.Kind).WithName(o.Name).WithUID(o.UID)
	secret := accore.Secret(k.Secret.Name, k.Secret.Namespace).WithOwnerReferences(owner).WithData(s.data())
	reason := "a third of its time is left"
	if w.useless != nil {
		reason = w.useless.Error()
	}
	if w.secret != nil {
		secret.WithUID(w.secret.UID).WithResourceVersion(w.secret.ResourceVersion)
	} else {
		secret.WithType(corev1.SecretTypeTLS)
	}
	if err := k.Client.Apply(ctx, secret, client.FieldOwner(FieldManager), client.ForceOwnership); err != nil {
		return err
	}
	k.Metrics.changed(changeAuthority)
	log.FromContext(ctx).Info("a new authority was made", "secret", k.Secret, "why", reason, "authority", markOf(s.certificate().Raw))
	return nil
}
