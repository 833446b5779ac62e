package columnstore

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
)

// The tests in this file are named after defects found in FrostDB, another implementation of
// RFC-001. Each reproduces one there.

// shards makes n rows of one kind at the given time. An empty shard means no shard.
func shards(n int, kind, shard string, at int64) schema.Batch {
	values := make([]int64, n)
	for i := range values {
		values[i] = int64(i)
	}
	return schema.Batch{Rows: n, Columns: map[string]encoding.Vector{
		"kind":         encoding.Strings(kind),
		"labels.pod":   encoding.Strings("p"),
		"labels.shard": encoding.Strings(shard),
		"stack":        encoding.UUIDLists([]uuid.UUID{{1}}),
		"time":         encoding.Int64s(at),
		"value":        encoding.Int64s(values...),
	}}
}

// There, a merged part is stamped with the transaction of its smallest key: a snapshot of 30 rows sees 60
// after a compaction with later keys, and none after a compaction with earlier keys (C2).
func TestFrostDB_SnapshotSurvivesCompaction(t *testing.T) {
	for _, test := range []struct {
		name  string
		kinds []string // kinds of the rows inserted after the snapshot
	}{
		{"later keys", []string{"z"}},
		{"earlier keys", []string{"a"}},
		{"equal keys", []string{"m"}},
		{"all of them", []string{"a", "m", "z", "b", "y"}},
	} {
		for _, bucket := range []int64{0, 100} {
			for _, granuleRows := range []int{1 << 16, 7} {
				t.Run(fmt.Sprintf("%s/bucket=%d/granule=%d", test.name, bucket, granuleRows), func(t *testing.T) {
					store, table := open(t, Options{Manual: true, FreshParts: 2, GranuleRows: granuleRows}, samples(bucket))
					for i := range 3 {
						insert(t, table, shards(10, "m", "s", int64(50+i)))
					}
					snap := snapshot(t, store)
					want := allRows(t, table, snap, ScanOptions{})
					if len(want) != 30 {
						t.Fatalf("%d rows before, want 30", len(want))
					}
					for round, kind := range test.kinds {
						for i := range 3 {
							insert(t, table, shards(10, kind, "late", int64(200*round-300+i)))
							insert(t, table, shards(10, kind, "late", int64(50+i)))
						}
						if err := store.Maintain(context.Background()); err != nil {
							t.Fatal(err)
						}
						check := func(when string) {
							for _, ordered := range []bool{false, true} {
								if diff := cmp.Diff(want, allRows(t, table, snap, ScanOptions{Ordered: ordered})); diff != "" {
									t.Errorf("round %d, %s, ordered=%v (-want +got):\n%s", round, when, ordered, diff)
								}
							}
							if c := total(t, table, snap); c != (oracle.Sum{Rows: 30, Sum: 3 * 45}) {
								t.Errorf("round %d, %s: aggregate of %+v", round, when, c)
							}
						}
						check("maintained")
						compact(t, store)
						check("compacted")
					}
					if got, want := store.Stats().Rows, int64(30+60*len(test.kinds)); got != want {
						t.Errorf("store has %d rows, want %d", got, want)
					}
				})
			}
		}
	}
}

// There, a compaction was stamped with the wrong transaction, and readers rely on that stamp
// (#729). Here readers rely on the root. The ids are compared with the transactions of
// simulated histories.
func TestFrostDB_RewritesAreStamped(t *testing.T) {
	rewritten, seeds := 0, effort.Less(min(*simSeeds, 100-80*uint64(boolInt(effort.Race))), 5)
	for seed := *simSeed; seed < *simSeed+seeds; seed++ {
		h := newHistory(seed)
		err := h.run()
		if err == nil {
			var n int
			n, err = h.checkStamps()
			rewritten += n
		}
		if err != nil {
			t.Fatalf("%v\nseed %d, commit %s, options %s", err, seed, head(), h.options())
		}
	}
	if rewritten == 0 && seeds >= 20 {
		t.Error("no part had rows of several transactions")
	}
}

// checkStamps compares the ids of the parts in the last root with the commits of their rows. A split
// stamps its children alike, so a part's ids can cover more rows than it has: its commit id is the id of
// a commit, and not below any commit of its rows, and its begin id is below all of these. It returns the
// number of parts with rows from several transactions.
func (h *simRun) checkStamps() (rewritten int, err error) {
	commitOf, ids := map[int64]uint64{}, map[uint64]bool{}
	for id, c := range h.commits.All() {
		ids[id] = true
		for _, row := range slices.Concat(c.rows...) {
			digits, _, _ := strings.Cut(row, " ")
			value, err := strconv.ParseInt(digits, 10, 64)
			if err != nil {
				return 0, err
			}
			commitOf[value] = id
		}
	}
	for i, table := range h.tables {
		column, _ := table.schema.Resolve("value")
		for _, g := range h.store.roots.Root().State.Table(table.ordinal).Granules.All() {
			for _, s := range g.Sections() {
				least, most := uint64(math.MaxUint64), uint64(0)
				for _, word := range s.Part.Find(column, "value").Words().Append(nil, 0, s.Part.Rows()) {
					id := commitOf[encoding.ToInt64(word)]
					least, most = min(least, id), max(most, id)
				}
				if least < most {
					rewritten++
				}
				if begin, commit := s.Part.Begin(), s.Part.Commit(); begin >= least || commit < most || !ids[commit] {
					return rewritten, fmt.Errorf("table %d: a part with rows of the commits %d to %d is stamped %d, %d", i, least, most, begin, commit)
				}
			}
		}
	}
	return rewritten, nil
}
