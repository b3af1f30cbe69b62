package main

// inTheStatusPage take out the guards of what the holder shows.
var inTheStatusPage = []Mutant{
	{
		Name:    "status-for-every-peer",
		Promise: "Only a peer on the loopback interface gets the status.",
		File:    "sidecar/statuspage/guard.go",
		Old:     `case !loopbackPeer(r.RemoteAddr) || !loopbackHost(r.Host):`,
		New:     `case !loopbackPeer(r.RemoteAddr) && false || !loopbackHost(r.Host):`,
		Package: "./sidecar/statuspage",
		Run:     "^TestOnlyTheLoopbackInterfaceGetsTheStatus$",
	},
	{
		Name:    "status-for-every-host",
		Promise: "A name that leads to 127.0.0.1 does not let a page of somebody else's read the status.",
		File:    "sidecar/statuspage/guard.go",
		Old:     `case !loopbackPeer(r.RemoteAddr) || !loopbackHost(r.Host):`,
		New:     `case !loopbackPeer(r.RemoteAddr) || !loopbackHost(r.Host) && false:`,
		Package: "./sidecar/statuspage",
		Run:     "^TestOnlyTheLoopbackInterfaceGetsTheStatus$",
	},
	{
		Name:    "status-by-every-method",
		Promise: "The status can only be read.",
		File:    "sidecar/statuspage/guard.go",
		Old:     `case r.Method != http.MethodGet && r.Method != http.MethodHead:`,
		New:     `case false:`,
		Package: "./sidecar/statuspage",
		Run:     "^TestTheStatusIsOnlyRead$",
	},
	{
		Name:    "streams-for-other-sites",
		Promise: "A page of another site cannot hold the streams open that a person needs.",
		File:    "sidecar/statuspage/stream.go",
		Old:     `if elsewhere(r) {`,
		New:     `if elsewhere(r) && false {`,
		Package: "./sidecar/statuspage",
		Run:     "^TestAPageOfAnotherSiteHoldsNoStreamOpen$",
	},
	{
		Name:    "streams-without-end",
		Promise: "A stop of the holder is not held up by whoever looks at its page.",
		File:    "sidecar/statuspage/stream.go",
		Old: `		case <-p.ctx.Done():
			return true, nil
		case <-beats:`,
		New:     `		case <-beats:`,
		Package: "./sidecar/statuspage",
		Run:     "^TestEveryStreamEndsWhenTheHolderStops$",
	},
	{
		Name:    "characters-that-turn-text",
		Promise: "No name on the page hides what it says or turns the order of what follows it.",
		File:    "sidecar/statuspage/card.go",
		Old:     `case unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp):`,
		New:     `case unicode.In(r) && false:`,
		Package: "./sidecar/statuspage",
		Run:     "^TestNoNameOrMessageBecomesMarkup$",
	},
}
