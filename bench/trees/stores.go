package main

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/postgres"
	"github.com/granarydb/granary/bench/trees/rectangles"
	"github.com/granarydb/granary/bench/trees/sht"
)

// errLarge ends the load of a tree that takes too many bytes.
var errLarge = errors.New("tree is too large")

// local is a store without other processes.
type local struct{}

func (local) cpu() (time.Duration, error) { return 0, nil }
func (local) searched() int64             { return 0 }

// treeStore is one of the trees of the papers.
type treeStore struct {
	*sht.Tree
	local
	storage block.Storage
	remove  func() error
	most    int64
	stopped int // intervals after which the tree was given up
}

func newTreeStore(k kind, s *intervals, o options) (*treeStore, error) {
	storage, remove, err := newStorage(o.dir)
	if err != nil {
		return nil, err
	}
	t := &treeStore{storage: storage, remove: remove, most: o.most}
	k.Start = s.set.Header.Start
	if t.Tree, err = sht.New(storage, k.Options); err != nil {
		return nil, errors.Join(err, remove())
	}
	return t, nil
}

// newStorage returns memory, or a file and how to remove it.
func newStorage(dir string) (block.Storage, func() error, error) {
	if dir == "" {
		return &block.Memory{}, func() error { return nil }, nil
	}
	file, err := os.CreateTemp(dir, "tree-*")
	if err != nil {
		return nil, nil, err
	}
	return file, func() error { return errors.Join(file.Close(), os.Remove(file.Name())) }, nil
}

func (t *treeStore) load(all []block.Interval) error {
	for i := range all {
		if err := t.Add(all[i]); err != nil {
			return err
		}
		if i%1024 == 0 && t.Summary().Bytes() > t.most {
			t.stopped = i
			return errLarge
		}
	}
	return t.Close()
}

func (t *treeStore) size() (size, error) {
	s := t.Summary()
	return size{bytes: s.Bytes(), nodes: s.Nodes, depth: s.Depth}, nil
}

func (t *treeStore) reopen() (err error) {
	t.Tree, err = sht.Open(t.storage)
	return err
}

func (t *treeStore) searched() int64 { return t.Searched() }

func (t *treeStore) close() error { return t.remove() }

// rtreeStore is tidwall/rtree, in memory alone.
type rtreeStore struct {
	*rectangles.Store
	local
	all []block.Interval
}

func (r *rtreeStore) load(all []block.Interval) error {
	r.all = all
	return r.Load(all)
}

// size is what the live heap loses with the tree, which reopen loads again.
func (r *rtreeStore) size() (size, error) {
	with := measure.Heap()
	runtime.KeepAlive(r.Store)
	r.Store = nil
	return size{bytes: with - measure.Heap()}, nil
}

// reopen loads the intervals again: the tree has no file.
func (r *rtreeStore) reopen() error {
	r.Store = &rectangles.Store{}
	return r.Load(r.all)
}

func (*rtreeStore) close() error { return nil }

// postgresStore is a PostgreSQL server of its own.
type postgresStore struct{ *postgres.Store }

func (p *postgresStore) load(all []block.Interval) error { return p.Load(all) }

func (p *postgresStore) size() (size, error) {
	n, err := p.Bytes()
	return size{bytes: n}, err
}

func (p *postgresStore) reopen() error               { return p.Reopen() }
func (p *postgresStore) cpu() (time.Duration, error) { return p.CPU() }
func (*postgresStore) searched() int64               { return 0 }
func (p *postgresStore) close() error                { return p.Close() }
