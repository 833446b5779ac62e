package catalog_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/granarydb/granary/internal/catalog"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/internal/querytest"
	"github.com/granarydb/granary/schema"
)

// model is a random table beside what its rows must be.
type model struct {
	*querytest.Table
	rng    *rand.Rand
	width  int64
	times  []int64 // of the rows, in any order
	newest int64
	units  map[uint64][]int64 // sealed times
	log    []string           // what was done
}

func newModel(t *testing.T, seed uint64) *model {
	t.Helper()
	m := &model{rng: rand.New(rand.NewPCG(seed, 21)), width: []int64{3, 10, 100}[seed%3], newest: math.MinInt64, units: map[uint64][]int64{}}
	m.Table = querytest.Open(t, querytest.Options{
		GranuleRows: 1 + m.rng.IntN(20), BucketRows: []int{-1, 2, 9}[m.rng.IntN(3)], Retention: []int64{0, 3 * m.width}[m.rng.IntN(2)],
	}, querytest.Samples(m.width))
	return m
}

// batch returns rows of some times, of a pod, one of them with a label that only it has.
func (m *model) batch() (b schema.Batch, times []int64) {
	for range 1 + m.rng.IntN(6) {
		times = append(times, m.rng.Int64N(6*m.width))
	}
	b = querytest.Pods(fmt.Sprint("pod", m.rng.IntN(4)), times...)
	if m.rng.IntN(4) == 0 {
		b.Columns[fmt.Sprint("labels.l", m.rng.IntN(30))] = b.Columns["labels.pod"]
	}
	return b, times
}

// commit commits a batch that was prepared before some other changes.
func (m *model) commit(change func()) {
	b, times := m.batch()
	tx := m.Begin()
	if err := tx.Insert(b); err != nil { // below the floor
		m.log = append(m.log, fmt.Sprint("refused ", times))
		return
	}
	change()
	if err := tx.Commit(); err != nil {
		m.log = append(m.log, fmt.Sprint("too old ", times))
		return
	}
	m.log = append(m.log, fmt.Sprint("commit ", times))
	m.times = append(m.times, times...)
	m.newest = max(m.newest, slices.Max(times))
	if m.Retention > 0 {
		m.dropBefore(oracle.Floor(m.newest-m.Retention, m.width))
	}
}

// dropBefore drops the times before a floor.
func (m *model) dropBefore(floor int64) {
	before := func(at int64) bool { return at < floor }
	m.times = slices.DeleteFunc(m.times, before)
	for id, times := range m.units {
		if m.units[id] = slices.DeleteFunc(times, before); len(m.units[id]) == 0 {
			delete(m.units, id)
		}
	}
}

// step makes a random change.
func (m *model) step() {
	switch m.rng.IntN(10) {
	case 0:
		m.Compact()
		m.log = append(m.log, "compact")
	case 1:
		before := m.rng.Int64N(7 * m.width)
		for _, u := range m.Seal(before) {
			times := m.unit(u.ID)
			m.units[u.ID] = times
			m.log = append(m.log, fmt.Sprint("seal ", u.ID, " ", times))
		}
	case 2:
		for id, times := range m.units {
			m.Drop(id)
			for _, at := range times {
				i := slices.Index(m.times, at)
				m.times = slices.Delete(m.times, i, i+1)
			}
			delete(m.units, id)
			m.log = append(m.log, fmt.Sprint("drop ", id))
			break
		}
	case 3:
		if m.rng.IntN(6) == 0 && m.newest > math.MinInt64 {
			floor := oracle.Floor(m.rng.Int64N(m.newest+1), m.width)
			m.Edit(func(e *catalog.TableEdit) { e.Evict(floor) })
			m.dropBefore(floor)
			m.log = append(m.log, fmt.Sprint("evict ", floor))
		}
	case 4: // a transaction that was prepared before another change
		m.commit(m.step)
	default:
		m.commit(func() {})
	}
}

// unit returns the sorted times of a unit.
func (m *model) unit(id uint64) (times []int64) {
	only, err := m.State().OnlyUnits([]uint64{id})
	if err != nil {
		return nil
	}
	for _, of := range querytest.TimesByBucket(only) {
		times = append(times, of...)
	}
	slices.Sort(times)
	return times
}

// wrong says what differs from the model.
func (m *model) wrong() string {
	state := m.State()
	if text := disorder(state); text != "" {
		return text
	}
	var got []int64
	for start, times := range querytest.TimesByBucket(state) {
		got = append(got, times...)
		if len(times) > 0 && oracle.Floor(times[0], m.width) != oracle.Floor(times[len(times)-1], m.width) {
			return fmt.Sprintf("the bucket of %d has rows of %v", start, times)
		}
	}
	if got, want := sorted(got), sorted(m.times); !slices.Equal(got, want) {
		return fmt.Sprintf("rows of %v, want %v", got, want)
	}
	ids := map[uint64]bool{}
	for _, u := range state.Units() {
		if u.ID != 0 {
			ids[u.ID] = true
		}
	}
	for id, want := range m.units {
		if got := m.unit(id); !ids[id] || !slices.Equal(got, want) {
			return fmt.Sprintf("unit %d has rows of %v, want %v", id, got, want)
		}
	}
	if len(ids) != len(m.units) {
		return fmt.Sprintf("units %v, want %v", slices.Collect(maps.Keys(ids)), slices.Collect(maps.Keys(m.units)))
	}
	return m.wrongByTime()
}

// wrongByTime asks for the buckets of ranges of time, and compares them with all buckets.
func (m *model) wrongByTime() string {
	state := m.State()
	times := querytest.TimesByBucket(state)
	for range 8 {
		lo := m.rng.Int64N(7*m.width) - 1
		hi := lo + m.rng.Int64N(3*m.width)
		for b := range state.BucketsOf(lo, hi) {
			delete(times, b.Start)
		}
		for start, rest := range times {
			if slices.ContainsFunc(rest, func(at int64) bool { return lo <= at && at < hi }) {
				return fmt.Sprintf("the bucket of %d, with rows of %v, has none from %d to %d", start, rest, lo, hi)
			}
		}
		times = querytest.TimesByBucket(state)
		first, found := int64(0), false
		for start := range times {
			if at := oracle.Floor(start, m.width); at >= oracle.Floor(lo, m.width) && (!found || at < first) {
				first, found = at, true
			}
		}
		if at, ok := state.FirstFrom(oracle.Floor(lo, m.width)); ok != found || ok && at != first {
			return fmt.Sprintf("the first range from %d on is at %d, %v, want %d, %v", lo, at, ok, first, found)
		}
	}
	oldest, ok := state.Oldest()
	if ok != (len(times) > 0) || ok && oldest.Start != slices.Min(slices.Collect(maps.Keys(times))) {
		return fmt.Sprintf("the oldest bucket is %v", oldest)
	}
	return ""
}

// TestTableEdit_Random holds tables to their invariants (K1 to K6) and to a list of their rows, whatever is committed late,
// cut, compacted, sealed, dropped and evicted.
func TestTableEdit_Random(t *testing.T) {
	sealed, dropped, cuts := 0, int64(0), 0
	for seed := range effort.Less(uint64(120), 6) {
		m := newModel(t, seed)
		for range 60 {
			m.step()
			if wrong := m.wrong(); wrong != "" {
				t.Fatalf("seed %d: %s, after\n%q", seed, wrong, m.log)
			}
		}
		state := m.State()
		sealed, dropped = sealed+int(state.LastUnit), dropped+state.Dropped+state.Evicted
		for _, b := range state.Buckets.All() {
			if b.Latest != math.MaxInt64 {
				cuts++
			}
		}
	}
	if sealed == 0 || dropped == 0 || cuts == 0 {
		t.Errorf("%d units, %d rows dropped, %d cuts", sealed, dropped, cuts)
	}
}

// TestRestore_Random repeats commits of an earlier run in a table whose granules are divided otherwise: the state is the
// same but for them.
func TestRestore_Random(t *testing.T) {
	for seed := range effort.Less(uint64(60), 6) {
		m := newModel(t, seed)
		m.GranuleRows = math.MaxInt // so that a part of the run reaches over several granules of the other table
		again := querytest.Open(t, querytest.Options{GranuleRows: 1 + m.rng.IntN(20)}, querytest.Samples(m.width))
		for i := range uint64(40) {
			b, times := m.batch()
			if slices.Min(times) < m.State().Floor {
				continue
			}
			placed := m.Place(b) // parts that only the other table will have
			m.Insert(b)
			m.log = append(m.log, fmt.Sprint("commit ", times))
			again.Edit(func(e *catalog.TableEdit) {
				for _, p := range placed {
					p.Part.Stamp(2*i, 2*i+1)
					e.Restore(p.Part)
				}
				e.Follow(m.Decided, again.GranuleRows)
			})
			if m.rng.IntN(5) == 0 {
				again.Compact()
			}
		}
		got, want := again.State(), m.State()
		if wrong := disorder(got); wrong != "" {
			t.Fatalf("seed %d: %s", seed, wrong)
		}
		a, b := got.Save(), want.Save()
		if a.Filled < b.Filled {
			t.Fatalf("seed %d: restored with %d rows since the last cut, want %d", seed, a.Filled, b.Filled)
		}
		a.Filled = b.Filled // a cut that found no place is not logged: rows from before it count again
		if fmt.Sprint(a) != fmt.Sprint(b) || got.Rows != want.Rows {
			t.Fatalf("seed %d: restored as %+v with %d rows, want %+v with %d; %q", seed, a, got.Rows, b, want.Rows, m.log)
		}
		if a, b := querytest.TimesByBucket(got), querytest.TimesByBucket(want); !maps.EqualFunc(a, b, slices.Equal) {
			t.Fatalf("seed %d: rows by bucket %v, want %v", seed, a, b)
		}
		for key, b := range want.Buckets.All() {
			other, _ := got.Buckets.Get(key)
			if other.Series.Len() != b.Series.Len() || !maps.Equal(other.Columns, b.Columns) {
				t.Fatalf("seed %d: the bucket of %d has %d series and the columns %v, want %d and %v", seed, b.Start, other.Series.Len(), other.Columns, b.Series.Len(), b.Columns)
			}
		}
	}
}
