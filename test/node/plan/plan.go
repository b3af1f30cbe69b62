// Package plan is what a node's first process is told to do, by the test that starts it.
package plan

import (
	"encoding/json"
	"fmt"
	"os"
)

// Plan is carried out in the order of its fields.
type Plan struct {
	HostName string
	Outside  [][]string        // commands in the network of the process that started the node, while its /proc is still seen
	Over     map[string]string // what is seen in the place of a file or folder: path of that, and of what is seen instead
	Inside   [][]string        // commands in the network of the node
	Programs []Program         // which run until the node is stopped; the end of one is the end of the node
}

// Program is one program of the node.
type Program struct {
	Name string
	Path string
	Args []string
	Env  []string
	Log  string // file its output goes to

	Await string // a Unix socket that must take connections before it is started; "": nothing
}

// Write writes the plan to the file at path.
func (p Plan) Write(path string) error {
	content, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// Read reads the plan that Write wrote.
func Read(path string) (Plan, error) {
	var p Plan
	content, err := os.ReadFile(path)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(content, &p); err != nil {
		return p, fmt.Errorf("read the plan %s: %w", path, err)
	}
	return p, nil
}
