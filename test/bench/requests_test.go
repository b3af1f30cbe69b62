package main

import (
	"strings"
	"testing"
	"time"
)

const logged = `{"stage":"ResponseComplete","verb":"patch","user":{"username":"holder"},"objectRef":{"resource":"fluxtriggers","subresource":"status"},"requestReceivedTimestamp":"2026-01-01T00:00:01.000000Z","stageTimestamp":"2026-01-01T00:00:01.030000Z"}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"holder"},"objectRef":{"resource":"fluxtriggers","subresource":"status"},"requestReceivedTimestamp":"2026-01-01T00:00:02.000000Z","stageTimestamp":"2026-01-01T00:00:02.010000Z"}
{"stage":"ResponseComplete","verb":"patch","user":{"username":"holder"},"objectRef":{"resource":"leases"},"requestReceivedTimestamp":"2026-01-01T00:00:03.000000Z","stageTimestamp":"2026-01-01T00:00:03.005000Z"}
{"stage":"ResponseStarted","verb":"watch","user":{"username":"holder"},"objectRef":{"resource":"fluxtriggers"},"requestReceivedTimestamp":"2026-01-01T00:00:04.000000Z","stageTimestamp":"2026-01-01T00:00:04.001000Z"}
{"stage":"ResponseComplete","verb":"watch","user":{"username":"holder"},"objectRef":{"resource":"fluxtriggers"},"requestReceivedTimestamp":"2026-01-01T00:00:04.000000Z","stageTimestamp":"2026-01-01T00:06:00.000000Z"}
{"stage":"ResponseComplete","verb":"get","user":{"username":"holder"},"requestURI":"/apis","requestReceivedTimestamp":"2026-01-01T00:00:05.000000Z","stageTimestamp":"2026-01-01T00:00:05.002000Z"}
{"stage":"ResponseComplete","ve`

func TestWhatKeepsAHolderAliveIsCountedApart(t *testing.T) {
	all, err := parseRequests(strings.NewReader(logged))
	if err != nil {
		t.Fatal(err)
	}
	asked, kept := all.apart()
	if got, want := asked.kinds(), "2 patch fluxtriggers/status, 1 get"; got != want {
		t.Errorf("asked: got %q, want %q", got, want)
	}
	if got, want := kept.kinds(), "1 patch leases, 1 watch fluxtriggers"; got != want {
		t.Errorf("kept: got %q, want %q", got, want)
	}
	if got := (requests{}).kinds(); got != "none" {
		t.Errorf("none: got %q", got)
	}
}

func TestEachSaysHowManyRequestsOneObjectTookAndHowLong(t *testing.T) {
	all, err := parseRequests(strings.NewReader(logged))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := all.each(4), "0.5 patch fluxtriggers/status of 20 ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := all.took(), 47*time.Millisecond; got != want {
		t.Errorf("together: got %s, want %s, in which no watch counts", got, want)
	}
}

func TestWhatIsNoEventIsAnError(t *testing.T) {
	if _, err := parseRequests(strings.NewReader("nonsense\n")); err == nil {
		t.Error("it was taken")
	}
}

func TestAWallIsFromTheFirstBeginningToTheLastEnd(t *testing.T) {
	at := func(s int) time.Time { return time.Date(2026, 1, 1, 0, 0, s, 0, time.UTC) }
	if got, want := (laps{{begin: at(2), end: at(9)}, {begin: at(1), end: at(4)}}).wall(), 8*time.Second; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestWhatWasHeldBeforeTheStartIsNoAdoption(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	a := newAdoptions()
	a.before["before"] = true
	a.mark("before", stepHeld, start.Add(time.Second))
	a.mark("after", stepMarked, start.Add(time.Second))
	a.mark("after", stepHeld, start.Add(3*time.Second))
	a.mark("after", stepHeld, start.Add(9*time.Second))
	a.mark("never", stepMarked, start.Add(time.Second))
	got := a.since(start)
	if len(got) != 1 || got.first(stepMarked) != time.Second || got.last(stepHeld) != 3*time.Second {
		t.Errorf("got %+v", got)
	}
}
