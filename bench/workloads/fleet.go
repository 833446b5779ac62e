package workloads

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// fleetReport has the costs of a fleet's row. Times are CPU times and medians over all runs. Heaps are live
// heaps.
type fleetReport struct {
	Made fleet.Shape `json:"made"`

	CodesNsRow    float64 `json:"insert_codes_ns_per_row"`            // one transaction a profile
	CodesAllNsRow float64 `json:"insert_codes_maintained_ns_per_row"` // plus the maintenance that is due
	CodesTxNsRow  float64 `json:"insert_codes_100_a_tx_ns_per_row"`   // 100 profiles a transaction
	ListsNsRow    float64 `json:"insert_lists_known_ns_per_row"`      // lists of location ids, all stacks known
	ListsAllNsRow float64 `json:"insert_lists_new_all_in_ns_per_row"` // new stacks too, plus the maintenance that is due
	NewStackUs    float64 `json:"new_stack_of_20_us"`
	AllocsProfile float64 `json:"allocs_per_profile"` // one transaction a profile
	AllocsTx      float64 `json:"allocs_per_profile_100_a_tx"`
	RowsHeap      float64 `json:"heap_bytes_per_row_without_dictionaries"`
	StackHeap     float64 `json:"heap_bytes_per_stack"`
	AllHeap       float64 `json:"heap_bytes_per_row"`  // all in, no maintenance due
	OwnShare      float64 `json:"own_account_of_heap"` // 1 would be exact
	Amplification float64 `json:"write_amplification"`
}

// Fleet measures the insert of a fleet with `rows` rows.
func Fleet(rows int64, repeat int) error {
	f := fleet.New(1)
	r := fleetReport{Made: f.Describe(int(rows))}
	var runs []fleetRun
	for range max(1, repeat) {
		c, err := runCodes(f, r.Made, 1)
		if err != nil {
			return err
		}
		many, err := runCodes(f, r.Made, 100)
		if err != nil {
			return err
		}
		lists, err := runLists(f, r.Made)
		if err != nil {
			return err
		}
		c.manyInsert, c.manyAllocs, c.known, c.all, c.newStack = many.insert, many.allocs, lists.known, lists.all, newStackCost(f)
		runs = append(runs, c)
	}
	of := func(get func(*fleetRun) float64) float64 {
		var values []float64
		for i := range runs {
			values = append(values, get(&runs[i]))
		}
		return results.Median(values)
	}
	r.CodesNsRow = of(func(c *fleetRun) float64 { return c.insert })
	r.CodesAllNsRow = of(func(c *fleetRun) float64 { return c.insert + c.maintain })
	r.CodesTxNsRow = of(func(c *fleetRun) float64 { return c.manyInsert })
	r.ListsNsRow = of(func(c *fleetRun) float64 { return c.known })
	r.ListsAllNsRow = of(func(c *fleetRun) float64 { return c.all })
	r.NewStackUs = of(func(c *fleetRun) float64 { return c.newStack / 1e3 })
	r.AllocsProfile = of(func(c *fleetRun) float64 { return c.allocs })
	r.AllocsTx = of(func(c *fleetRun) float64 { return c.manyAllocs })
	r.RowsHeap = of(func(c *fleetRun) float64 { return c.rowsHeap })
	r.StackHeap = of(func(c *fleetRun) float64 { return c.stackHeap })
	r.AllHeap = of(func(c *fleetRun) float64 { return c.allHeap })
	r.OwnShare = of(func(c *fleetRun) float64 { return c.own })
	r.Amplification = of(func(c *fleetRun) float64 { return c.amplification })
	return results.Print(r)
}

// fleetRun is one run, in nanoseconds and bytes per row unless another unit is given.
type fleetRun struct {
	insert, maintain, allocs float64 // allocs: per profile
	manyInsert, manyAllocs   float64
	known, all               float64
	newStack                 float64 // ns per stack
	rowsHeap, stackHeap      float64 // stackHeap: bytes per stack
	allHeap, own             float64
	amplification            float64
}

// openFleet opens a store that is maintained on demand.
func openFleet() (*columnstore.Store, *columnstore.Table, error) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		return nil, nil, err
	}
	table, err := store.CreateTable("profiles", profile.Schema(15*time.Minute))
	return store, table, err
}

// maintainEvery is the number of profiles between two rounds of maintenance.
const maintainEvery = 100

// chunk is the number of profiles that are made at a time. They are few enough to stay in the caches, like
// a profile that was just decoded, and enough to keep the store's memory warm. Lists of ids are thirty
// times as large as codes.
const (
	chunk     = 8
	listChunk = 2
)

// runCodes interns all of a fleet's stacks and series, then inserts its profiles by codes, perTx profiles a
// transaction. Making profiles and finding their codes is not counted.
func runCodes(f *fleet.Fleet, m fleet.Shape, perTx int) (c fleetRun, err error) {
	ctx, from := context.Background(), fleet.RecentStart()
	before := measure.Heap()
	store, table, err := openFleet()
	if err != nil {
		return c, err
	}
	defer store.Close()
	codes, err := table.Codes(from.UnixNano())
	if err != nil {
		return c, err
	}
	coder := fleet.NewCoder(codes)
	for n := range m.Profiles {
		if _, err := coder.Code(f.Profile(n, from)); err != nil {
			return c, err
		}
	}
	dictionaries := measure.Heap()
	var insert, maintain time.Duration
	var allocs, counted uint64
	for n := 0; n < m.Profiles; {
		before := n
		batches := make([]schema.Batch, 0, max(chunk, perTx))
		for ; len(batches) < cap(batches) && n < m.Profiles; n++ {
			b, err := coder.Code(f.Profile(n, from))
			if err != nil {
				return c, err
			}
			batches = append(batches, b)
		}
		mallocsBefore := measure.Mallocs()
		insert += measure.OnThread(func() { err = insertCodes(ctx, store, codes, batches, perTx) })
		if before > fleet.Series { // the first profile of a series allocates more
			allocs, counted = allocs+measure.Mallocs()-mallocsBefore, counted+uint64(len(batches))
		}
		if err != nil {
			return c, err
		}
		if n/maintainEvery > before/maintainEvery {
			maintain += measure.OnThread(func() { err = store.Maintain(ctx) })
			if err != nil {
				return c, err
			}
		}
	}
	all, stats, rows := measure.Heap(), store.Stats(), float64(m.Rows)
	if stats.Rows != int64(m.Rows) || stats.Stacks != m.Stacks {
		return c, fmt.Errorf("the store has %d rows and %d stacks, the fleet made %d and %d", stats.Rows, stats.Stacks, m.Rows, m.Stacks)
	}
	c.insert, c.maintain, c.allocs = float64(insert)/rows, float64(maintain)/rows, float64(allocs)/float64(max(counted, 1))
	c.rowsHeap, c.stackHeap, c.allHeap = float64(all-dictionaries)/rows, float64(dictionaries-before)/float64(m.Stacks), float64(all-before)/rows
	c.own, c.amplification = float64(stats.Bytes())/float64(all-before), stats.WriteAmplification()
	runtime.KeepAlive(f)
	return c, nil
}

func insertCodes(ctx context.Context, store *columnstore.Store, codes *columnstore.Codes, batches []schema.Batch, perTx int) error {
	if perTx == 1 { // one insert a profile
		for _, b := range batches {
			if _, err := codes.Insert(ctx, b); err != nil {
				return err
			}
		}
		return nil
	}
	for some := range slices.Chunk(batches, perTx) {
		tx := store.Begin()
		for _, b := range some {
			if err := tx.InsertCodes(ctx, codes, b); err != nil {
				return err
			}
		}
		if _, err := tx.Commit(); err != nil {
			return err
		}
	}
	return nil
}

// runLists inserts a fleet's profiles as lists of ids, with the maintenance that is due. It then inserts
// them again a minute later, without maintenance, when all stacks are known.
func runLists(f *fleet.Fleet, m fleet.Shape) (c fleetRun, err error) {
	ctx, from := context.Background(), fleet.RecentStart()
	store, table, err := openFleet()
	if err != nil {
		return c, err
	}
	defer store.Close()
	for pass, spent := range []*float64{&c.all, &c.known} {
		for n := 0; n < m.Profiles; {
			batches := make([]schema.Batch, 0, listChunk)
			for ; len(batches) < cap(batches) && n < m.Profiles; n++ {
				b := f.Profile(n, from.Add(time.Duration(pass)*time.Minute))
				fleet.CopyStacks(&b)
				batches = append(batches, b)
			}
			*spent += float64(measure.OnThread(func() {
				for i := 0; i < len(batches) && err == nil; i++ {
					_, err = table.Insert(ctx, batches[i])
				}
				if err == nil && pass == 0 && n/maintainEvery > (n-listChunk)/maintainEvery {
					err = store.Maintain(ctx)
				}
			}))
			if err != nil {
				return c, err
			}
		}
		*spent /= float64(m.Rows)
	}
	return c, nil
}

// newStackCost returns the CPU time to intern a new stack with 20 locations, in nanoseconds. The stacks are
// the 20 frames nearest the leaf, in batches of a profile, and most locations are new as well.
func newStackCost(f *fleet.Fleet) float64 {
	const depth, batch = 20, 500
	var stacks [][]uuid.UUID
	for all := range f.JobStacks() {
		for _, s := range all {
			if len(s) >= depth {
				stacks = append(stacks, s[:depth])
			}
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(stacks), func(a, b int) { stacks[a], stacks[b] = stacks[b], stacks[a] })
	d := dict.NewLists(1)
	codes := make([]uint32, 0, batch)
	var spent time.Duration
	for some := range slices.Chunk(stacks, batch) {
		b := schema.Batch{Columns: map[string]encoding.Vector{profile.ColumnStacktrace: encoding.UUIDLists(some...)}}
		fleet.CopyStacks(&b)
		spent += measure.OnThread(func() {
			if _, err := d.InternLists(codes, b.Columns[profile.ColumnStacktrace].UUIDLists); err != nil {
				panic(err) // a dictionary has room for 200,000 stacks
			}
		})
	}
	return float64(spent) / float64(d.Len())
}
