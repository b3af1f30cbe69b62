package statuspage

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

// readTimeout bounds how long an answer waits for a cache that is not filled yet.
const readTimeout = 5 * time.Second

// Page draws the board when somebody looks and something changed since; else it does nothing. Its methods may be called
// from any goroutine.
type Page struct {
	ctx        context.Context // ends with the holder
	cached     client.Reader
	leadership func() Leadership
	now        func() time.Time
	run        string // tells the versions of this holder's boards from those of any other
	turn       chan struct{}

	mu      sync.Mutex
	changed chan struct{} // closed when a trigger changed
	dirty   bool          // a trigger changed since the board was drawn
	board   *Board
	drawn   int
	streams int
}

// New returns a page of the FluxTriggers in cached. Its streams end with ctx. leadership and now are asked when the board is
// drawn, and every second while somebody looks; they must not wait for anything.
func New(ctx context.Context, cached client.Reader, leadership func() Leadership, now func() time.Time) *Page {
	return &Page{
		ctx: ctx, cached: cached, leadership: leadership, now: now,
		run: rand.Text()[:8], turn: make(chan struct{}, 1), changed: make(chan struct{}),
	}
}

// Follow has every change of a FluxTrigger in informers told to the page. It returns at once.
func (p *Page) Follow(ctx context.Context, informers cache.Informers) error {
	informer, err := informers.GetInformer(ctx, &v1alpha1.FluxTrigger{}, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watch FluxTriggers for the status page: %w", err)
	}
	tell := func(any) { p.Changed() }
	_, err = informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: tell, UpdateFunc: func(_, o any) { tell(o) }, DeleteFunc: tell,
	})
	if err != nil {
		return fmt.Errorf("watch FluxTriggers for the status page: %w", err)
	}
	return nil
}

// Changed says that the cache holds something else than before. It costs next to nothing.
func (p *Page) Changed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.dirty {
		p.dirty = true
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// next is closed with the next change that the board of now does not show.
func (p *Page) next() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.dirty {
		already := make(chan struct{})
		close(already)
		return already
	}
	return p.changed
}

// current returns the board as things are now. It is drawn once for all who ask.
func (p *Page) current(ctx context.Context) (*Board, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the status to be drawn: %w", ctx.Err())
	}
	leadership := p.leadership()
	p.mu.Lock()
	before, right := p.board, !p.dirty && p.board != nil && p.board.Leadership == leadership
	p.dirty = false // what comes from here on may or may not be in the board
	p.mu.Unlock()
	if right {
		return before, nil
	}
	var triggers v1alpha1.FluxTriggerList
	err := p.cached.List(ctx, &triggers, client.UnsafeDisableDeepCopy) // Draw changes none of them
	if err == nil {
		p.drawn++
		var board *Board
		if board, err = Draw(before, fmt.Sprintf("%s-%d", p.run, p.drawn), p.now(), triggers.Items, leadership); err == nil {
			p.mu.Lock()
			p.board = board
			p.mu.Unlock()
			return board, nil
		}
	}
	p.mu.Lock()
	p.dirty = true
	p.mu.Unlock()
	return nil, fmt.Errorf("draw the status of FluxTriggers: %w", err)
}

// write returns the whole page for filter.
func (p *Page) write(ctx context.Context, filter Filter) ([]byte, error) {
	board, err := p.current(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = board.Page(&b, filter)
	return b.Bytes(), err
}

// enter counts a stream in, or returns false when there are enough.
func (p *Page) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams >= maxStreams {
		return false
	}
	p.streams++
	return true
}

// leave counts a stream out. With the last one the board goes, which may be some megabytes that nobody looks at.
func (p *Page) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.streams--; p.streams == 0 {
		p.board = nil
	}
}
