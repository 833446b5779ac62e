package main

import (
	"errors"
	"os"
	"runtime"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/rectangles"
	"github.com/granarydb/granary/bench/trees/sht"
)

// errLarge ends the load of a tree that takes too many bytes.
var errLarge = errors.New("tree is too large")

// local is a store without other processes or files.
type local struct{}

func (local) CPU() (time.Duration, error) { return 0, nil }
func (local) Close() error                { return nil }

// treeStore is one of the trees of the papers, in memory or in a file.
type treeStore struct {
	*sht.Tree
	local
	storage block.Storage
	most    int64
	stopped int // intervals after which the tree was given up
}

func newTree(of sht.Options, o options) (store, error) {
	t := &treeStore{storage: &block.Memory{}, most: o.Most}
	if o.Dir != "" {
		file, err := os.CreateTemp(o.Dir, "tree-*")
		if err != nil {
			return nil, err
		}
		t.storage = file
	}
	var err error
	if t.Tree, err = sht.New(t.storage, of); err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

func (t *treeStore) Load(all []block.Interval) error {
	for i := range all {
		if err := t.Add(all[i]); err != nil {
			return err
		}
		if i%1024 == 0 && t.Summary().Bytes() > t.most {
			t.stopped = i
			return errLarge
		}
	}
	return t.Tree.Close()
}

func (t *treeStore) Bytes() (int64, error) { return t.Summary().Bytes(), nil }

func (t *treeStore) Reopen() (err error) {
	t.Tree, err = sht.Open(t.storage)
	return err
}

// Close removes the file.
func (t *treeStore) Close() error {
	if file, is := t.storage.(*os.File); is {
		return errors.Join(file.Close(), os.Remove(file.Name()))
	}
	return nil
}

// rectanglesStore is tidwall/rtree, in memory alone.
type rectanglesStore struct {
	rectangles.Store
	local
	all []block.Interval
}

func (r *rectanglesStore) Load(all []block.Interval) error {
	r.all = all
	return r.Store.Load(all)
}

// Bytes is what the live heap loses with the tree, which is loaded again when it is reopened.
func (r *rectanglesStore) Bytes() (int64, error) {
	with := measure.Heap()
	runtime.KeepAlive(r)
	r.Store = rectangles.Store{}
	return with - measure.Heap(), nil
}

// Reopen loads the intervals again: the tree has no file.
func (r *rectanglesStore) Reopen() error {
	r.Store = rectangles.Store{}
	return r.Store.Load(r.all)
}
