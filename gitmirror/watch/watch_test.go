package watch

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/cache"
)

var configMaps = Scope{Resource: schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, Namespace: "team-a"}

// bound is how long anything here may take; client-go itself waits up to a second before it starts over.
const bound = 30 * time.Second

// begin returns the streams of a client and their end, which waits until nothing of them runs.
func begin(t *testing.T, client dynamic.Interface, changed func(Scope)) *Streams {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	streams := NewStreams(ctx, client, changed)
	t.Cleanup(func() {
		cancel()
		ended(t, streams)
	})
	return streams
}

func ended(t *testing.T, streams *Streams) {
	t.Helper()
	done := make(chan struct{})
	go func() { streams.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(bound):
		t.Error("a stream does not end")
	}
}

// said is an event as a line: what, replayed or not, the name, the value before and after.
func said(e Event) string {
	value := func(obj *unstructured.Unstructured) string {
		if obj == nil {
			return "-"
		}
		v, _, _ := unstructured.NestedString(obj.Object, "data", "k")
		return v
	}
	obj := e.New
	if obj == nil {
		obj = e.Old
	}
	line := fmt.Sprintf("%s %s %s→%s", e.Type, obj.GetName(), value(e.Old), value(e.New))
	if e.Replayed {
		line = "replayed " + line
	}
	return line
}

func next(t *testing.T, sub *Subscription) Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	e, err := sub.Next(ctx)
	if err != nil {
		t.Fatalf("no event: %v; the stream says %+v", err, sub.Status())
	}
	return e
}

func expect(t *testing.T, sub *Subscription, lines ...string) {
	t.Helper()
	for _, want := range lines {
		if got := said(next(t, sub)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
}

// eventually waits for something the test cannot be told of.
func eventually(t *testing.T, says string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(bound); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not so", says)
		}
	}
}

// both runs a test against a server with streaming lists and one without.
func both(t *testing.T, test func(t *testing.T, a *api, client dynamic.Interface)) {
	for name, streams := range map[string]bool{"with streaming lists": true, "without streaming lists": false} {
		t.Run(name, func(t *testing.T) {
			a, client := newAPI(t, streams)
			test(t, a, client)
		})
	}
}

func TestEveryChangeComesInOrderWithTheStateBefore(t *testing.T) {
	both(t, func(t *testing.T, a *api, client dynamic.Interface) {
		a.put("b", "1")
		a.put("a", "1")
		sub := begin(t, client, nil).Subscribe(configMaps)
		expect(t, sub, "Initial a -→1", "Initial b -→1")
		a.put("a", "2")
		a.put("a", "3")
		a.put("c", "1")
		expect(t, sub, "Modified a 1→2", "Modified a 2→3", "Added c -→1")

		a.delete("a")
		a.put("a", "9")
		gone, made := next(t, sub), next(t, sub)
		if said(gone) != "Deleted a 3→-" || said(made) != "Added a -→9" || gone.Old.GetUID() == made.New.GetUID() {
			t.Errorf("an object made again under its name: %s, %s", said(gone), said(made))
		}
		if len(made.New.GetManagedFields()) != 1 {
			t.Error("the managed fields are gone")
		}
	})
}

func TestACutStreamGoesOnWhereItStopped(t *testing.T) {
	both(t, func(t *testing.T, a *api, client dynamic.Interface) {
		a.put("a", "1")
		sub := begin(t, client, nil).Subscribe(configMaps)
		expect(t, sub, "Initial a -→1")
		a.put("a", "2") // a watch that brought nothing would be taken for broken
		expect(t, sub, "Modified a 1→2")
		_, lists := a.counts()
		a.cut()
		a.put("a", "3")
		expect(t, sub, "Modified a 2→3")
		if _, again := a.counts(); again != lists {
			t.Error("the objects were read in full again")
		}
	})
}

func TestWhatHappenedWhileTheStreamWasCutIsReplayedOnce(t *testing.T) { // B40
	both(t, func(t *testing.T, a *api, client dynamic.Interface) {
		for _, name := range []string{"deleted", "edited", "left", "remade"} {
			a.put(name, "1")
		}
		sub := begin(t, client, nil).Subscribe(configMaps)
		expect(t, sub, "Initial deleted -→1", "Initial edited -→1", "Initial left -→1", "Initial remade -→1")
		a.put("left", "2")
		expect(t, sub, "Modified left 1→2")
		a.whileCut(func() {
			a.delete("deleted")
			a.put("edited", "2")
			a.put("edited", "3")
			a.delete("remade")
			a.put("remade", "2")
			a.put("new", "1")
		})
		expect(t, sub, "replayed Deleted deleted 1→-", "replayed Deleted remade 1→-",
			"replayed Modified edited 1→3", "replayed Added new -→1", "replayed Added remade -→2")
		a.put("left", "3")
		expect(t, sub, "Modified left 2→3")
		if a.refused410() == 0 {
			t.Error("no watch was answered with 410, so this proves nothing")
		}
	})
}

func TestOneStreamServesAllAndEndsWithTheLast(t *testing.T) {
	a, client := newAPI(t, true)
	a.put("a", "1")
	streams := begin(t, client, nil)
	first := streams.Subscribe(configMaps)
	expect(t, first, "Initial a -→1")
	a.put("a", "2")
	expect(t, first, "Modified a 1→2")
	second := streams.Subscribe(configMaps)
	expect(t, second, "Initial a -→2")
	a.put("a", "3")
	expect(t, first, "Modified a 2→3")
	expect(t, second, "Modified a 2→3")
	if open, lists := a.counts(); open != 1 || lists != 1 {
		t.Errorf("two subscriptions cost %d watches and %d lists", open, lists)
	}

	first.Close()
	first.Close()
	if _, err := first.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("a closed subscription says %v", err)
	}
	a.put("a", "4")
	expect(t, second, "Modified a 3→4")
	second.Close()
	ended(t, streams)
	eventually(t, "the watch is closed", func() bool { open, _ := a.counts(); return open == 0 })

	third := streams.Subscribe(configMaps)
	expect(t, third, "Initial a -→4")
}

func TestTheStatusSaysWhyAStreamDoesNotRun(t *testing.T) {
	both(t, func(t *testing.T, a *api, client dynamic.Interface) {
		a.locked(func() { a.forbidden = true })
		changed := make(chan Scope, 1000)
		sub := begin(t, client, func(s Scope) { changed <- s }).Subscribe(configMaps)
		await := func(says string, holds func(Status) bool) {
			t.Helper()
			for !holds(sub.Status()) {
				select {
				case <-changed:
				case <-time.After(bound):
					t.Fatalf("%s: the status is %+v", says, sub.Status())
				}
			}
		}
		await("refused", func(s Status) bool { return !s.Synced && apierrors.IsForbidden(s.Err) && !s.Running() })
		a.locked(func() { a.forbidden = false })
		await("healed", Status.Running)
		a.locked(func() { a.cuts++; a.forbidden = true })
		await("refused again", func(s Status) bool { return s.Synced && apierrors.IsForbidden(s.Err) && !s.Running() })
	})
}

func TestASubscriberThatDoesNotReadHoldsTheStreamAndLosesNothing(t *testing.T) {
	a, client := newAPI(t, true)
	a.put("a", "0")
	streams := begin(t, client, nil)
	lazy, eager := streams.Subscribe(configMaps), streams.Subscribe(configMaps)
	expect(t, eager, "Initial a -→0")
	const changes = 5 * ahead
	for n := range changes {
		a.put("a", fmt.Sprint(n+1))
	}
	// The lazy one has its first event and ahead-1 more in hand, the next one waits for it, and so does the eager one.
	for n := range ahead - 1 {
		expect(t, eager, fmt.Sprintf("Modified a %d→%d", n, n+1))
	}
	eventually(t, "the lazy one is full", func() bool { return len(lazy.events) == ahead })
	if len(eager.events) != 0 {
		t.Errorf("%d events went past one that does not read", len(eager.events))
	}
	expect(t, lazy, "Initial a -→0")
	for n := range changes / 2 {
		expect(t, lazy, fmt.Sprintf("Modified a %d→%d", n, n+1))
		if n >= ahead-1 {
			expect(t, eager, fmt.Sprintf("Modified a %d→%d", n, n+1))
		}
	}
	// One that goes away while the stream waits for it holds nobody.
	eventually(t, "the stream waits for the lazy one", func() bool {
		late := streams.Subscribe(configMaps)
		defer late.Close()
		return said(late.backlog[0]) == fmt.Sprintf("Initial a -→%d", changes/2+ahead+1)
	})
	lazy.Close()
	for n := changes / 2; n < changes; n++ {
		expect(t, eager, fmt.Sprintf("Modified a %d→%d", n, n+1))
	}
}

func TestStreamsEndWithTheirContextWhoeverReads(t *testing.T) {
	a, client := newAPI(t, true)
	for n := range 2 * ahead {
		a.put(fmt.Sprint(n), "1")
	}
	ctx, cancel := context.WithCancel(context.Background())
	streams := NewStreams(ctx, client, nil)
	sub := streams.Subscribe(configMaps)
	eventually(t, "the stream waits for its reader", func() bool { return len(sub.events) == ahead })
	cancel()
	ended(t, streams)
	for {
		if _, err := sub.Next(t.Context()); errors.Is(err, ErrClosed) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestWhatAStreamHandedOnBeforeItEndedStillComes(t *testing.T) {
	a, client := newAPI(t, true)
	a.put("a", "0")
	ctx, cancel := context.WithCancel(context.Background())
	streams := NewStreams(ctx, client, nil)
	sub := streams.Subscribe(configMaps)
	expect(t, sub, "Initial a -→0")
	const changes = 20
	for n := range changes {
		a.put("a", fmt.Sprint(n+1))
	}
	eventually(t, "the stream has handed all on", func() bool { return len(sub.events) == changes })
	cancel()
	ended(t, streams)
	for n := range changes {
		expect(t, sub, fmt.Sprintf("Modified a %d→%d", n, n+1))
	}
	if _, err := sub.Next(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("Next() = %v", err)
	}
}

func TestWhatCannotBeFollowedIsSaidAndNotTaken(t *testing.T) { // B40
	s := newStream(t.Context(), configMaps, func(Scope) {})
	for _, v := range []any{nil, (*unstructured.Unstructured)(nil), &unstructured.Unstructured{}, cache.DeletedFinalStateUnknown{Key: "team-a/a"},
		&unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"name": "a"}}}} {
		for name, take := range map[string]func(any) error{"Add": s.Add, "Update": s.Update, "Delete": s.Delete} {
			s.report("watch", nil)
			if err := take(v); err != nil || s.status().Err == nil {
				t.Errorf("%s(%T) = %v, status %+v", name, v, err, s.status())
			}
		}
		s.report("watch", nil)
		if err := s.Replace([]any{v}, "1"); err == nil || s.status().Err == nil || s.status().Synced {
			t.Errorf("Replace(%T) = %v, status %+v", v, err, s.status())
		}
	}
}
