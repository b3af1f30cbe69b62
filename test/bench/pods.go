package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/test/bench/stats"
	"github.com/holdfast-gitops/holdfast/test/cluster"
)

// The two namespaces of the comparison differ in one label.
const (
	podsAsked = "bench-pods-asked"
	podsAlone = "bench-pods-alone"

	calibrateFor  = 5 * time.Second
	calibrateWith = 16 // clients, each of which makes one pod after the other
	podsFor       = 4 * time.Second
	podRounds     = 6
)

// podCreations compares how long it takes to make a pod that the webhook gives a holder with one it is not asked about,
// at half the rate the API server managed for both in turn.
func (b *bench) podCreations(ctx context.Context) error {
	if err := b.world.StartInjector(ctx, 2); err != nil {
		return err
	}
	defer func() { _ = b.world.StopInjector(true) }()
	c, err := b.world.Client(cluster.Admin)
	if err != nil {
		return err
	}
	for name, labels := range map[string]map[string]string{podsAlone: nil, podsAsked: {v1alpha1.InjectLabel: v1alpha1.InjectEnabled}} {
		if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}); err != nil {
			return err
		}
		if err := c.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "kustomize-controller"}}); err != nil {
			return err
		}
	}
	most, err := calibrate(ctx, c)
	if err != nil {
		return fmt.Errorf("calibrate: %w", err)
	}
	rate := most / 2
	say("pods: the API server makes %.0f a second; measuring at %.0f", most, rate)
	var asked, alone stats.Sample
	missed := 0
	for round := range b.roundsOr(podRounds) + 1 {
		order := []string{podsAlone, podsAsked}
		if round%2 == 1 {
			order[0], order[1] = order[1], order[0]
		}
		for _, namespace := range order {
			took, bare, err := paced(ctx, c, namespace, rate)
			if err != nil {
				return fmt.Errorf("in %s: %w", namespace, err)
			}
			switch {
			case round == 0: // it warms up
			case namespace == podsAsked:
				asked, missed = append(asked, took...), missed+bare
			default:
				alone = append(alone, took...)
			}
			if err := c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)); err != nil {
				return err
			}
		}
	}
	b.table.add(fmt.Sprintf("pod creations at %.0f a second (half of the %.0f that were possible): p99 %s with the webhook, %s without, ratio %.2f",
		rate, most, ms(asked.P99()), ms(alone.P99()), float64(asked.P99())/float64(alone.P99())),
		compare("medians", named{"with the webhook", asked}, named{"without", alone}, 0),
		fmt.Sprintf("%d pods with and %d without it; %d of those with it came without a holder, because the API server waited in vain", len(asked), len(alone), missed))
	return nil
}

// calibrate returns how many pods a second can be made when the webhook is asked about every other one.
func calibrate(ctx context.Context, c client.Client) (float64, error) {
	var made atomic.Int64
	errs := make([]error, calibrateWith)
	begin := time.Now()
	var clients sync.WaitGroup
	for i := range errs {
		clients.Go(func() {
			for errs[i] == nil && time.Since(begin) < calibrateFor {
				_, errs[i] = makePod(ctx, c, [...]string{podsAlone, podsAsked}[made.Add(1)%2])
			}
		})
	}
	clients.Wait()
	took := time.Since(begin)
	for _, namespace := range []string{podsAlone, podsAsked} {
		errs = append(errs, c.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0)))
	}
	return float64(made.Load()) / took.Seconds(), errors.Join(errs...)
}

// paced makes pods at a rate, whether or not those before are made. It returns how long each took from when it was due, and
// how many have no holder.
func paced(ctx context.Context, c client.Client, namespace string, rate float64) (took stats.Sample, bare int, err error) {
	n := int(rate * podsFor.Seconds())
	took = make(stats.Sample, n)
	errs, injected := make([]error, n), make([]bool, n)
	begin := time.Now()
	var pods sync.WaitGroup
	for i := range n {
		due := begin.Add(time.Duration(float64(i) / rate * float64(time.Second)))
		time.Sleep(time.Until(due)) // the pace is what is measured at, not something waited for
		pods.Go(func() {
			injected[i], errs[i] = makePod(ctx, c, namespace)
			took[i] = time.Since(due)
		})
	}
	pods.Wait()
	for _, is := range injected {
		if !is {
			bare++
		}
	}
	return took, bare, errors.Join(errs...)
}

// makePod makes a pod of kustomize-controller, and reports whether it got a holder.
func makePod(ctx context.Context, c client.Client, namespace string) (injected bool, err error) {
	small := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "kustomize-controller-7c9f8d6b5-", Labels: map[string]string{"app": "kustomize-controller"}},
		Spec: corev1.PodSpec{
			ServiceAccountName: "kustomize-controller",
			Containers: []corev1.Container{{
				Name: "manager", Image: "ghcr.io/fluxcd/kustomize-controller:v1.9.6",
				Args: []string{"--watch-all-namespaces", "--log-level=info", "--log-encoding=json", "--enable-leader-election"},
				Env: []corev1.EnvVar{{Name: "RUNTIME_NAMESPACE", ValueFrom: &corev1.EnvVarSource{
					FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.namespace"},
				}}},
				Resources: corev1.ResourceRequirements{Requests: small, Limits: small},
			}},
		},
	}
	if err := c.Create(ctx, pod); err != nil {
		return false, err
	}
	return len(pod.Spec.InitContainers) > 0, nil
}
