package sim

import (
	"os"
	"runtime/debug"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(800) // worlds are small and short-lived; most of the time would go into sweeping them up
	os.Exit(m.Run())
}
