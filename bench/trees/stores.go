package main

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/postgres"
	"github.com/granarydb/granary/bench/trees/rectangles"
	"github.com/granarydb/granary/bench/trees/sht"
)

// answers is what every store is asked.
type answers interface {
	Single(key uint32, at int64) (block.Interval, bool, error)
	Full(at int64, f func(block.Interval)) error
	Plane(keys []uint32, times []int64, f func(block.Interval)) error
}

// store is a store in a run. It is loaded once, reopened once and closed.
type store interface {
	answers
	// Load stores all intervals, and does what follows a load. It may end with errLarge.
	Load(all []block.Interval) error
	// Bytes is the size of the files, or of memory.
	Bytes() (int64, error)
	// Reopen is a restart: nothing stays in the process's memory.
	Reopen() error
	// CPU is the CPU time of other processes since the store was made or reopened.
	CPU() (time.Duration, error)
	Close() error
}

// peer is a store of a run, by its name.
type peer struct {
	name   string
	server bool // it wants PostgreSQL
	make   func(s *intervals, o options) (store, error)
}

// trees are those of the papers.
var trees = []string{sht.SHT: "SHT", sht.OSHT: "oSHT", sht.ESHT: "eSHT", sht.R2: "R2", sht.R3: "R3", sht.R4: "R4", sht.VR: "vR"}

// tree is the tree of a kind, with blocks of a size if it is not 0.
func tree(kind sht.Kind, name string, size int) peer {
	return peer{name: name, make: func(s *intervals, o options) (store, error) {
		return newTree(sht.Options{Kind: kind, Size: size, Start: s.set.Header.Start}, o)
	}}
}

// peers returns all stores, in the order of the table.
func peers() (all []peer) {
	for kind, name := range trees {
		all = append(all, tree(sht.Kind(kind), name, 0))
	}
	onPostgres := func(name string, layout *postgres.Layout) peer {
		return peer{name, true, func(_ *intervals, o options) (store, error) { return postgres.New(o.Dir, layout) }}
	}
	return append(
		all,
		peer{name: "history", make: func(s *intervals, _ options) (store, error) { return newHistoryStore(s) }},
		peer{name: "rtree", make: func(*intervals, options) (store, error) { return &rectanglesStore{}, nil }},
		onPostgres("PG GiST", postgres.GiST),
		onPostgres("PG B-tree", postgres.BTree),
	)
}

// peerOf returns the store of a name. That of a tree may have the size of its blocks behind it, as SHT@16K.
func peerOf(name string) (peer, error) {
	of, size, sized := strings.Cut(name, "@")
	for i, p := range peers() {
		if p.name != of || sized && i >= len(trees) {
			continue
		}
		if !sized {
			return p, nil
		}
		n, err := strconv.Atoi(strings.TrimSuffix(size, "K"))
		if err != nil || n < 4 || !strings.HasSuffix(size, "K") {
			return peer{}, fmt.Errorf("%s: want a size of blocks in KiB, as %s@16K", name, of)
		}
		return tree(sht.Kind(i), name, n<<10), nil
	}
	return peer{}, fmt.Errorf("no store has the name %q", name)
}

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
}

func newTree(of sht.Options, o options) (_ store, err error) {
	t := &treeStore{storage: &block.Memory{}, most: o.Most}
	if o.Dir != "" {
		file, err := os.CreateTemp(o.Dir, "tree-*")
		if err != nil {
			return nil, err
		}
		t.storage = file
	}
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
}
