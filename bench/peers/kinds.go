package peers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Kind is a kind of store.
type Kind struct {
	about  string // for people
	module string // module of its code; empty for this project
	open   func() (Store, error)
	// folder has the module whose program measures it, for stores that need cgo. open is nil then.
	folder string
	// outside reports that its memory is not in the heap, so that only the process's memory is known.
	outside bool
	// durable measures it in a directory, nil if it has none.
	durable durableRun
	// apart reports that maintenance happens only in Maintain, Rest and Settle. The cost of an insert
	// without it is then known.
	apart bool
	// arrow reports that Pick makes Arrow records.
	arrow bool
	// symbols reports that the store is a Searcher.
	symbols bool
}

const (
	frostModule    = "github.com/polarsignals/frostdb"
	kelindarModule = "github.com/kelindar/column"
	duckModule     = "github.com/duckdb/duckdb-go/v2"
	duckFolder     = "duck"
)

// kinds are all kinds of stores by name.
var kinds = map[string]Kind{
	"granary": {
		about: "this store, by lists of location ids; maintenance on demand after every insert, else default options",
		open:  openManualGranary, durable: durableGranary, apart: true, arrow: true, symbols: true,
	},
	"frostdb-parca": {
		about: "FrostDB as Parca uses it: stack a list of dictionary binaries, sorted by name, types and time; pprof labels as columns of their own",
		open:  func() (Store, error) { return openFrost(parcaDefinition()) }, durable: durableFrost(parcaDefinition()), module: frostModule, arrow: true,
	},
	"frostdb-rfc": {
		about: "FrostDB with the schema of the RFC: stack one dictionary binary, sorted by types, labels, stack, time and pprof labels",
		open:  func() (Store, error) { return openFrost(rfcDefinition()) }, durable: durableFrost(rfcDefinition()), module: frostModule, arrow: true,
	},
	"kelindar": {
		about: "labels in ForEnum columns, stacks by codes of a map beside it",
		open:  openKelindar, module: kelindarModule, apart: true,
	},
	"arrow": {
		about: "plain Arrow records, one a profile, scanned by hand; stacks are summed by their bytes",
		open:  openArrow, module: "github.com/apache/arrow/go/v14", apart: true, arrow: true,
	},
	"duckdb-memory": {
		about:  "DuckDB in memory: labels and types as strings, stacks as numbers of a map beside it, an appender flushed after each profile",
		folder: duckFolder, module: duckModule, outside: true, arrow: true,
	},
	"duckdb-file": {
		about:  "the same in a file, with a checkpoint before the questions",
		folder: duckFolder, module: duckModule, outside: true, arrow: true,
	},
	"duckdb-parquet": {
		about:  "Parquet with zstd by DuckDB, in the order of types, labels, stack and time, read again for each question",
		folder: duckFolder, module: duckModule, outside: true, arrow: true,
	},
	"oracle": {
		about: "brute force over the batches as they came: for answers, not for figures",
		open:  openOracle, apart: true, symbols: true,
	},
}

// durableKinds returns the names of kinds that can have a directory.
func durableKinds() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool { return kinds[name].durable == nil })
}

// findKinds checks names for a workload. No name, or all, stands for every kind but the oracle.
func findKinds(names []string, workload string) ([]string, error) {
	if at := slices.Index(names, "all"); at >= 0 || len(names) == 0 {
		all := slices.DeleteFunc(slices.Sorted(maps.Keys(kinds)), func(name string) bool { return name == "oracle" })
		names = append(all, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == "all" })...)
	}
	for _, name := range names {
		if isFormat(name) && workload == durableWorkload {
			continue
		}
		if _, ok := kinds[name]; !ok {
			return nil, fmt.Errorf("unknown peer %q: want some of %s", name, strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
		}
	}
	return names, nil
}
