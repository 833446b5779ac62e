package main

import (
	"fmt"
	"time"

	"github.com/granarydb/granary/bench/trees/block"
	"github.com/granarydb/granary/bench/trees/postgres"
	"github.com/granarydb/granary/bench/trees/rectangles"
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
	// load stores all intervals, and does what follows a load. It may end with errLarge.
	load(all []block.Interval) error
	// size is that of the files, or of memory.
	size() (size, error)
	// reopen is a restart: nothing stays in the process's memory.
	reopen() error
	// cpu is the CPU time of other processes since the store was made or reopened.
	cpu() (time.Duration, error)
	// searched is how many nodes the questions so far have looked at, 0 of what is no tree.
	searched() int64
	close() error
}

// size is how much a store takes. Only trees have nodes.
type size struct {
	bytes        int64
	nodes, depth uint32
}

// peer is a store of a run, by its name.
type peer struct {
	name   string
	server bool // it wants PostgreSQL
	make   func(s *intervals, o options) (store, error)
}

// peerOf returns the store of a name. That of a tree may have the size of its blocks behind it.
func peerOf(name string) (peer, error) {
	for _, p := range peers() {
		if p.name == name {
			return p, nil
		}
	}
	for _, k := range kinds {
		sized, err := k.sized(name)
		if err != nil {
			return peer{}, err
		}
		if sized.name == name {
			return treePeer(sized), nil
		}
	}
	return peer{}, fmt.Errorf("no store has the name %q", name)
}

func treePeer(k kind) peer {
	return peer{name: k.name, make: func(s *intervals, o options) (store, error) { return newTreeStore(k, s, o) }}
}

// peers returns all stores, in the order of the table.
func peers() []peer {
	var all []peer
	for _, k := range kinds {
		all = append(all, treePeer(k))
	}
	return append(
		all,
		peer{name: "history", make: func(s *intervals, _ options) (store, error) { return newHistoryStore(s) }},
		peer{name: "rtree", make: func(*intervals, options) (store, error) { return &rtreeStore{Store: &rectangles.Store{}}, nil }},
		onPostgres("PG GiST", postgres.GiST),
		onPostgres("PG B-tree", postgres.BTree),
	)
}

func onPostgres(name string, layout *postgres.Layout) peer {
	return peer{name: name, server: true, make: func(_ *intervals, o options) (store, error) {
		s, err := postgres.New(o.programs, o.dir, layout)
		return &postgresStore{Store: s}, err
	}}
}
