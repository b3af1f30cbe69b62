package main

// ofTheInjector take lines of defence out of injector/inject.
var ofTheInjector = []Mutant{
	{
		Name:    "inject-any-image",
		Promise: "Only a pod that runs kustomize-controller itself gets a holder, whatever its labels say.",
		File:    "injector/inject/recognise.go",
		Old:     `c.Name == fluxContainer && isFlux(repository(c.Image), app)`,
		New:     `c.Name == fluxContainer`,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
	{
		Name:    "inject-any-program-of-argo",
		Promise: "Of Argo CD's programs, which share one image, only the application controller gets a holder.",
		File:    "injector/inject/recognise.go",
		Old:     `program(c.Command) == string(ArgoCD) || program(c.Args) == string(ArgoCD)`,
		New:     `program(c.Command) != "" || program(c.Args) != ""`,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
	{
		Name:    "inject-twice",
		Promise: "A pod that has its holder gets no second one.",
		File:    "injector/inject/look.go",
		Old: `	case hasHolder(pod) && pod.Annotations[v1alpha1.InjectedAnnotation] != "":
		return SkipAlreadyInjected, "it has its holder"
	case hasContainer(pod, v1alpha1.HolderContainer):
		return SkipNameTaken, fmt.Sprintf("it has a container %s that the injector did not put there", v1alpha1.HolderContainer)
`,
		New:     "",
		Package: "./injector/inject",
		Run:     "^TestAPodOthersChangedAfterwardsIsLeftAsItIs$",
	},
	{
		Name:    "inject-although-opted-out",
		Promise: "A pod whose annotation says so is left alone.",
		File:    "injector/inject/look.go",
		Old:     `case pod.Annotations[v1alpha1.InjectLabel] == v1alpha1.InjectDisabled:`,
		New:     `case false:`,
		Package: "./injector/inject",
		Run:     "^TestLookSaysWhetherARunningPodLacksItsHolder$",
	},
	{
		Name:    "inject-beside-flags-unread",
		Promise: "A controller whose flags cannot be read gets no holder that knows none of them.",
		File:    "injector/inject/flags.go",
		Old:     `if len(words) == 0 || !isProgram(words[0], f) {`,
		New:     `if len(words) == 0 {`,
		Package: "./injector/inject",
		Run:     "^TestTheControllersArgumentsAreThoseOfTheProgramItself$",
	},
	{
		Name:    "program-in-a-flag",
		Promise: "B20: what looks like the program's path in a flag's value takes no flag away, so a shard's holder keeps to its shard.",
		File:    "injector/inject/flags.go",
		Old: `	first, known := env.expand(args[0])
	switch {`,
		New: `	first, known := env.expand(args[0])
	at := slices.IndexFunc(args, func(word string) bool { return path.Base(word) == string(f) })
	switch {
	case at >= 0:
		return args[at+1:], true`,
		Package: "./injector/inject",
		Run:     "^TestTheControllersArgumentsAreThoseOfTheProgramItself$",
	},
	{
		Name:    "annotation-too-many",
		Promise: "A pod whose annotations are as long as the API server takes them is not refused for ours.",
		File:    "injector/inject/look.go",
		Old:     `size > validation.TotalAnnotationSizeLimitB {`,
		New:     `size < 0 {`,
		Package: "./injector/inject",
		Run:     "^TestAPodWithoutRoomForOurAnnotationIsLeftAsItIs$",
	},
	{
		Name:    "variables-without-a-bound",
		Promise: "Variables that double with each other take neither the injector's memory nor its time.",
		File:    "injector/inject/environment.go",
		Old:     `if !found || e.left < 0 {`,
		New:     `if !found {`,
		Package: "./injector/inject",
		Run:     "^TestVariablesThatDoubleHaveNoValue$",
	},
	{
		Name:    "inject-argo-by-policy",
		Promise: "No policy turns Argo CD on before a holder can hold Applications.",
		File:    "injector/inject/parse.go",
		Old:     `if p.ArgoCD.Enabled {`,
		New:     `if false {`,
		Package: "./injector/inject",
		Run:     "^TestWhatIsWrongInAPolicyIsNamed$",
	},
	{
		Name:    "holder-of-every-shard",
		Promise: "A holder sees the Kustomizations its controller sees, and no others.",
		File:    "injector/inject/container.go",
		Old:     `	add("watch-label-selector", given.last("watch-label-selector"))`,
		New:     ``,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
	{
		Name:    "holder-without-election",
		Promise: "A holder beside a controller that elects starts operations only while that one leads.",
		File:    "injector/inject/container.go",
		Old:     `	add("controller-leader-election", given.last("enable-leader-election"))`,
		New:     ``,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
	{
		Name:    "holder-that-may-be-root",
		Promise: "The holder's container is admitted at Pod Security level restricted.",
		File:    "injector/inject/container.go",
		Old:     `			RunAsNonRoot:             ptr.To(true),`,
		New:     ``,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
	{
		Name:    "holder-behind-the-redirect",
		Promise: "A holder is ready before traffic goes to a proxy that is not there yet; it would keep its controller from starting.",
		File:    "injector/inject/mesh.go",
		Old:     `		return at, c.Name, true`,
		New:     `		return end, c.Name, true`,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
	{
		Name:    "patch-of-another-reading",
		Promise: "A pod with a key twice is read as JSON patch reads it, so that the patch applies.",
		File:    "injector/inject/inject.go",
		Old:     `settled, err := json.Marshal(tree)`,
		New:     `settled, err := pod, error(nil)`,
		Package: "./injector/inject",
		Run:     "^TestAPodIsReadAsItsPatchWillBeApplied$",
	},
	{
		Name:    "limit-below-the-request",
		Promise: "Annotations that no API server would take give way to the policy, and the pod is not refused.",
		File:    "injector/inject/overrides.go",
		Old:     `if !limit.IsZero() && request.Cmp(limit) > 0 {`,
		New:     `if false {`,
		Package: "./injector/inject",
		Run:     "^TestEveryPodOfTheGoldens$",
	},
}
