package branch

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-gitops/holdfast/gitmirror/author"
	"github.com/holdfast-gitops/holdfast/gitmirror/manifest"
)

var update = flag.Bool("update", false, "rewrite the stories in testdata")

const arrow = " ⇒ "

// TestStories plays testdata/*.txt: each line is an event, and behind the arrow what the core does and then knows.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			p := newPlay()
			for line := range strings.Lines(string(raw)) {
				line = strings.TrimSuffix(line, "\n")
				if line == "" || line[0] == '#' {
					got.WriteString(line + "\n")
					continue
				}
				command, _, _ := strings.Cut(line, strings.TrimRight(arrow, " "))
				command = strings.TrimSpace(command)
				out, err := p.play(strings.Fields(command))
				if err != nil {
					t.Fatalf("%s: %v", command, err)
				}
				fmt.Fprintf(&got, "%-44s%s%s\n", command, arrow, out)
			}
			if *update {
				if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(raw), got.String()); diff != "" {
				t.Errorf("the story went another way (-want +got):\n%s", diff)
			}
		})
	}
}

// player plays a story.
type player struct {
	state  State
	now    time.Time
	asked  Effect // the effect that has no answer yet
	commit int
}

var dawn = time.Date(2026, 3, 4, 5, 0, 0, 0, time.UTC)

func newPlay() *player {
	return &player{state: NewState(Config{Prefix: "w", Poll: time.Minute}), now: dawn}
}

func name(s string) types.NamespacedName { return types.NamespacedName{Namespace: "team-a", Name: s} }

func intent(object string) manifest.Intent {
	return manifest.Intent{Object: manifest.Identity{Version: "v1", Kind: "ConfigMap", Namespace: "team-a", Name: object}}
}

func (p *player) play(words []string) (string, error) {
	args := map[string]string{}
	var plain []string
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok {
			args[k] = v
		} else {
			plain = append(plain, w)
		}
	}
	e, err := p.event(words[0], plain, args)
	if err != nil {
		return "", err
	}
	switch e.(type) {
	case Synced, Committed, Pushed:
		p.asked = nil
	}
	var effects []Effect
	p.state, effects = Step(p.state, e)
	var out []string
	for _, effect := range effects {
		if p.asked != nil {
			return "", errors.New("an effect although one is running")
		}
		p.asked = effect
		out = append(out, tell(effect))
	}
	if len(out) == 0 {
		out = []string{"-"}
	}
	return strings.Join(out, ", ") + p.known(), nil
}

func (p *player) event(verb string, plain []string, args map[string]string) (Event, error) {
	var err error
	switch plain = append(plain, ""); verb {
	case "set":
		s := TargetSettings{Folder: plain[0]}
		for key, d := range map[string]*time.Duration{"idle": &s.Idle, "max": &s.Max} {
			if args[key] != "" {
				if *d, err = time.ParseDuration(args[key]); err != nil {
					return nil, err
				}
			}
		}
		return TargetSet{Now: p.now, Target: name(plain[0]), Settings: s}, nil
	case "remove":
		return TargetRemoved{Now: p.now, Target: name(plain[0])}, nil
	case "edit":
		return Edited{Now: p.now, Bytes: 1, Edit: Edit{Target: name(plain[0]), Author: author.Of(args["by"]), Intent: intent(plain[1]), At: p.now}}, nil
	case "wait":
		d, err := time.ParseDuration(plain[0])
		p.now = p.now.Add(d)
		return Ticked{Now: p.now}, err
	case "repoint":
		return Repointed{Now: p.now}, nil
	case "stop":
		return Stopped{Now: p.now}, nil
	case "synced":
		e := Synced{Now: p.now, Tip: args["tip"], Landed: map[string]string{}}
		for _, pair := range plain[:len(plain)-1] {
			id, commit, _ := strings.Cut(pair, ":")
			e.Landed[id] = commit
		}
		if args["error"] != "" {
			e.Err = errors.New(args["error"])
		}
		return e, nil
	case "committed":
		return p.committed(args)
	case "pushed":
		e := Pushed{Now: p.now, Moved: plain[0] == "moved"}
		if plain[0] != "" {
			e.Err = errors.New(plain[0])
		}
		return e, nil
	}
	return nil, fmt.Errorf("no such event")
}

// committed gives each write of the asked batch a commit c1, c2…, unless an argument says none, refused or another error.
func (p *player) committed(args map[string]string) (Event, error) {
	asked, ok := p.asked.(Commit)
	if !ok {
		return nil, fmt.Errorf("a commit was not asked for, but %v", p.asked)
	}
	e := Committed{Now: p.now}
	if args["error"] != "" {
		e.Err = errors.New(args["error"])
	}
	stuck := map[types.NamespacedName]bool{}
	for _, w := range asked.Writes {
		d := Done{Write: w.ID}
		switch fate := args[w.ID]; fate {
		case "":
			p.commit++
			d.Commit = fmt.Sprintf("c%d", p.commit)
		case "none":
		case "refused":
			d.Refused = []manifest.Refusal{{Object: w.Intents[0].Object, Reason: "no home"}}
		default:
			d.Err = errors.New(fate)
		}
		if !stuck[w.Target] {
			e.Done = append(e.Done, d)
		}
		stuck[w.Target] = stuck[w.Target] || d.Err != nil
	}
	return e, nil
}

func tell(e Effect) string {
	switch e := e.(type) {
	case Sync:
		out := "sync"
		for _, d := range e.Doubts {
			out += fmt.Sprintf(" %s:%s?", d.Write, d.Commit)
		}
		if len(e.Doubts) > 0 {
			out += " above " + orNothing(e.Since)
		}
		return out
	case Commit:
		var writes []string
		for _, w := range e.Writes {
			var objects []string
			for _, in := range w.Intents {
				objects = append(objects, in.Object.Name)
			}
			writes = append(writes, fmt.Sprintf("%s(%s/%s: %s)", w.ID, w.Target.Name, w.Author.Name, strings.Join(objects, " ")))
		}
		return "commit " + strings.Join(writes, " ") + " on " + orNothing(e.Base)
	case Push:
		return fmt.Sprintf("push %s onto %s", strings.Join(e.Commits, " "), orNothing(e.Old))
	}
	return fmt.Sprintf("%T", e)
}

func orNothing(hash string) string {
	if hash == "" {
		return "nothing"
	}
	return hash
}

// known tells what a reader of the snapshot sees.
func (p *player) known() string {
	s := p.state.Snapshot()
	tip := "unknown"
	if s.TipKnown {
		tip = orNothing(s.Tip)
	}
	out := " | tip " + tip
	if s.TipOurs {
		out += " ours"
	}
	if s.ForeignMoves > 0 {
		out += fmt.Sprintf(" foreign=%d", s.ForeignMoves)
	}
	if s.Busy {
		out += " busy"
	} else if !s.QuietSince.IsZero() {
		out += " quiet=" + p.now.Sub(s.QuietSince).String()
	}
	if s.Err != nil {
		out += fmt.Sprintf(" error=%v", strings.ReplaceAll(s.Err.Error(), "\n", "/"))
		if at, ok := p.state.NextAt(); ok && p.state.doing == idle {
			out += " again=" + at.Sub(p.now).String()
		}
	}
	for _, n := range slices.SortedFunc(maps.Keys(s.Targets), func(a, b types.NamespacedName) int { return strings.Compare(a.Name, b.Name) }) {
		t := s.Targets[n]
		out += fmt.Sprintf(" [%s pushed=%s", n.Name, orNothing(t.Pushed))
		if t.Pending > 0 {
			out += fmt.Sprintf(" pending=%d", t.Pending)
		}
		for _, r := range t.Refused {
			out += fmt.Sprintf(" refused=%d:%s", r.Sequence, r.Object.Name)
		}
		if t.Err != nil {
			out += " error=" + t.Err.Error()
		}
		out += "]"
	}
	return out
}
