package columnstore

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/schema"
)

// fleet makes batches like a scraped fleet's profiles: one series and time a batch, one row a stack, and
// stacks repeated from scrape to scrape.
type fleet struct {
	rng     *rand.Rand
	stacks  [][]uuid.UUID
	records map[uuid.UUID][]byte
}

const (
	fleetDepth  = 18
	fleetPods   = 20
	scrapeEvery = 15_000_000_000 / fleetPods // ns between any two scrapes
)

// newFleet has the given number of distinct stacks; they share roots, as call
// stacks do, over a quarter as many locations.
func newFleet(seed uint64, stacks int) *fleet {
	f := &fleet{rng: rand.New(rand.NewPCG(seed, 1)), records: map[uuid.UUID][]byte{}}
	locations := make([]uuid.UUID, max(fleetDepth, stacks/4))
	for i := range locations {
		binary.LittleEndian.PutUint64(locations[i][:], f.rng.Uint64())
		binary.LittleEndian.PutUint64(locations[i][8:], f.rng.Uint64())
		f.records[locations[i]] = fmt.Appendf(nil, "github.com/granarydb/fleet/service.(*Handler).function%d /src/service/file%d.go:%d", i, i/10, i%500)
	}
	for i := range stacks {
		stack := make([]uuid.UUID, fleetDepth)
		for k := range stack {
			stack[k] = locations[f.rng.IntN(len(locations))]
		}
		if i > 0 { // leaf first: the last ones are the root
			shared := f.rng.IntN(fleetDepth - 1)
			copy(stack[fleetDepth-shared:], f.stacks[f.rng.IntN(i)][fleetDepth-shared:])
		}
		f.stacks = append(f.stacks, stack)
	}
	return f
}

// profile makes the n-th scrape.
func (f *fleet) profile(n, rows int) schema.Batch {
	stacks, values := make([][]uuid.UUID, rows), make([]int64, rows)
	for i := range stacks {
		stacks[i] = f.stacks[f.rng.IntN(len(f.stacks))]
		values[i] = 10_000_000 * int64(1+f.rng.ExpFloat64()*3)
	}
	return schema.Batch{Rows: rows, Records: f.records, Columns: map[string]encoding.Vector{
		"kind":             encoding.Strings("cpu"),
		"labels.job":       encoding.Strings(fmt.Sprint("job-", n%fleetPods/5)),
		"labels.namespace": encoding.Strings("production"),
		"labels.pod":       encoding.Strings(fmt.Sprint("pod-", n%fleetPods)),
		"stack":            encoding.UUIDLists(stacks...),
		"time":             encoding.Int64s(int64(n) * scrapeEvery),
		"value":            encoding.Int64s(values...),
	}}
}
