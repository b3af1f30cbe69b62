package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Injector is the program's name; its replicas are called by InjectorReplica.
const Injector = "injector"

// InjectorNamespace is where the injector keeps its Secret and its Lease, and InjectorUser whom it acts as there.
const (
	InjectorNamespace = "holdfast-system"
	InjectorUser      = "system:serviceaccount:holdfast-system:holdfast-injector"
)

// HolderImage is the image of the holders that the injector of a world adds.
const HolderImage = "registry.example/holdfast:test"

// InjectorReplica names a replica to Kill, Revive, Running and LogTail. The first is 0.
func InjectorReplica(i int) string { return fmt.Sprintf("%s-%d", Injector, i) }

// injector is what a world has of it besides its replicas.
type injector struct {
	service  *balancer
	replicas []replicaPorts
}

type replicaPorts struct{ webhook, metrics, probes int }

// StartInjector starts so many replicas and waits until all are ready; args come after the usual ones. The first time it
// installs what the chart does: the roles, and the webhook configuration, with a URL in the place of the Service that
// nothing here could lead to. The API server's calls go to the replicas that are ready, in turn.
func (w *World) StartInjector(ctx context.Context, replicas int, args ...string) error {
	if err := w.buildProgram(ctx, w.root, Injector, "./injector"); err != nil {
		return err
	}
	if w.injector == nil || len(w.injector.replicas) != replicas {
		if w.injector != nil {
			if err := w.StopInjector(true); err != nil {
				return err
			}
		}
		if err := w.installInjector(ctx, replicas); err != nil {
			return fmt.Errorf("install the injector: %w", err)
		}
	}
	for i := range replicas {
		if w.Running(InjectorReplica(i)) {
			continue
		}
		if err := w.startProduct(ctx, w.injectorReplica(i, args), "./injector"); err != nil {
			return err
		}
	}
	return w.awaitService(ctx)
}

// StopInjector stops every replica: with SIGTERM when graceful, else with SIGKILL. The webhook configuration stays, so the
// API server calls in vain.
func (w *World) StopInjector(graceful bool) error {
	if w.injector == nil {
		return errors.New("stop the injector: it was not started")
	}
	var errs []error
	for i := range w.injector.replicas {
		if w.find(InjectorReplica(i)) != nil {
			errs = append(errs, w.stopProduct(InjectorReplica(i), graceful))
		}
	}
	return errors.Join(errs...)
}

// InjectorURL is where a replica answers API servers, for who knows whom to trust. Certificates are for localhost.
func (w *World) InjectorURL(i int) string {
	return fmt.Sprintf("https://localhost:%d/mutate-pod", w.injector.replicas[i].webhook)
}

// InjectorMetricsURL is where a replica serves its metrics.
func (w *World) InjectorMetricsURL(i int) string {
	return "http://" + loopback(w.injector.replicas[i].metrics) + "/metrics"
}

// WritePolicy changes the policy of the injector, which reads it within seconds.
func (w *World) WritePolicy(text string) error {
	file := w.path("policy.yaml")
	if err := os.WriteFile(file+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(file+".new", file)
}

// DefaultPolicy is what the injector of a world is told until somebody writes another policy.
func DefaultPolicy() string { return "image: " + HolderImage + "\nimagePullPolicy: IfNotPresent\n" }

func (w *World) injectorReplica(i int, args []string) component {
	p := w.injector.replicas[i]
	return component{
		name: InjectorReplica(i), program: Injector, grace: 15 * time.Second, ready: w.answers("http://" + loopback(p.probes) + "/readyz"),
		args: append([]string{
			"--kubeconfig=" + w.Kubeconfig(InjectorUser), "--policy=" + w.path("policy.yaml"), "--namespace=" + InjectorNamespace,
			"--webhook-bind-address=" + loopback(p.webhook), "--metrics-bind-address=" + loopback(p.metrics),
			"--health-probe-bind-address=" + loopback(p.probes), "--identity=" + InjectorReplica(i), "--log-level=DEBUG", "--drain=1s",
		}, args...),
	}
}

// installInjector makes everything a chart would, and the Service's stand-in.
func (w *World) installInjector(ctx context.Context, replicas int) error {
	if w.injector != nil {
		w.injector.service.close()
	}
	client, err := w.pki.cluster.client(InjectorUser, groups(InjectorUser)...)
	if err != nil {
		return err
	}
	if err := writeKubeconfig(w.Kubeconfig(InjectorUser), w.apiURL(), InjectorUser, w.pki.cluster.pem, client); err != nil {
		return err
	}
	if err := w.Apply(ctx, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+InjectorNamespace+"}\n"); err != nil {
		return err
	}
	if err := w.grantProduct(ctx, InjectorUser, "injector.yaml"); err != nil {
		return err
	}
	if err := w.WritePolicy(DefaultPolicy()); err != nil {
		return err
	}
	ports, err := w.ports.more(1 + 3*replicas)
	if err != nil {
		return err
	}
	w.injector = &injector{}
	var backends []backend
	for i := range replicas {
		p := replicaPorts{ports[1+3*i], ports[2+3*i], ports[3+3*i]}
		w.injector.replicas = append(w.injector.replicas, p)
		backends = append(backends, backend{loopback(p.webhook), "http://" + loopback(p.probes) + "/readyz"})
	}
	if w.injector.service, err = startBalancer(loopback(ports[0]), backends); err != nil {
		return err
	}
	configuration, err := w.webhookConfiguration(fmt.Sprintf("https://localhost:%d/mutate-pod", ports[0]))
	if err != nil {
		return err
	}
	return w.apply(ctx, []*unstructured.Unstructured{configuration})
}

// webhookConfiguration is the chart's, with a URL in the place of the Service. Of the chart's own functions it needs the
// one that writes an object's metadata.
func (w *World) webhookConfiguration(url string) (*unstructured.Unstructured, error) {
	file := filepath.Join(w.root, "charts", "holdfast", "templates", "injector", "mutatingwebhookconfiguration.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	t, err := template.New("configuration").Funcs(template.FuncMap{
		"dict":    func(...any) string { return "" },
		"include": func(string, any) string { return "name: holdfast-injector" },
		"nindent": func(n int, text string) string { return "\n" + strings.Repeat(" ", n) + text },
		"quote":   strconv.Quote,
	}).Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var rendered bytes.Buffer
	if err := t.Execute(&rendered, map[string]any{
		"Release": map[string]any{"Namespace": InjectorNamespace},
		"Values":  map[string]any{"injector": map[string]any{"timeoutSeconds": 5}},
	}); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	objects, err := decode(rendered.Bytes())
	if err != nil || len(objects) != 1 {
		return nil, fmt.Errorf("%s: %d objects, %w", file, len(objects), err)
	}
	webhooks, _, err := unstructured.NestedSlice(objects[0].Object, "webhooks")
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, webhook := range webhooks {
		webhook.(map[string]any)["clientConfig"] = map[string]any{"url": url}
	}
	return objects[0], unstructured.SetNestedSlice(objects[0].Object, webhooks, "webhooks")
}

// awaitService waits until the Service's stand-in leads to every replica.
func (w *World) awaitService(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startBound)
	defer cancel()
	tick := time.NewTicker(readyPoll)
	defer tick.Stop()
	for {
		ready := 0
		for i := range w.injector.service.ready {
			if w.injector.service.ready[i].Load() {
				ready++
			}
		}
		if ready == len(w.injector.replicas) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d of %d replicas of the injector are ready", ready, len(w.injector.replicas))
		case <-tick.C:
		}
	}
}
