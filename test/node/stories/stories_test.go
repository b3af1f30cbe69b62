package stories

import . "github.com/onsi/ginkgo/v2"

// The order of the chapters is that of a node's life with Holdfast; within a chapter each story stands alone.
var _ = Describe("On a real node", Ordered, ContinueOnFailure, Label("node"), func() {
	Describe("the guide for an install", guideStories)
	Describe("the injected pod", podStories)
	Describe("the status of the holder", statusStories)
	Describe("the injected pod in trouble", troubleStories)
	Describe("the injected pod", rolloutStories)
	Describe("the injected pod", startupStories)
	Describe("an upgrade", upgradeStories)
	Describe("an uninstall", uninstallStories)
})
