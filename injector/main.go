// Command injector puts a holder into the pods of the controllers Holdfast knows, as they are made, and tells of pods that
// should have one and have none.
package main

import (
	"context"
	"flag"
	"log/slog"
	"os"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/holdfast-gitops/holdfast/injector/webhook"
	"github.com/holdfast-gitops/holdfast/internal/commandline"
	"github.com/holdfast-gitops/holdfast/internal/kubeconfig"
	"github.com/holdfast-gitops/holdfast/internal/version"
)

func main() {
	var s settings
	s.bind(flag.CommandLine)
	version.AddFlag(flag.CommandLine, "injector", os.Stdout, os.Exit)
	flag.Parse()
	log := logr.FromSlogHandler(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.level}))
	ctrl.SetLogger(log)

	var config *rest.Config
	err := commandline.Whole(flag.CommandLine)
	if err == nil {
		config, err = kubeconfig.Load()
	}
	if err == nil {
		var drain webhook.Drain
		told := ctrl.LoggerInto(ctrl.SetupSignalHandler(), log)
		err = run(draining(told, &drain, s.drain), config, s, &drain)
	}
	if err != nil {
		log.Error(err, "injector ends")
		os.Exit(1)
	}
}

// draining returns a context that ends d later than told. In between the injector is not ready, and still answers.
func draining(told context.Context, drain *webhook.Drain, d time.Duration) context.Context {
	ctx, end := context.WithCancel(context.WithoutCancel(told))
	go func() {
		<-told.Done()
		drain.Begin()
		<-time.After(d)
		end()
	}()
	return ctx
}
