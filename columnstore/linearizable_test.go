package columnstore

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/schema"
)

var linearHistories = flag.Int("linear.histories", 500, "how many histories of real threads porcupine checks")

// registerOp is one operation on the set of rows: an insert of one row, or a read of all. Rows
// are numbered, so a set is a word of bits.
type registerOp struct {
	insert bool
	row    int
}

// setOfRows is the sequential specification: a read returns all inserted rows.
var setOfRows = porcupine.Model{
	Init: func() any { return uint64(0) },
	Step: func(state, input, output any) (bool, any) {
		op := input.(registerOp)
		if op.insert {
			return true, state.(uint64) | 1<<op.row
		}
		return output.(uint64) == state.(uint64), state
	},
	DescribeOperation: func(input, output any) string {
		op := input.(registerOp)
		if op.insert {
			return fmt.Sprintf("insert %d", op.row)
		}
		return fmt.Sprintf("read %b", output)
	},
}

// TestLinearizable runs inserts and reads with real threads, while granules split. porcupine
// decides whether some order of the operations, each between its start and its end, explains
// the results of the reads (C4).
func TestLinearizable(t *testing.T) {
	for seed := range effort.Less(uint64(*linearHistories), 5) {
		ops := threads(t, seed)
		result, info := porcupine.CheckOperationsVerbose(setOfRows, ops, effort.Patience)
		if result != porcupine.Ok {
			t.Fatalf("history %d of %d operations is %v: %+v", seed, len(ops), result, info)
		}
	}
}

// threads runs 4 clients of 15 operations each.
func threads(t *testing.T, seed uint64) []porcupine.Operation {
	store, table := open(t, Options{GranuleRows: 3, FreshParts: 2, MaxParts: 2}, schema.Definition{
		Columns:    []schema.Column{{Name: "row", Type: encoding.Int64, Encoding: encoding.Plain}},
		SortingKey: []string{"row"},
	})
	defer store.Close()
	const clients, each = 4, 15
	start := time.Now()
	var wg sync.WaitGroup
	ops := make([][]porcupine.Operation, clients)
	for c := range clients {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(seed, uint64(c)))
			for i := range each {
				op := porcupine.Operation{ClientId: c, Call: int64(time.Since(start)), Output: uint64(0)}
				if rng.IntN(2) == 0 {
					row := c*each + i
					op.Input = registerOp{insert: true, row: row}
					b := schema.Batch{Rows: 1, Columns: map[string]encoding.Vector{"row": encoding.Int64s(int64(row))}}
					if _, err := table.Insert(context.Background(), b); err != nil {
						t.Error(err)
					}
				} else {
					op.Input = registerOp{}
					op.Output = readSet(t, store, table)
				}
				op.Return = int64(time.Since(start))
				ops[c] = append(ops[c], op)
			}
		})
	}
	wg.Wait()
	var all []porcupine.Operation
	for _, list := range ops {
		all = append(all, list...)
	}
	return all
}

func readSet(t *testing.T, store *Store, table *Table) (set uint64) {
	err := store.View(context.Background(), func(snap *Snapshot) error {
		g, err := table.Aggregate(context.Background(), snap, AggregateOptions{By: []string{"row"}})
		if err != nil {
			return err
		}
		for i, row := range g.Columns[0].Values.Int64s {
			if g.Counts[i] != 1 {
				return fmt.Errorf("row %d is there %d times", row, g.Counts[i])
			}
			set |= 1 << row
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	return set
}
