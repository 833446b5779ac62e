package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// columnsResult is what is printed of a fleet's rows. Times are CPU time, medians of
// all runs; heaps are the runtime's after a collection.
type columnsResult struct {
	Made made `json:"made"`

	CodesNsRow    float64 `json:"insert_codes_ns_per_row"`            // one transaction a profile
	CodesAllNsRow float64 `json:"insert_codes_maintained_ns_per_row"` // and the maintenance that is due
	CodesTxNsRow  float64 `json:"insert_codes_100_a_tx_ns_per_row"`   // 100 profiles a transaction
	ListsNsRow    float64 `json:"insert_lists_known_ns_per_row"`      // lists of UUIDs, all of them known
	ListsAllNsRow float64 `json:"insert_lists_new_all_in_ns_per_row"` // new ones too, and the maintenance
	NewStackUs    float64 `json:"new_stack_of_20_us"`
	AllocsProfile float64 `json:"allocs_per_profile"` // one transaction a profile
	AllocsTx      float64 `json:"allocs_per_profile_100_a_tx"`
	RowsHeap      float64 `json:"heap_bytes_per_row_without_dictionaries"`
	StackHeap     float64 `json:"heap_bytes_per_stack"`
	AllHeap       float64 `json:"heap_bytes_per_row"`  // all in, when no maintenance is due
	OwnShare      float64 `json:"own_account_of_heap"` // 1 would be exact
	Amplification float64 `json:"write_amplification"`
}

// runFleet measures a made-up fleet of so many rows.
func runFleet(rows int64, repeat int) error {
	f := newFleet(1)
	r := columnsResult{Made: f.describe(int(rows))}
	var runs []columnsRun
	for range max(1, repeat) {
		c, err := f.runCodes(r.Made, 1)
		if err != nil {
			return err
		}
		many, err := f.runCodes(r.Made, 100)
		if err != nil {
			return err
		}
		lists, err := f.runLists(r.Made)
		if err != nil {
			return err
		}
		c.manyInsert, c.manyAllocs, c.known, c.all, c.newStack = many.insert, many.allocs, lists.known, lists.all, newStackCost(f)
		runs = append(runs, c)
	}
	of := func(get func(*columnsRun) float64) float64 {
		var values []float64
		for i := range runs {
			values = append(values, get(&runs[i]))
		}
		return median(values)
	}
	r.CodesNsRow = of(func(c *columnsRun) float64 { return c.insert })
	r.CodesAllNsRow = of(func(c *columnsRun) float64 { return c.insert + c.maintain })
	r.CodesTxNsRow = of(func(c *columnsRun) float64 { return c.manyInsert })
	r.ListsNsRow = of(func(c *columnsRun) float64 { return c.known })
	r.ListsAllNsRow = of(func(c *columnsRun) float64 { return c.all })
	r.NewStackUs = of(func(c *columnsRun) float64 { return c.newStack / 1e3 })
	r.AllocsProfile = of(func(c *columnsRun) float64 { return c.allocs })
	r.AllocsTx = of(func(c *columnsRun) float64 { return c.manyAllocs })
	r.RowsHeap = of(func(c *columnsRun) float64 { return c.rowsHeap })
	r.StackHeap = of(func(c *columnsRun) float64 { return c.stackHeap })
	r.AllHeap = of(func(c *columnsRun) float64 { return c.allHeap })
	r.OwnShare = of(func(c *columnsRun) float64 { return c.own })
	r.Amplification = of(func(c *columnsRun) float64 { return c.amplification })
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(r)
}

// columnsRun is what one run measured: nanoseconds and bytes a row, unless it says
// otherwise.
type columnsRun struct {
	insert, maintain, allocs float64 // allocs: a profile
	manyInsert, manyAllocs   float64
	known, all               float64
	newStack                 float64 // ns a stack
	rowsHeap, stackHeap      float64 // stackHeap: bytes a stack
	allHeap, own             float64
	amplification            float64
}

// openFleet opens a store that is maintained when it is asked to be.
func openFleet() (*columnstore.Store, *columnstore.Table, error) {
	store, err := columnstore.Open(columnstore.Options{Manual: true})
	if err != nil {
		return nil, nil, err
	}
	table, err := store.CreateTable("profiles", profile.Schema(15*time.Minute))
	return store, table, err
}

// maintainEvery is after how many profiles the maintenance that is due is done.
const maintainEvery = 100

// fleetSeries is how many series a fleet has, each with a profile a scrape.
const fleetSeries = fleetJobs * fleetPods * 4

// chunk is how many profiles are made at a time: few enough that the caches still have
// them when they are inserted, as they have what was just received and decoded, and
// enough that what makes them does not leave the store's own memory cold.
// Lists of UUIDs are thirty times as large as codes.
const (
	chunk     = 8
	listChunk = 2
)

// clocked returns the CPU time of this thread that f takes.
func clocked(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	f()
	return threadTime() - start
}

// received copies a batch's lists into memory of their own, in a row, as decoding does.
func received(b *schema.Batch) {
	lists := b.Columns[profile.ColumnStacktrace].UUIDLists
	n := 0
	for _, list := range lists {
		n += len(list)
	}
	all, out := make([]uuid.UUID, 0, n), make([][]uuid.UUID, len(lists))
	for i, list := range lists {
		all = append(all, list...)
		out[i] = all[len(all)-len(list) : len(all) : len(all)]
	}
	b.Columns[profile.ColumnStacktrace] = encoding.UUIDLists(out...)
}

// fleetStart is when fleets begin.
func fleetStart() time.Time { return time.Now().Add(-24 * time.Hour).Truncate(time.Hour) }

// runCodes interns all stacks and series of a fleet, then inserts its profiles by
// codes, so many a transaction. Profiles are made, and their codes found, beside the
// clock.
func (f *fleet) runCodes(m made, perTx int) (c columnsRun, err error) {
	ctx, from := context.Background(), fleetStart()
	before := heap()
	store, table, err := openFleet()
	if err != nil {
		return c, err
	}
	defer store.Close()
	codes, err := table.Codes(from.UnixNano())
	if err != nil {
		return c, err
	}
	coder := fleetCoder{codes: codes, series: map[string]uint32{}}
	for n := range m.Profiles {
		if _, err := coder.code(f.profile(n, from)); err != nil {
			return c, err
		}
	}
	dictionaries := heap()
	var insert, maintain time.Duration
	var allocs, counted uint64
	for n := 0; n < m.Profiles; {
		before := n
		batches := make([]schema.Batch, 0, max(chunk, perTx))
		for ; len(batches) < cap(batches) && n < m.Profiles; n++ {
			b, err := coder.code(f.profile(n, from))
			if err != nil {
				return c, err
			}
			batches = append(batches, b)
		}
		mallocs := mallocs()
		insert += clocked(func() { err = insertCodes(ctx, store, codes, batches, perTx) })
		if before > fleetSeries { // what a series takes when it is first seen is not what a profile takes
			allocs, counted = allocs+mallocsSince(mallocs), counted+uint64(len(batches))
		}
		if err != nil {
			return c, err
		}
		if n/maintainEvery > before/maintainEvery {
			maintain += clocked(func() { err = store.Maintain(ctx) })
			if err != nil {
				return c, err
			}
		}
	}
	coder.series = nil
	all, stats, rows := heap(), store.Stats(), float64(m.Rows)
	if stats.Rows != int64(m.Rows) || stats.Stacks != m.Stacks {
		return c, fmt.Errorf("the store has %d rows and %d stacks, the fleet made %d and %d", stats.Rows, stats.Stacks, m.Rows, m.Stacks)
	}
	c.insert, c.maintain, c.allocs = float64(insert)/rows, float64(maintain)/rows, float64(allocs)/float64(max(counted, 1))
	c.rowsHeap, c.stackHeap, c.allHeap = float64(all-dictionaries)/rows, float64(dictionaries-before)/float64(m.Stacks), float64(all-before)/rows
	c.own, c.amplification = float64(stats.Bytes())/float64(all-before), stats.WriteAmplification()
	runtime.KeepAlive(f)
	return c, nil
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

func mallocsSince(before uint64) uint64 { return mallocs() - before }

func insertCodes(ctx context.Context, store *columnstore.Store, codes *columnstore.Codes, batches []schema.Batch, perTx int) error {
	if perTx == 1 { // as who has one profile inserts it
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

// fleetCoder turns batches of values into batches of codes.
type fleetCoder struct {
	codes  *columnstore.Codes
	series map[string]uint32
}

func (c *fleetCoder) code(b schema.Batch) (schema.Batch, error) {
	key := b.Columns[profile.ColumnSampleType].Strings[0] + b.Columns[profile.ColumnLabels+".pod"].Strings[0]
	labels := map[string]string{}
	out := schema.Batch{Rows: b.Rows, Columns: map[string]encoding.Vector{}}
	for name, v := range b.Columns {
		switch v.Type {
		case encoding.String:
			labels[name] = v.Strings[0]
		case encoding.UUIDList:
			stacks, err := c.codes.UUIDLists(nil, v.UUIDLists)
			if err != nil {
				return out, err
			}
			out.Columns[name] = encoding.ListCodes(stacks...)
		default:
			out.Columns[name] = v
		}
	}
	if c.series[key] == 0 {
		code, err := c.codes.Series(labels)
		if err != nil {
			return out, err
		}
		c.series[key] = code
	}
	out.Series = c.series[key]
	return out, nil
}

// runLists inserts a fleet's profiles as lists of UUIDs: once as they come, with the
// maintenance that is due, and then once more, a scrape later, when all stacks are
// known, without.
func (f *fleet) runLists(m made) (c columnsRun, err error) {
	ctx, from := context.Background(), fleetStart()
	store, table, err := openFleet()
	if err != nil {
		return c, err
	}
	defer store.Close()
	for pass, spent := range []*float64{&c.all, &c.known} {
		for n := 0; n < m.Profiles; {
			batches := make([]schema.Batch, 0, listChunk)
			for ; len(batches) < cap(batches) && n < m.Profiles; n++ {
				b := f.profile(n, from.Add(time.Duration(pass)*time.Minute))
				received(&b)
				batches = append(batches, b)
			}
			*spent += float64(clocked(func() {
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

// newStackCost returns the CPU time that a list of 20 elements takes that is new, ns:
// the last 20 frames of a fleet's stacks and their first sight of most locations, in
// batches of a profile.
func newStackCost(f *fleet) float64 {
	const depth, batch = 20, 500
	var stacks [][]uuid.UUID
	for j := range f.jobs {
		for _, s := range f.jobs[j].stacks {
			if len(s) >= depth {
				stacks = append(stacks, s[:depth])
			}
		}
	}
	rand.New(rand.NewPCG(1, 1)).Shuffle(len(stacks), func(a, b int) { stacks[a], stacks[b] = stacks[b], stacks[a] })
	d := encoding.NewListDict(1)
	codes := make([]uint32, 0, batch)
	var spent time.Duration
	for some := range slices.Chunk(stacks, batch) {
		b := schema.Batch{Columns: map[string]encoding.Vector{profile.ColumnStacktrace: encoding.UUIDLists(some...)}}
		received(&b)
		spent += clocked(func() {
			if _, err := d.InternLists(codes, b.Columns[profile.ColumnStacktrace].UUIDLists); err != nil {
				panic(err) // no dictionary is full of 200,000 stacks
			}
		})
	}
	return float64(spent) / float64(d.Len())
}
