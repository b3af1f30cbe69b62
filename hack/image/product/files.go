package product

import (
	"bytes"
	"encoding/pem"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/holdfast-gitops/holdfast/hack/image/scratch"
)

// user is who every program runs as: nobody in particular, in the number that such images have agreed on.
const user = "65532:65532"

// labels are what the image says about itself to people who meet it in a registry.
var labels = map[string]string{
	"org.opencontainers.image.title":       "holdfast",
	"org.opencontainers.image.description": "Edits made in a cluster reach Git under their author, and Flux applies one known commit at a time",
	"org.opencontainers.image.source":      "https://github.com/holdfast-gitops/holdfast",
	"org.opencontainers.image.licenses":    "Apache-2.0",
}

// Config is how the image's processes run on machines of the architecture arch, named as GOARCH does.
func Config(arch string) scratch.Config {
	return scratch.Config{Arch: arch, User: user, Labels: labels}
}

// around are the files besides the programs.
func around() []scratch.File {
	return []scratch.File{
		{Path: "/etc/passwd", Mode: 0o644, Content: []byte("holdfast:x:65532:65532:holdfast:/:/nonexistent\n")},
		{Path: "/etc/group", Mode: 0o644, Content: []byte("holdfast:x:65532:\n")},
		{Path: "/etc/ssl/certs/ca-certificates.crt", Mode: 0o644, Content: authorities()},
	}
}

// authorities are the certificate authorities that Mozilla's programs trust, as PEM. They come with a module that go.sum
// pins, so that an image has the same ones wherever it is made; `go get golang.org/x/crypto/x509roots/fallback@latest` here
// brings newer ones. A file cannot say that an authority is trusted only for certificates of before some day: one that
// Mozilla is phasing out is left out.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return out.Bytes()
}
