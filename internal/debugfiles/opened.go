package debugfiles

import (
	"errors"
	"fmt"
	"sync"

	"github.com/granarydb/granary/internal/debuginfo"
)

// Pool has the open files of sets, within a bound on their memory (F1). It is safe for concurrent use.
type Pool struct {
	bytes int64

	mu      sync.Mutex
	open    map[string]*opened // by path
	turn    int64              // counts uses
	problem error
}

// NewPool returns a pool for `bytes` of memory; 0 means 1 GiB. A file that needs more has no names. Close it after the last
// question.
func NewPool(bytes int64) *Pool {
	if bytes <= 0 {
		bytes = 1 << 30
	}
	return &Pool{bytes: bytes, open: map[string]*opened{}}
}

// opened is an open file. It is closed when it is no longer used and not in the pool.
type opened struct {
	once sync.Once
	file *debuginfo.Info // nil if it could not be opened
	err  error

	// Under Pool.mu:
	users int
	bytes int64
	turn  int64 // of the last use
	gone  bool  // not in the pool any more
}

func (o *opened) close() error {
	if o.gone = true; o.users > 0 || o.file == nil {
		return nil
	}
	return o.file.Close()
}

// Close closes all files.
func (p *Pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all error
	for path, o := range p.open {
		delete(p.open, path)
		all = errors.Join(all, o.close())
	}
	return all
}

// ask asks a file, which it opens if it is not open.
func (p *Pool) ask(path string, at debuginfo.MappedAddress) []debuginfo.NamedFrame {
	p.mu.Lock()
	o := p.open[path]
	if o == nil {
		o = &opened{}
		p.open[path] = o
	}
	o.users++
	p.turn++
	o.turn = p.turn
	p.mu.Unlock()

	o.once.Do(func() { o.file, o.err = debuginfo.Open(path, debuginfo.Limits{Bytes: p.bytes}) })
	var frames []debuginfo.NamedFrame
	bytes, problem := int64(0), o.err
	if o.file != nil {
		frames = o.file.Frames(at)
		bytes, problem = o.file.Bytes(), o.file.Problem()
	}

	p.mu.Lock()
	defer p.mu.Unlock()
	if problem != nil {
		p.note(pathError(path, problem))
	}
	o.bytes = bytes
	if o.users--; o.gone && o.users == 0 && o.file != nil {
		p.note(o.file.Close())
	}
	p.shrink(path)
	return frames
}

// maxOpen bounds the open files, each of which has a descriptor.
const maxOpen = 64

// shrink closes files that were not used for longest, until the others and `kept` fit. The caller holds mu.
func (p *Pool) shrink(kept string) {
	for {
		total, oldest := int64(0), ""
		for path, o := range p.open {
			total += o.bytes
			if path != kept && (oldest == "" || o.turn < p.open[oldest].turn) {
				oldest = path
			}
		}
		if oldest == "" || total <= p.bytes && len(p.open) <= maxOpen {
			return
		}
		o := p.open[oldest]
		delete(p.open, oldest)
		p.note(o.close())
	}
}

// forget closes the file at a path, because another one is there now.
func (p *Pool) forget(path string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o := p.open[path]; o != nil {
		delete(p.open, path)
		p.note(o.close())
	}
}

// note keeps the first problem. The caller holds mu.
func (p *Pool) note(err error) {
	if err != nil && p.problem == nil {
		p.problem = err
	}
}

// Problem returns the first reason for which a file, or a part of one, could not be read, or nil.
func (p *Pool) Problem() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.problem
}

func pathError(path string, err error) error { return fmt.Errorf("%s: %w", path, err) }
