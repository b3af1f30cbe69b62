// Package cluster starts a real world for Holdfast on this machine: etcd, kube-apiserver, kube-controller-manager, Flux's
// source- and kustomize-controller and a Git server, on loopback, with certificates, RBAC and the audit webhook on.
// Nothing is simulated and nothing is downloaded prebuilt: the programs are built from the Go modules pinned in kube/
// and flux/, and cached (package buildcache).
//
// A suite makes one world and gives each story a namespace and a repository of its own:
//
//	w, err := cluster.Start(ctx, cluster.Options{})
//	defer w.Stop()
//
//	err = w.CreateNamespace(ctx, "team-story")                       // alice and bob are admin there
//	err = w.Git.AddRepo(ctx, "story", map[string]string{"cm.yaml": …})
//	err = w.Apply(ctx, manifests)                                    // what the story takes as given
//	err = w.StartGitmirror(ctx)                                      // built from the checkout
//	err = w.StartHolder(ctx)
//
//	out, err := w.Kubectl(ctx, cluster.Alice, "-n", "team-story", "scale", "deployment/web", "--replicas=3")
//	log, err := w.Git.Log(ctx, "story", "main")                      // what became of it
//
// Trouble is made with Kill, Revive, Restart and RestartWith of any component, StopHolder and StopGitmirror, and on the
// Git side with Down, Up, SetHook and Commit. When a story fails, LogTail has the words of the component that knows.
//
// Several kustomize-controllers, each with a holder beside it as in one pod, are started with StartPair, once the usual one
// was killed or is kept from what theirs select.
//
// By hand: `go run ./cluster/cmd/cluster` prints a kubeconfig for each user and waits for Ctrl-C; with -build it only
// fills the cache. HOLDFAST_CACHE moves the cache, KEEP=1 leaves a world's folder.
//
// There is no node: Deployments make ReplicaSets, no Pod runs. With Options.ForNode one may join, which package node does.
// What a program sends to the audit webhook before gitmirror runs is lost after about four seconds, as in any cluster. On
// Linux nothing outlives the process that started the world, even when that is killed; its folder does.
package cluster
