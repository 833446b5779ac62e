// Package parca puts a Granary store below Parca v0.28.0 (github.com/parca-dev/parca), in place of FrostDB.
// It stands on Parca's ordinary module and has none of its code.
//
//	clients of Parca -> profilestore.ProfileColumnStore -> Table    records become rows
//	clients of Parca -> query.ColumnQueryAPI -> Querier -> Table    answers by codes
//
// A [Table] is the table of samples in a store. It is an ingester.Ingester, and a table behind one. A [Querier]
// is Parca's query.Querier: it groups by stack codes, and resolves each distinct location once. Neither needs
// FrostDB. Package engine is the table for FrostDB's engine and so for Parca's own querier, at that engine's
// cost. The folder patch has a patch of Parca, whose binary then stores in Granary. The command
// cmd/granary-parca serves Parca's API without the rest of Parca.
//
// # Invariants
//
//	PA1  A record is inserted whole or not at all, and a query reads one snapshot: all rows of a
//	     record or none.
//	PA2  Both ways give the answers of Parca on FrostDB, except for the differences below.
//	PA3  A location's id is a hash of its bytes in Parca's encoding. The bytes are its record,
//	     and come back unchanged, whether or not they are UTF-8.
//	PA4  No location is stored that Parca's decoders would read beyond its end.
//	PA5  A missing label, a null and the empty text are one.
//	PA6  The package imports neither FrostDB nor the packages of Parca that import this one in tests.
//	PA7  Each place of a location in a profile has array elements of its own, because Parca's filters
//	     clear their bits of validity.
//
// # Differences from FrostDB
//
// Each is a test (TestDifference_...), which asserts both answers.
//
//   - Rows without a label, in a request with rows that have it: FrostDB drops them from !=, !~ and
//     patterns that match the empty text. Here they equal the empty text.
//   - Types that are the empty text: FrostDB's engine panics in ProfileTypes. A Querier answers.
//   - QueryMerge for one function: Parca gives a stack without it two places, so later stacks stand beside
//     values of others. A Querier keeps each value at its stack.
//   - Several profiles without a duration in one step of a range: FrostDB takes any, a Querier the earliest.
//   - A range of profiles with a duration and a step of 0: FrostDB answers with a point in 1970, a Querier
//     with a point for each time.
//   - Times before 1980 are refused, unless columnstore.Options.PastLimit allows them.
//
// By their contracts also: label bytes that are not UTF-8 become U+FFFD; a store has limits on sizes
// (package schema), and a record beyond them is refused whole. Patterns are not anchored, as in Parca.
//
// # Requiring it
//
// The module has the same versions of parquet-go and prometheus as Parca v0.28.0, because packages of Parca
// that it imports do not build with later ones. It has no replace directives.
//
// docs/parca.md has the command, its costs, and the untested cases.
package parca
