package page

import (
	"context"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	cdpruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
	"github.com/holdfast-gitops/holdfast/sidecar/statuspage"
)

var shots = flag.String("shots", "", "a folder in which the tests leave what they saw, as PNG files")

// bound is how long one test may take: a browser on a busy machine is slow, and nothing here is waited for longer.
const bound = 90 * time.Second

var browser context.Context

// TestMain starts one browser for all tests; each has a tab of its own, with cookies and storage of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(func() int {
		path, err := chromium()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
			chromedp.WindowSize(1280, 900), chromedp.Flag("hide-scrollbars", true), chromedp.Flag("force-color-profile", "srgb"))
		if os.Getuid() == 0 {
			options = append(options, chromedp.NoSandbox) // Chromium refuses to start as root with it
		}
		ctx, stop := chromedp.NewExecAllocator(context.Background(), options...)
		defer stop()
		ctx, end := chromedp.NewContext(ctx)
		defer end()
		if err := chromedp.Do(ctx); err != nil {
			fmt.Fprintf(os.Stderr, "start %s: %v\n", path, err)
			return 1
		}
		browser = ctx
		return m.Run()
	}())
}

// chromium returns the path of the browser.
func chromium() (string, error) {
	names := []string{"chromium", "chromium-browser", "google-chrome"}
	if own := os.Getenv("HOLDFAST_CHROMIUM"); own != "" {
		names = []string{own}
	}
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no %s on PATH: apt-get install chromium, or name one in HOLDFAST_CHROMIUM", strings.Join(names, ", "))
}

// holder serves the page as a holder does.
type holder struct {
	t       *testing.T
	client  client.Client
	address string
	streams atomic.Int32 // open at this moment

	mu     sync.Mutex
	page   *statuspage.Page
	leads  bool
	server *http.Server
}

// serve starts a holder with triggers.
func serve(t *testing.T, triggers ...v1alpha1.FluxTrigger) *holder {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	build := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.FluxTrigger{})
	for i := range triggers {
		build.WithObjects(&triggers[i])
	}
	h := &holder{t: t, client: build.Build(), address: "127.0.0.1:0", leads: true}
	h.start()
	t.Cleanup(h.stop)
	return h
}

// start serves; after a stop at the same address, as a new process would.
func (h *holder) start() {
	h.t.Helper()
	listener, err := net.Listen("tcp", h.address)
	if err != nil {
		h.t.Fatal(err)
	}
	h.address = listener.Addr().String()
	ctx, end := context.WithCancel(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	h.page = statuspage.New(ctx, h.client, h.leadership, clock)
	inner := h.page.Handler()
	h.server = &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/status/events" {
			h.streams.Add(1)
			defer h.streams.Add(-1)
		}
		inner.ServeHTTP(w, r)
	})}
	h.server.RegisterOnShutdown(end)
	go func() { _ = h.server.Serve(listener) }()
}

// stop ends the holder, with every stream.
func (h *holder) stop() {
	h.mu.Lock()
	server := h.server
	h.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		h.t.Errorf("the server does not stop, so a stream goes on: %v", err)
	}
}

func (h *holder) leadership() statuspage.Leadership {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := statuspage.Leadership{Holder: "flux-system/holdfast-holder-kustomize-controller-7d9f8c6b5-x2x7k", Leads: h.leads}
	l.Controller = "kustomize-controller-7d9f8c6b5-x2x7k_2f1c"
	return l
}

// lead changes who leads, which nobody tells the page.
func (h *holder) lead(leads bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.leads = leads
}

// change writes the status of a trigger and tells the page, as the informer does.
func (h *holder) change(namespace, name string, edit func(*v1alpha1.FluxTrigger)) {
	h.t.Helper()
	var f v1alpha1.FluxTrigger
	if err := h.client.Get(h.t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &f); err != nil {
		h.t.Fatal(err)
	}
	edit(&f)
	if err := h.client.Status().Update(h.t.Context(), &f); err != nil {
		h.t.Fatal(err)
	}
	h.changed()
}

func (h *holder) changed() {
	h.mu.Lock()
	page := h.page
	h.mu.Unlock()
	page.Changed()
}

// tab is one page in the browser.
type tab struct {
	t   *testing.T
	ctx context.Context
	h   *holder

	mu       sync.Mutex
	wrong    []string // what the browser complained of
	asked    []string // URLs
	tolerate string   // complaints with this text are expected
}

// open shows path of h in a new tab. At the end of the test the browser must have complained of nothing, and asked nobody
// else for anything.
func open(t *testing.T, h *holder, path string, before ...step) *tab {
	t.Helper()
	b := &tab{t: t, h: h}
	ctx, closeTab := chromedp.NewContext(browser, chromedp.WithNewBrowserContext(), chromedp.WithListener(b.listen))
	ctx, cancel := context.WithTimeout(ctx, bound)
	b.ctx = ctx
	t.Cleanup(func() { b.judge(); cancel(); closeTab() })
	b.run(call(log.Enable, cdp.Empty{}), call(network.Enable, network.EnableParams{}))
	b.run(append(before, chromedp.Navigate("http://"+h.address+path))...)
	return b
}

func (b *tab) listen(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *log.EventEntryAdded:
		b.wrong = append(b.wrong, fmt.Sprintf("%s %s: %s %s", e.Entry.Source, e.Entry.Level, e.Entry.Text, e.Entry.URL))
	case *cdpruntime.EventExceptionThrown:
		b.wrong = append(b.wrong, "exception: "+e.ExceptionDetails.Text)
	case *cdpruntime.EventConsoleAPICalled:
		b.wrong = append(b.wrong, fmt.Sprintf("console.%s", e.Type))
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	}
}

func (b *tab) judge() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range b.wrong {
		if b.tolerate == "" || !strings.Contains(w, b.tolerate) {
			b.t.Errorf("the browser complains: %s", w)
		}
	}
	for _, a := range b.asked {
		if u, err := url.Parse(a); err != nil || u.Host != b.h.address || u.Scheme != "http" {
			b.t.Errorf("the page asked %s", a)
		}
	}
	if len(b.asked) < 3 {
		b.t.Errorf("the browser is known to have asked for %d things only, so this test sees too little", len(b.asked))
	}
}

// step is something done in the browser that has no result.
type step = chromedp.Action[chromedp.Void]

// call sends a command of the debugging protocol.
func call[P, R any](command cdp.Command[P, R], params P) step {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, command, params)
		return err
	})
}

func (b *tab) run(steps ...step) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatalf("%v; the browser complained: %q", err, b.wrong)
	}
}

// get returns what a JavaScript expression is, or what its promise becomes.
func get[T any](b *tab, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// await waits until an expression holds: the page shows a change within a second, but the machine may be busy.
func (b *tab) await(what, expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, 20*time.Second)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		held, err := chromedp.Run(ctx, chromedp.Evaluate[bool]("!!("+expression+")"))
		if held && err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			b.t.Fatalf("%s: not seen: %v\nthe page says: %s", what, err, get[string](b, "document.body.innerText.slice(0, 1500)"))
		}
	}
}

// text returns what is seen of an element.
func (b *tab) text(selector string) string {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Text(selector))
	if err != nil {
		b.t.Fatalf("%s: %v", selector, err)
	}
	return text
}

// live waits until the page is told of changes.
func (b *tab) live() { b.t.Helper(); b.await("the page is live", `live.dataset.how === "on"`) }

// media emulates what a person has set in their system.
func media(features ...string) step {
	var m emulation.SetEmulatedMediaParams
	for i := 0; i < len(features); i += 2 {
		m.Features = append(m.Features, &emulation.MediaFeature{Name: features[i], Value: features[i+1]})
	}
	return call(emulation.SetEmulatedMedia, m)
}

// shot leaves a picture of the page where -shots says.
func (b *tab) shot(name string) {
	b.t.Helper()
	if *shots == "" {
		return
	}
	get[int](b, `document.querySelectorAll("#appliers > li").forEach((li) => { li.style.contentVisibility = "visible"; }) || 0`)
	png, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(*shots+"/"+name+".png", png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
