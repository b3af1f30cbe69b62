package cluster

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/holdfast-gitops/holdfast/test/cluster/buildcache"
)

// Ports are looked for here, below the range from which Linux takes the ports of outgoing connections (32768 up), so
// that a port stays free while its program is restarted.
const (
	firstPort = 20000
	lastPort  = 31999
)

// errNoPort is what takePort says when the whole range is taken.
var errNoPort = errors.New("no free port on 127.0.0.1")

// ports are the TCP ports of one world on 127.0.0.1.
type ports struct {
	etcdClient, etcdPeer                           int
	apiServer, controllerManager, scheduler        int
	git                                            int
	sourceStorage, sourceMetrics, sourceHealth     int
	kustomizeMetrics, kustomizeHealth              int
	holderStatus, gitmirrorAudit, gitmirrorMetrics int

	mu    sync.Mutex
	locks []*buildcache.Lock
}

// takePorts picks free ports and reserves them among worlds with one file lock each, until release. Another program
// can still take one before ours listens; Start then tries again with other ports.
func takePorts() (*ports, error) {
	p := &ports{}
	next := firstPort + os.Getpid()%(lastPort-firstPort)
	for _, port := range []*int{
		&p.etcdClient, &p.etcdPeer, &p.apiServer, &p.controllerManager, &p.scheduler, &p.git, &p.sourceStorage, &p.sourceMetrics,
		&p.sourceHealth, &p.kustomizeMetrics, &p.kustomizeHealth, &p.holderStatus, &p.gitmirrorAudit, &p.gitmirrorMetrics,
	} {
		taken, lock, err := takePort(next)
		if err != nil {
			p.release()
			return nil, err
		}
		p.locks = append(p.locks, lock)
		*port, next = taken, taken+1
	}
	return p, nil
}

// more takes n further ports, until release.
func (p *ports) more(n int) ([]int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]int, n)
	next := p.gitmirrorMetrics + 1
	for i := range all {
		taken, lock, err := takePort(next)
		if err != nil {
			return nil, err
		}
		p.locks = append(p.locks, lock)
		all[i], next = taken, taken+1
	}
	return all, nil
}

// takePort returns the first free port from the given one on, around the end of the range.
func takePort(from int) (int, *buildcache.Lock, error) {
	const size = lastPort - firstPort + 1
	reservations := filepath.Join(os.TempDir(), fmt.Sprintf("holdfast-ports-%d", os.Getuid())) // nobody else could write there
	for i := range size {
		port := firstPort + (from-firstPort+i)%size
		lock, err := buildcache.TryLock(filepath.Join(reservations, strconv.Itoa(port)))
		if err != nil {
			return 0, nil, err
		}
		if lock == nil {
			continue
		}
		if canListen(port) {
			return port, lock, nil
		}
		lock.Release()
	}
	return 0, nil, errNoPort
}

func canListen(port int) bool {
	l, err := net.Listen("tcp", loopback(port))
	return err == nil && l.Close() == nil
}

// release gives the ports back to other worlds.
func (p *ports) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.locks {
		l.Release()
	}
	p.locks = nil
}

func loopback(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }
