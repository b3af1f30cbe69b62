package command

import (
	"fmt"
	"io"
	"os"
)

// maxRead is how many bytes of one input are taken: many times what all of Flux's manifests have.
const maxRead = 16 << 20

// readAll returns what in holds, unless that is too much.
func readAll(in io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxRead+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxRead {
		return nil, fmt.Errorf("it has more than %d MiB; give what is needed of it alone", maxRead>>20)
	}
	return text, nil
}

// readFile returns what a file holds, unless that is too much.
func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f)
}
