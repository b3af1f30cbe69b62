package audit

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit/fact"
	"github.com/holdfast-gitops/holdfast/gitmirror/audit/join"
)

// book is an index in the test's own time: a real one has a goroutine that never ends.
type book struct {
	mu    sync.Mutex
	facts map[fact.Key]fact.Fact
	added chan struct{}

	expected bool
}

func newBook() *book { return &book{facts: map[fact.Key]fact.Fact{}, added: make(chan struct{}, 1)} }

func (b *book) Lookup(k fact.Key) (fact.Fact, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, ok := b.facts[k]
	return f, ok
}

func (b *book) Expected() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.expected
}

func (b *book) Listen() (<-chan struct{}, func()) { return b.added, func() {} }

func (b *book) hear(k fact.Key, who string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.facts[k] = fact.Fact{Username: who}
	b.expected = true
	select {
	case b.added <- struct{}{}:
	default:
	}
}

// runs starts a Joiner in a bubble of test time and ends it.
func runs(t *testing.T, b func() *book, test func(t *testing.T, b *book, j *Joiner[string])) {
	synctest.Test(t, func(t *testing.T) {
		book := b()
		j := NewJoiner[string](book)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		wg.Go(func() { _ = j.Start(ctx) })
		test(t, book, j)
		cancel()
		wg.Wait()
	})
}

func version(uid string, n int) fact.Key { return proves("", uid, fmt.Sprint(n), 0).Key }

func observe(t *testing.T, j *Joiner[string], uid string, n int) {
	t.Helper()
	if err := j.Observe(t.Context(), version(uid, n), fmt.Sprintf("%s@%d", uid, n)); err != nil {
		t.Fatal(err)
	}
}

// expect takes the next change and checks who made it and how long after since it came.
func expect(t *testing.T, j *Joiner[string], payload, who string, since time.Time, took time.Duration) {
	t.Helper()
	var a join.Attributed[string]
	select {
	case a = <-j.Out():
	case <-time.After(time.Minute):
		t.Fatalf("%s does not come", payload)
	}
	by := ""
	if a.Fact != nil {
		by = a.Fact.Username
	}
	if a.Payload != payload || by != who || time.Since(since) != took {
		t.Errorf("got %s by %q after %v, want %s by %q after %v", a.Payload, by, time.Since(since), payload, who, took)
	}
}

func TestJoinerDoesNotWaitWhereNoFactIsExpected(t *testing.T) { // B39
	runs(t, newBook, func(t *testing.T, _ *book, j *Joiner[string]) {
		began := time.Now()
		observe(t, j, "a", 1)
		expect(t, j, "a@1", "", began, 0)
	})
}

func TestJoinerWaitsForAFactThatComesInTime(t *testing.T) { // B38
	runs(t, newBook, func(t *testing.T, b *book, j *Joiner[string]) {
		b.hear(version("other", 1), "bob")
		began := time.Now()
		observe(t, j, "a", 1)
		observe(t, j, "a", 2)
		observe(t, j, "b", 1)
		time.AfterFunc(time.Second, func() { b.hear(version("b", 1), "carol") })
		// The later version's fact comes first, and its own wake-up finds it; the earlier one's lets both go on.
		time.AfterFunc(1500*time.Millisecond, func() { b.hear(version("a", 2), "bob") })
		time.AfterFunc(2*time.Second, func() { b.hear(version("a", 1), "alice") })
		expect(t, j, "b@1", "carol", began, time.Second)
		expect(t, j, "a@1", "alice", began, 2*time.Second)
		expect(t, j, "a@2", "bob", began, 2*time.Second)
	})
}

func TestJoinerLetsAChangeGoOnWithoutANameAfterTheGrace(t *testing.T) { // B38
	runs(t, newBook, func(t *testing.T, b *book, j *Joiner[string]) {
		b.hear(version("other", 1), "bob")
		began := time.Now()
		observe(t, j, "a", 1)
		time.AfterFunc(10*time.Second, func() { b.hear(version("a", 1), "alice") })
		expect(t, j, "a@1", "", began, Grace)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case a := <-j.Out():
			t.Errorf("a late fact sends %v again", a)
		default:
		}
	})
}

func TestJoinerLetsWhatNeedsNoNamePassInItsObjectsOrder(t *testing.T) {
	runs(t, newBook, func(t *testing.T, b *book, j *Joiner[string]) {
		b.hear(version("other", 1), "bob")
		began := time.Now()
		pass := func(uid string, n int) {
			if err := j.Pass(t.Context(), version(uid, n), fmt.Sprintf("%s@%d", uid, n)); err != nil {
				t.Error(err)
			}
		}
		pass("a", 1)
		expect(t, j, "a@1", "", began, 0)
		observe(t, j, "a", 2)
		pass("a", 3)
		expect(t, j, "a@2", "", began, Grace)
		expect(t, j, "a@3", "", began, Grace)
	})
}

func TestJoinerPushesBackWhileNobodyTakesWhatGoesOn(t *testing.T) {
	runs(t, newBook, func(t *testing.T, b *book, j *Joiner[string]) {
		began := time.Now()
		observe(t, j, "a", 1)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := j.Observe(ctx, version("a", 2), "a@2"); err == nil {
			t.Error("it takes more than it can hand on")
		}
		expect(t, j, "a@1", "", began, time.Minute)
		began = time.Now()
		observe(t, j, "a", 3)
		expect(t, j, "a@3", "", began, 0)
	})
}

func TestJoinerTakesNoMoreThanItsBound(t *testing.T) { // B32
	runs(t, newBook, func(t *testing.T, b *book, j *Joiner[string]) {
		b.hear(version("other", 1), "bob")
		began := time.Now()
		for n := range maxWaiting {
			observe(t, j, "a", n)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := j.Observe(ctx, version("b", 1), "b@1"); err == nil {
			t.Error("it takes more than its bound")
		}
		for n := range maxWaiting {
			expect(t, j, fmt.Sprintf("a@%d", n), "", began, Grace)
		}
	})
}

func TestJoinerThatIsFinishedLetsWhatItHasGoOnAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		b.hear(version("other", 1), "bob")
		j := NewJoiner[string](b)
		ended := make(chan error, 1)
		go func() { ended <- j.Start(t.Context()) }()
		began := time.Now()
		observe(t, j, "a", 1)
		observe(t, j, "b", 1)
		j.Finish()
		time.AfterFunc(time.Second, func() { b.hear(version("a", 1), "alice") })
		expect(t, j, "a@1", "alice", began, time.Second)
		expect(t, j, "b@1", "", began, Grace)
		if err := <-ended; err != nil || time.Since(began) != Grace {
			t.Errorf("it ended with %v after %v", err, time.Since(began))
		}
	})
}
