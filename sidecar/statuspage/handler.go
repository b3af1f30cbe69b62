package statuspage

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// notYet is what is answered until the cache is filled.
const notYet = "The holder cannot read its triggers yet. Ask again in a few seconds; /readyz says when it can."

// Handler serves the page at /, the document at /status and the page's changes at /status/events, to peers on the loopback
// interface alone. Everything else is not found, also to them.
func (p *Page) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", p.serve("text/html; charset=utf-8", func(r *http.Request) ([]byte, error) {
		return p.write(r.Context(), FilterOf(r.URL.Query()))
	}))
	mux.HandleFunc("/status", p.serve("application/json", func(r *http.Request) ([]byte, error) { return p.document(r.Context()) }))
	mux.HandleFunc("/status/events", p.events)
	for name, kind := range map[string]string{
		"status.js": "text/javascript; charset=utf-8", "status.css": "text/css; charset=utf-8", "status.svg": "image/svg+xml",
	} {
		mux.HandleFunc("/"+name, p.serve(kind, func(*http.Request) ([]byte, error) { return assets.ReadFile("assets/" + name) }))
	}
	return guarded(mux)
}

// serve answers with what write returns.
func (p *Page) serve(kind string, write func(*http.Request) ([]byte, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := write(r)
		if err != nil {
			log.FromContext(p.ctx).Error(err, "no status could be made")
			http.Error(w, notYet, http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		_, _ = w.Write(body) // to HEAD the server sends no body
	}
}

// document reads the triggers and writes the document.
func (p *Page) document(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var triggers v1alpha1.FluxTriggerList
	if err := p.cached.List(ctx, &triggers); err != nil {
		return nil, fmt.Errorf("list FluxTriggers for the status: %w", err)
	}
	body, err := json.MarshalIndent(Build(p.now(), triggers.Items, p.leadership()), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the status as JSON: %w", err)
	}
	return append(body, '\n'), nil
}
