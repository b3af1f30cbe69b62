package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-gitops/holdfast/test/cluster"
)

const kustomizeControllerUser = "system:serviceaccount:" + cluster.FluxNamespace + ":" + cluster.KustomizeController

// requestPolicy makes the API server log who asked for what and when, of the holder and of kustomize-controller, and of
// nobody else. A watch is told of when it begins, everything else when it is answered.
var requestPolicy = fmt.Sprintf(`apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
  users: [%q, %q]
`, cluster.HolderUser, kustomizeControllerUser)

// requestLog is where the API server writes every request of the two.
type requestLog string

// logRequests starts the API server anew with a log of requests.
func logRequests(ctx context.Context, w *cluster.World) (requestLog, error) {
	policy, log := filepath.Join(w.Dir, "tmp", "requests-policy.yaml"), filepath.Join(w.Dir, "tmp", "requests.log")
	if err := os.WriteFile(policy, []byte(requestPolicy), 0o644); err != nil {
		return "", err
	}
	err := w.RestartWith(ctx, cluster.APIServer, "--audit-policy-file="+policy, "--audit-log-path="+log, "--audit-log-maxsize=1000")
	if err != nil {
		return "", fmt.Errorf("have requests logged: %w", err)
	}
	return requestLog(log), nil
}

// request is one of user's.
type request struct {
	user string
	what string // verb and resource, such as "patch fluxtriggers/status"
	at   time.Time
	took time.Duration // 0 of a watch
}

// between returns the user's requests that arrived from begin until before end.
func (l requestLog) between(user string, begin, end time.Time) (requests, error) {
	file, err := os.Open(string(l))
	if err != nil {
		return nil, fmt.Errorf("read the log of requests: %w", err)
	}
	defer file.Close()
	all, err := parseRequests(file)
	return slices.DeleteFunc(all, func(r request) bool {
		return r.user != user || r.at.Before(begin) || !r.at.Before(end)
	}), err
}

// parseRequests reads audit events, one a line. What follows the last line's end is still being written.
func parseRequests(in io.Reader) (requests, error) {
	var all requests
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the log of requests: %w", err)
		}
		var e struct {
			Stage string `json:"stage"`
			Verb  string `json:"verb"`
			User  struct {
				Username string `json:"username"`
			} `json:"user"`
			ObjectRef struct {
				Resource    string `json:"resource"`
				Subresource string `json:"subresource"`
			} `json:"objectRef"`
			Received time.Time `json:"requestReceivedTimestamp"`
			Reached  time.Time `json:"stageTimestamp"`
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("read the log of requests: %w", err)
		}
		r := request{user: e.User.Username, at: e.Received, what: strings.TrimRight(e.Verb+" "+e.ObjectRef.Resource+"/"+e.ObjectRef.Subresource, " /")}
		switch watches := e.Verb == "watch"; {
		case watches && e.Stage != "ResponseStarted":
			continue
		case !watches:
			r.took = e.Reached.Sub(e.Received)
		}
		all = append(all, r)
	}
}

// requests are some, in the order of the log.
type requests []request

// apart parts what keeps a holder alive, its Lease and the renewal of its watches, from what it asks for.
func (rs requests) apart() (asked, kept requests) {
	for _, r := range rs {
		if r.what == "patch leases" || strings.HasPrefix(r.what, "watch ") {
			kept = append(kept, r)
		} else {
			asked = append(asked, r)
		}
	}
	return asked, kept
}

// kinds is how many there are of each kind, most first: `6 patch leases, 1 watch fluxtriggers`; "none".
func (rs requests) kinds() string {
	return rs.list(func(what string, of requests) string { return fmt.Sprintf("%d %s", len(of), what) })
}

// each is what every one of n objects cost: how many requests of each kind, and how long one took on average. A kind of
// which not every second object had one is left out.
func (rs requests) each(n int) string {
	return rs.list(func(what string, of requests) string {
		if 2*len(of) < n {
			return ""
		}
		return fmt.Sprintf("%.1f %s of %s", float64(len(of))/float64(n), what, ms(of.took()/time.Duration(len(of))))
	})
}

// took is how long all of them took together.
func (rs requests) took() time.Duration {
	var sum time.Duration
	for _, r := range rs {
		sum += r.took
	}
	return sum
}

// list is what say says of each kind, most first, without what is empty.
func (rs requests) list(say func(what string, of requests) string) string {
	byKind := map[string]requests{}
	for _, r := range rs {
		byKind[r.what] = append(byKind[r.what], r)
	}
	kinds := slices.SortedFunc(maps.Keys(byKind), func(a, b string) int {
		return cmp.Or(len(byKind[b])-len(byKind[a]), strings.Compare(a, b))
	})
	var parts []string
	for _, what := range kinds {
		if text := say(what, byKind[what]); text != "" {
			parts = append(parts, text)
		}
	}
	return cmp.Or(strings.Join(parts, ", "), "none")
}
