package main

import (
	"strings"
	"testing"

	"github.com/go-logr/logr"

	"github.com/holdfast-gitops/holdfast/gitmirror/audit"
)

func TestAReceiverNeedsItsFilesAndNoReceiverNone(t *testing.T) {
	for _, row := range []struct {
		says  string
		audit audit.ServerOptions
		want  string // in the error; "": none
	}{
		{"a receiver without a certificate", audit.ServerOptions{Address: ":9443"}, "not set: -audit-tls-cert-file, -audit-tls-key-file, -audit-client-ca-file;"},
		{"one without a key", audit.ServerOptions{Address: ":9443", CertFile: "c"}, "not set: -audit-tls-key-file, -audit-client-ca-file;"},
		{"one that believes nobody", audit.ServerOptions{Address: ":9443", CertFile: "c", KeyFile: "k"}, "not set: -audit-client-ca-file;"},
		{"one with all of them", audit.ServerOptions{Address: ":9443", CertFile: "c", KeyFile: "k", ClientCAFile: "a"}, ""},
		{"none", audit.ServerOptions{Address: "0"}, ""},
	} {
		err := settings{audit: row.audit}.check()
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%s: %v, want %q", row.says, err, row.want)
		}
	}
}

func TestWhatIsReceivedNowhereOpensNoPort(t *testing.T) {
	facts, receiver, err := receive(settings{audit: audit.ServerOptions{Address: "0"}}, logr.Discard())
	if err != nil || receiver != nil || facts == nil {
		t.Fatalf("facts %v, receiver %v: %v", facts, receiver, err)
	}
	if first, _ := facts.Received(); !first.IsZero() {
		t.Errorf("somebody was named at %s", first)
	}
}
