package tree

import "testing"

func TestADoor(t *testing.T) {
	t.Run("opens for its key", func(t *testing.T) {
		if !Opens("a", "a") {
			t.Error("it stays shut")
		}
	})
	t.Run("stays shut for another key", func(t *testing.T) {
		if Opens("a", "b") {
			t.Error("it opens")
		}
	})
}

func TestThatIsBroken(t *testing.T) { t.Error("this always fails") }
