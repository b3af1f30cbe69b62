package inject

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestReferencesAreThoseKubeletFinds(t *testing.T) {
	env := environmentOf([]corev1.EnvVar{
		{Name: "A", Value: "1"}, {Name: "B", Value: "$(A)2"}, {Name: "A", Value: "$(B)3"},
		{Name: "NODE", Value: "before"}, {Name: "NODE", ValueFrom: &corev1.EnvVarSource{}}, {Name: "ON", Value: "x$(NODE)"},
	})
	for text, want := range map[string]string{
		"plain":        "plain",
		"$(A)":         "123",
		"a$(B)c":       "a12c",
		"$$(A)":        "$(A)",
		"$$$(B)":       "$12",
		"$(A":          "$(A",
		"$A":           "$A",
		"$":            "$",
		"$()":          "?",
		"$(NONE)":      "?",
		"$(NODE)":      "?",
		"$(ON)":        "?",
		"$(B)$(NODE)":  "?",
		"cost: 5$, ok": "cost: 5$, ok",
		"$(A)$(B":      "123$(B",
		"$($(B)":       "?",
		")$(A":         ")$(A",
		"$(":           "$(",
	} {
		got, known := env.expand(text)
		if !known {
			got = "?"
		}
		if got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
	if got := strings.Join(references("$(A)$$(B)$(C)$(D"), " "); got != "A C" {
		t.Errorf("references to %q", got)
	}
}

// Each variable is made twice of the one before it, which one argument refers to: a pod of a few lines, and what no memory
// holds. Whether the first has anything in it makes no difference to the time.
func TestVariablesThatDoubleHaveNoValue(t *testing.T) {
	for name, row := range map[string]struct {
		first string
		times int
		known bool
	}{
		"one letter":  {"x", 22, false},
		"nothing":     {"", 60, true},
		"a long text": {strings.Repeat("x", maxExpanded), 2, false},
	} {
		t.Run(name, func(t *testing.T) {
			env := []corev1.EnvVar{{Name: "A0", Value: row.first}}
			for i := range row.times {
				env = append(env, corev1.EnvVar{Name: fmt.Sprintf("A%d", i+1), Value: strings.ReplaceAll("$(A)$(A)", "A", fmt.Sprintf("A%d", i))})
			}
			e, last := environmentOf(env), fmt.Sprintf("$(A%d)", row.times)
			if got, known := e.expand(last); known != row.known || got != "" {
				t.Errorf("known: %t, %d bytes", known, len(got))
			}
			if _, ok := readFlags([]string{"--log-level=info", last}, e); ok != row.known {
				t.Errorf("flags that are read: %t", ok)
			}
		})
	}
}

func TestAllReferencesOfAContainerShareOneBound(t *testing.T) {
	long := strings.Repeat("x", maxExpanded/2)
	e := environmentOf([]corev1.EnvVar{{Name: "LONG", Value: long}, {Name: "NONE", Value: ""}})
	for i, want := range []bool{true, true, false} {
		if got, known := e.expand("--a=$(LONG)"); known != want || known && got != "--a="+long {
			t.Errorf("the reference at %d is known: %t, %d bytes", i, known, len(got))
		}
	}
	if _, known := e.expand("$(NONE)"); known {
		t.Error("beyond the bound nothing is known, or what costs nothing would go on for ever")
	}
	if text := long + long + "$"; !func() bool { got, known := e.expand(text); return known && got == text }() {
		t.Error("what is written out is as long as it is")
	}
}

func TestWhatIsNeverClosedIsSearchedOnce(t *testing.T) {
	text := strings.Repeat("$(", maxPodBytes/2)
	if got := replace(text, func(string) string { return "?" }); got != text {
		t.Errorf("%d bytes became %d", len(text), len(got))
	}
}
