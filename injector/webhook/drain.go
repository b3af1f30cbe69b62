package webhook

import (
	"net/http"
	"sync/atomic"
)

// Drain lets API servers leave before the server stops: from Begin on each answer closes its connection, so that the
// next call comes over a new one, which the Service leads to another replica. The zero Drain has not begun.
type Drain struct{ begun atomic.Bool }

// Begin is called when the injector is told to stop, some seconds before the server does.
func (d *Drain) Begin() { d.begun.Store(true) }

// Begun reports whether the injector is stopping, for its readiness.
func (d *Drain) Begun() bool { return d.begun.Load() }

// Wrap is next with connections that end once draining has begun.
func (d *Drain) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.Begun() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}
