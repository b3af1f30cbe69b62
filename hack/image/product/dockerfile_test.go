package product

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// instruction is one of a Dockerfile: its word in capitals, and the rest.
type instruction struct{ word, rest string }

// stages are the instructions of a Dockerfile by stage; what precedes the first FROM is the first stage.
func stages(text string) [][]instruction {
	all := [][]instruction{nil}
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\\\n", " "), "\n") {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		in := instruction{strings.ToUpper(word), strings.TrimSpace(rest)}
		if in.word == "FROM" {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], in)
	}
	return all
}

func readDockerfile(t *testing.T) [][]instruction {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(checkout, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	all := stages(string(text))
	if len(all) != 3 {
		t.Fatalf("it has %d stages, want one that builds and one that is the image", len(all)-1)
	}
	return all
}

func TestTheDockerfilesLastStageIsTheImage(t *testing.T) {
	config := Config("amd64")
	want := []string{"COPY --from=build /image/ /", "FROM scratch", "USER " + config.User, "WORKDIR /"}
	for _, name := range slices.Sorted(maps.Keys(config.Labels)) {
		want = append(want, fmt.Sprintf("LABEL %s=%q", name, config.Labels[name]))
	}
	if config.Entrypoint != nil || config.Env != nil {
		t.Fatal("the image has a command or an environment, and this test does not look for them in the Dockerfile")
	}
	var got []string
	for _, in := range readDockerfile(t)[2] {
		got = append(got, in.word+" "+in.rest)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("it says\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestTheDockerfileTakesTheFilesFromThisPackage(t *testing.T) {
	var runs []string
	for _, in := range readDockerfile(t)[1] {
		if in.word == "RUN" {
			runs = append(runs, in.rest)
		}
	}
	want := []string{`go -C hack/image run . -root=/image -arch="${TARGETARCH}" -version="${VERSION}"`}
	if !slices.Equal(runs, want) {
		t.Errorf("it runs %q, want %q", runs, want)
	}
}

func TestTheDockerfilePinsAGoThatIsOneGoModAllows(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`(?m)^go (\d+\.\d+)\.(\d+)$`).FindStringSubmatch(string(mod))
	if asked == nil {
		t.Fatal("go.mod has no go line with three numbers")
	}
	for _, in := range readDockerfile(t)[0] {
		version, found := strings.CutPrefix(in.rest, "GO_VERSION=")
		if in.word != "ARG" || !found {
			continue
		}
		pinned := regexp.MustCompile(`^(\d+\.\d+)\.(\d+)$`).FindStringSubmatch(version)
		if pinned == nil || pinned[1] != asked[1] || len(pinned[2]) < len(asked[2]) || len(pinned[2]) == len(asked[2]) && pinned[2] < asked[2] {
			t.Errorf("it pins Go %q, and go.mod asks for %s", version, asked[0])
		}
		return
	}
	t.Error("it does not say GO_VERSION before its first stage")
}
