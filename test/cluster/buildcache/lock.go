package buildcache

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// lockPoll is how often a waiting process asks again. A blocking flock could not be cancelled.
const lockPoll = 100 * time.Millisecond

// Lock is an exclusive lock held on a file by this process. The kernel drops it when the process ends, however it ends.
type Lock struct{ file *os.File }

// TryLock takes the lock at path, or returns nil and no error when somebody else has it.
func TryLock(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case err == nil:
		return &Lock{file: f}, nil
	case errors.Is(err, syscall.EWOULDBLOCK):
		return nil, f.Close()
	default:
		return nil, errors.Join(fmt.Errorf("lock %s: %w", path, err), f.Close())
	}
}

// TakeLock waits for the lock at path until ctx ends, and calls waiting once if it is not free at once.
func TakeLock(ctx context.Context, path string, waiting func()) (*Lock, error) {
	for first := true; ; first = false {
		l, err := TryLock(path)
		if l != nil || err != nil {
			return l, err
		}
		if first {
			waiting()
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the lock %s: %w", path, context.Cause(ctx))
		case <-time.After(lockPoll):
		}
	}
}

// Release gives the lock back. The file stays: removing it would let two processes lock two files of one name.
func (l *Lock) Release() { _ = l.file.Close() }
