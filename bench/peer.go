package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// peer is a store beside others: each takes the same profiles and is asked the same
// questions. It belongs to one goroutine.
//
// An answer is handed to each, if that is not nil; otherwise it is made in the form
// that is the store's own and dropped. So the clock can stop before an answer is
// turned into what all peers have in common.
type peer interface {
	// insert adds the rows of a profile, which share type, labels and time.
	insert(b schema.Batch) error
	// maintain is called after each insert, outside of its latency.
	maintain() error
	// rest returns when nothing works in the background, so that the clock can stop.
	rest() error
	// settle does all maintenance that there can be.
	settle() error
	// merge sums values by stack: the ids of its locations end to end, leaf first.
	merge(where []term, each func(stack []byte, sum int64)) error
	// series sums values by time.
	series(where []term, each func(at, sum int64)) error
	// totals sums values and counts rows by the value of a string column.
	totals(column string, each func(value string, rows, sum int64)) error
	// pick returns the number of rows chosen, having made their values of the
	// columns; none means all columns. Nulls may be left out of what each gets.
	pick(where []term, columns []string, each func(schema.Batch)) (rows int64, err error)
	// types returns the types that rows have, in any order.
	types() ([]profileType, error)
	// labelNames and labelValues return what there is, in any order.
	labelNames() ([]string, error)
	labelValues(label string, where []term) ([]string, error)
	close() error
}

// searcher is a peer that keeps names of functions beside the locations.
type searcher interface {
	// search sums values by stack, as merge does, of the rows whose stack has a function
	// with a name that matches.
	search(pattern *regexp.Regexp, each func(stack []byte, sum int64)) error
}

// profileType is the values of typeColumns.
type profileType [4]string

// term is a condition on rows, of which several hold together.
type term struct {
	column  string
	text    string         // equal to; for string columns
	pattern *regexp.Regexp // matches; instead of text
	number  int64          // equal to; for the timestamp
	id      uuid.UUID      // equal to; for the trace id
}

// peerKind is a peer that can be opened.
type peerKind struct {
	about  string // for people
	module string // where its code is from; empty for this project
	open   func() (peer, error)
	// apart says that maintenance happens in maintain, rest and settle only, so that
	// what an insert costs without can be told.
	apart bool
	// arrow says that pick makes Arrow records.
	arrow bool
	// symbols says that it is a searcher.
	symbols bool
}

const (
	frostModule    = "github.com/polarsignals/frostdb"
	kelindarModule = "github.com/kelindar/column"
)

// peerKinds are all peers by name. Another way to insert into a store is another peer.
var peerKinds = map[string]peerKind{
	"granary": {
		about: "this store, by lists of location ids; maintenance on demand after every insert, else default options",
		open:  openGranary, apart: true, arrow: true, symbols: true,
	},
	"frostdb-parca": {
		about: "FrostDB as Parca uses it: stack a list of dictionary binaries, sorted by name, types and time; pprof labels as columns of their own",
		open:  func() (peer, error) { return openFrost(parcaDefinition()) }, module: frostModule, arrow: true,
	},
	"frostdb-rfc": {
		about: "FrostDB with the schema of the RFC: stack one dictionary binary, sorted by types, labels, stack, time and pprof labels",
		open:  func() (peer, error) { return openFrost(rfcDefinition()) }, module: frostModule, arrow: true,
	},
	"kelindar": {
		about: "kelindar/column: labels in its ForEnum columns, stacks by codes of a map that is kept beside it",
		open:  openKelindar, module: kelindarModule, apart: true,
	},
	"oracle": {
		about: "brute force over the batches as they came: for answers, not for figures",
		open:  openOracle, apart: true, symbols: true,
	},
}

// findPeers checks names. No name means all but the oracle.
func findPeers(names []string) ([]string, error) {
	if len(names) == 0 {
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(peerKinds)), func(name string) bool { return name == "oracle" })
	}
	for _, name := range names {
		if _, ok := peerKinds[name]; !ok {
			return nil, fmt.Errorf("unknown peer %q: want some of %s", name, strings.Join(slices.Sorted(maps.Keys(peerKinds)), ", "))
		}
	}
	return names, nil
}

// labelPrefix is what names of columns with labels of a profile begin with.
const labelPrefix = profile.ColumnLabels + "."

// typeColumns are what a type of profile is, and all that a query of one gives.
var typeColumns = []string{profile.ColumnSampleType, profile.ColumnSampleUnit, profile.ColumnPeriodType, profile.ColumnPeriodUnit}

// ofType returns the terms that choose the type of a profile.
func ofType(b schema.Batch) []term {
	var where []term
	for _, column := range typeColumns {
		where = append(where, term{column: column, text: b.Columns[column].Strings[0]})
	}
	return where
}
