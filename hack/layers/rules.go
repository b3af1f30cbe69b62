package layers

// Rules say what the source tree may not do. The zero Rules allow everything.
type Rules struct {
	// Module is the path of the module that is checked.
	Module string

	// Cores are the pure packages, as folders from the module's root ("sidecar/hold"), and pure files of packages that
	// hold a shell beside their core ("gitmirror/branch/step.go").
	Cores []string

	// CoreMayNotImport are import paths a core may not name; each also covers everything below it.
	CoreMayNotImport []string

	// CoreMayNotCall are functions, types and variables a core may not name, as "path.Name".
	CoreMayNotCall []string

	// Owners map an import path, with everything below it, to the one folder whose packages may import it.
	Owners map[string]string

	// Parts map a folder to the folders of this module its packages may import besides itself. A folder that is not
	// named may import any. The longest name that fits counts.
	Parts map[string][]string

	// BadNames are folder names that say nothing about what is inside.
	BadNames []string
}

// Holdfast are the rules of this module; docs/architecture.md explains them to a person.
var Holdfast = Rules{
	Module: "github.com/holdfast-gitops/holdfast",
	Cores: []string{
		"cli/release",
		"gitmirror/apply",
		"gitmirror/audit/fact",
		"gitmirror/audit/join",
		"gitmirror/author",
		"gitmirror/branch/event.go",
		"gitmirror/branch/message.go",
		"gitmirror/branch/snapshot.go",
		"gitmirror/branch/state.go",
		"gitmirror/branch/step.go",
		"gitmirror/branch/weight.go",
		"gitmirror/capture",
		"gitmirror/conditions",
		"gitmirror/manifest",
		"gitmirror/window",
		"injector/inject",
		"injector/missing/decide.go",
		"injector/trust/bundle.go",
		"injector/trust/plan.go",
		"internal/binding",
		"internal/ownership",
		"internal/redact",
		"internal/repourl",
		"internal/status",
		"sidecar/hold",
		"sidecar/leader/state.go",
		"sidecar/statuspage/board.go",
		"sidecar/statuspage/build.go",
		"sidecar/statuspage/card.go",
		"sidecar/statuspage/change.go",
		"sidecar/statuspage/document.go",
		"sidecar/statuspage/filter.go",
		"sidecar/statuspage/state.go",
		"sidecar/statuspage/steps.go",
		"sidecar/statuspage/timeline.go",
		"sidecar/statuspage/words.go",
	},
	CoreMayNotImport: []string{
		"github.com/go-logr",
		"github.com/prometheus",
		"k8s.io/client-go",
		"k8s.io/klog",
		"log",
		"math/rand",
		"net/http",
		"os",
		"sigs.k8s.io/controller-runtime",
	},
	CoreMayNotCall: []string{
		"crypto/rand.Int", "crypto/rand.Prime", "crypto/rand.Read", "crypto/rand.Reader", "crypto/rand.Text",
		"net.Dial", "net.DialTimeout", "net.Dialer", "net.Listen", "net.ListenPacket", "net.LookupAddr", "net.LookupCNAME",
		"net.LookupHost", "net.LookupIP", "net.LookupMX", "net.LookupNS", "net.LookupPort", "net.LookupSRV", "net.LookupTXT",
		"net.DefaultResolver", "net.Resolver",
		"time.After", "time.AfterFunc", "time.NewTicker", "time.NewTimer", "time.Now",
		"time.Since", "time.Sleep", "time.Tick", "time.Until",
	},
	Owners: map[string]string{
		"github.com/go-git": "gitmirror/gitstore",
	},
	Parts: map[string][]string{
		"api":       {},
		"cli":       {"api", "injector/inject", "internal"},
		"injector":  {"api", "internal"},
		"internal":  {"api"},
		"sidecar":   {"api", "internal"},
		"gitmirror": {"api", "internal"},
		"hack":      {},
	},
	BadNames: []string{"common", "helpers", "misc", "shared", "util", "utils"},
}
