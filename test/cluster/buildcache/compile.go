package buildcache

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

const (
	progressEvery = 10 * time.Second
	stopGrace     = 10 * time.Second // a cancelled go command gets this long to end its compilers
	maxErrorLines = 40               // of a failed build
)

// compile builds p to out and prints a progress line every ten seconds.
func (c Cache) compile(ctx context.Context, p Program, out string) error {
	if p.Completed != nil {
		dir, remove, err := c.copyModule(ctx, p)
		if err != nil {
			return err
		}
		p.Dir, p.Completed = dir, nil
		return errors.Join(c.compile(ctx, p, out), remove())
	}
	total, err := c.count(ctx, p)
	if err != nil {
		return err
	}
	args := append([]string{"build", "-v", "-o", out}, append(p.flags(), p.Package)...)
	return c.run(ctx, p.Dir, args, func(line string) {}, func(s seen, since time.Duration) {
		c.say("%s: compiled %d of at most %d packages, %s", p.Name, s.packages, total, since)
	})
}

// count is the number of packages p is made of. On an empty module cache this is where everything is downloaded.
func (c Cache) count(ctx context.Context, p Program) (int, error) {
	total := 0
	err := c.run(ctx, p.Dir, []string{"list", "-deps", "-trimpath", p.Package}, func(string) { total++ }, func(s seen, since time.Duration) {
		c.say("%s: downloading modules, %d so far, %s", p.Name, s.downloads, since)
	})
	if err != nil {
		return 0, fmt.Errorf("find the packages: %w", err)
	}
	return total, nil
}

// BuildProduct builds a program of the checkout at root, with plain go build, those flags and its build cache, and returns
// where it is. The path stays the same for one checkout, so an unchanged program is not even linked again.
func (c Cache) BuildProduct(ctx context.Context, root, name, pkg string, flags ...string) (string, error) {
	sum := sha256.Sum256([]byte(root))
	dir := filepath.Join(c.Dir, "product", hex.EncodeToString(sum[:])[:keyDigits])
	lock, err := TakeLock(ctx, filepath.Join(dir, name+".lock"), func() { c.say("%s: another process is building it, waiting", name) })
	if err != nil {
		return "", err
	}
	defer lock.Release()
	out := filepath.Join(dir, name)
	err = c.run(ctx, root, slices.Concat([]string{"build", "-o", out}, flags, []string{pkg}), func(string) {}, func(_ seen, since time.Duration) {
		c.say("%s: building from the checkout, %s", name, since)
	})
	if err != nil {
		return "", fmt.Errorf("build %s from %s: %w", name, pkg, err)
	}
	return out, nil
}

// seen counts what the go command has reported on its standard error.
type seen struct{ packages, downloads int64 }

// run runs the go command; onLine gets each line of standard output, progress is called every ten seconds. An error
// carries what the go command said that was neither a package name nor a download.
func (c Cache) run(ctx context.Context, dir string, args []string, onLine func(string), progress func(seen, time.Duration)) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), buildEnv...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopGrace
	var packages, downloads atomic.Int64
	var complaints []string
	stderr := lineWriter(func(line string) {
		switch {
		case strings.HasPrefix(line, "go: downloading "):
			downloads.Add(1)
		case !strings.ContainsAny(line, " \t#"):
			packages.Add(1)
		case len(complaints) < maxErrorLines:
			complaints = append(complaints, line)
		}
	})
	stdout := lineWriter(onLine)
	cmd.Stderr, cmd.Stdout = stderr, stdout

	done := make(chan struct{})
	defer close(done)
	go func() {
		start := time.Now()
		tick := time.NewTicker(progressEvery)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				progress(seen{packages.Load(), downloads.Load()}, time.Since(start).Round(time.Second))
			}
		}
	}()
	err := cmd.Run()
	stdout.flush()
	stderr.flush()
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("the go command is missing, install Go and put it on PATH: %w", err)
	case err != nil:
		return fmt.Errorf("go %s: %w\n%s", args[0], err, strings.Join(complaints, "\n"))
	}
	return nil
}

// lines hands complete lines to a function. The go command writes through it from one goroutine.
type lines struct {
	each func(string)
	rest []byte
}

func lineWriter(each func(string)) *lines { return &lines{each: each} }

func (l *lines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		n, line, _ := bufio.ScanLines(l.rest, false)
		if n == 0 {
			return len(p), nil
		}
		l.each(string(line))
		l.rest = l.rest[n:]
	}
}

// flush hands over a last line that did not end.
func (l *lines) flush() {
	if len(l.rest) > 0 {
		l.each(string(l.rest))
		l.rest = nil
	}
}
