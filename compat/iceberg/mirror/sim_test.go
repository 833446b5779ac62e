package mirror

import (
	"context"
	"errors"
	"flag"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/schema"
)

var (
	simSeed  = flag.Uint64("sim.seed", 1, "the first `SEED` of TestSimulation")
	simSeeds = flag.Uint64("sim.seeds", 40, "the `NUMBER` of seeds")
	simTrace = flag.Bool("sim.trace", false, "log what happens")
)

// Invariants M1 to M3. A node takes rows, seals units, and adds them to a table, while its disk, its process and its objects go away,
// and others take over. After each opening, each row that was acknowledged is there once: in the table, or in a unit of the store behind
// the node's place in the table, or in no unit.
func TestSimulation(t *testing.T) {
	told := map[string]int{}
	for seed := *simSeed; seed < *simSeed+*simSeeds; seed++ {
		func() {
			defer func() {
				if t.Failed() {
					t.Logf("seed %d", seed)
				}
			}()
			s := newSim(t, seed)
			s.run()
			for what, n := range s.told {
				told[what] += n
			}
		}()
		if t.Failed() {
			return
		}
	}
	t.Log(told)
	if *simSeeds >= 100 {
		for _, what := range []string{"disk lost", "machine crashed", "taken over", "killed", "open failed", "fenced", "stale", "restored", "rival", "overtaken", "acknowledged while it is taken over", "joined", "unit added"} {
			if told[what] == 0 {
				t.Errorf("never %s", what)
			}
		}
	}
}

// sim is a run of a seed.
type sim struct {
	t       *testing.T
	rng     *rand.Rand
	objects *store
	node    *simNode
	away    []*simNode      // that were taken over
	rows    map[int64]bool  // by id: whether it was acknowledged
	lake    map[int64]int64 // unit of each row in the table
	place   uint64          // of the node in the table
	next    int64           // id of the next row
	told    map[string]int
}

// simNode is a process with its disk.
type simNode struct {
	disk  *crashfs.FS
	fs    *FS
	store *columnstore.Store
	table *columnstore.Table
}

func newSim(t *testing.T, seed uint64) *sim {
	return &sim{
		t: t, rng: rand.New(rand.NewPCG(seed, 0)), objects: newStore(seed), rows: map[int64]bool{}, lake: map[int64]int64{}, told: map[string]int{}, next: 1,
	}
}

func (s *sim) note(what string) {
	s.told[what]++
	if *simTrace {
		s.t.Log(what)
	}
}

func (s *sim) run() {
	disk := s.newDisk()
	for range 4 + s.rng.IntN(6) {
		disk = s.live(s.start(disk))
	}
	s.objects.fail(0, 0)
	n := s.start(disk)
	s.end(n)
	for _, z := range s.away {
		s.end(z)
	}
}

func (s *sim) newDisk() *crashfs.FS {
	return crashfs.New(crashfs.Options{Seed: s.rng.Uint64(), Keep: []float64{0, 0.5, 1}[s.rng.IntN(3)]})
}

// end ends a process.
func (s *sim) end(n *simNode) {
	n.fs.end()
	n.fs.Finish(0)
	_ = n.store.Close() // its syncs fail
}

// open opens a node on a disk, while others do something.
func (s *sim) open(disk *crashfs.FS, attempt int) (*simNode, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.objects.gone = func() {
		cancel()
		for _, z := range s.away {
			z.fs.end()
		}
	}
	if attempt < 4 { // otherwise rivals could overtake it for ever
		s.objects.between = s.meanwhile
	}
	n, err := s.openAlone(ctx, disk)
	s.objects.between = nil
	if err == nil {
		s.objects.gone = n.fs.end
	}
	return n, err
}

// openAlone opens a node on a disk.
func (s *sim) openAlone(ctx context.Context, disk *crashfs.FS) (*simNode, error) {
	if names, err := disk.List(); err == nil && len(names) == 0 && len(s.rows) > 0 {
		s.note("restored")
	}
	n := &simNode{disk: disk}
	var err error
	if n.fs, err = Open(ctx, disk, s.objects, Options{Manual: true, pause: time.Nanosecond, mergeAt: 2 + s.rng.IntN(4)}); err != nil {
		return nil, err
	}
	if !s.objects.inside {
		s.objects.between = nil
	}
	defer context.AfterFunc(ctx, n.fs.end)()
	n.store, err = columnstore.Open(columnstore.Options{
		FS: n.fs, Sync: columnstore.SyncEach, Manual: true, LogBytes: 1 + int64(s.rng.IntN(4000)), DiskBudget: 16 << 20, FutureLimit: -1, PastLimit: -1,
		GranuleRows: 4, GenerationBuckets: 2,
	})
	if err != nil {
		n.fs.end()
		n.fs.Finish(0)
		return nil, err
	}
	if n.table = n.store.Table("rows"); n.table == nil {
		n.table, err = n.store.CreateTable("rows", schema.Definition{
			Columns:    []schema.Column{{Name: "time", Type: encoding.Int64, Encoding: encoding.Delta}, {Name: "id", Type: encoding.Int64, Encoding: encoding.Plain}},
			SortingKey: []string{"time"},
			Bucket:     schema.Bucket{Column: "time", Width: 10},
		})
	}
	if err != nil {
		s.end(n)
		return nil, err
	}
	return n, nil
}

// meanwhile lets a node that is being taken over go on.
func (s *sim) meanwhile() {
	if len(s.away) == 0 || s.objects.isAway() {
		return
	}
	z := s.away[len(s.away)-1]
	switch s.rng.IntN(8) {
	case 7:
		_ = z.store.Maintain(context.Background())
		_ = z.fs.Tidy(context.Background())
	case 6:
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		s.note("rival tries")
		gone := s.objects.gone
		s.objects.gone = func() { gone(); cancel() }
		defer func() { s.objects.gone = gone }()
		if rival, err := s.openAlone(ctx, s.newDisk()); err == nil {
			s.note("rival")
			s.away = append(s.away, rival)
			s.insert(rival)
		}
	case 0:
		s.seal(z)
	case 1:
		s.insert(z)
		_ = z.store.Maintain(context.Background()) // which can write files instead of the log
		_ = z.fs.Tidy(context.Background())
	case 2:
		for range 4 {
			s.insert(z)
		}
		_ = z.fs.Tidy(context.Background())
	default:
		if s.insert(z) {
			s.note("acknowledged while it is taken over")
		}
	}
}

// start opens a node. It tries again after an error, as a machine that goes on or as another one.
func (s *sim) start(disk *crashfs.FS) *simNode {
	tried := s.told["rival tries"]
	for attempt := 0; ; attempt++ {
		if attempt < 5 && s.rng.IntN(2) == 0 {
			s.objects.fail(s.rng.IntN(8)*4, 1+s.rng.IntN(60))
		} else {
			s.objects.fail(0, 0)
		}
		n, err := s.open(disk, attempt)
		if err == nil {
			s.objects.fail(s.rng.IntN(3)*10, 0)
			s.check(n)
			return n
		}
		if !s.objects.isAway() && !errors.Is(err, errRequest) {
			if s.told["rival tries"] == tried || !errors.Is(err, ErrFenced) && !errors.Is(err, ErrStale) {
				s.t.Fatalf("open: %v", err)
			}
			s.note("overtaken")
			disk = s.newDisk()
			continue
		}
		s.note("open failed")
		switch s.rng.IntN(3) {
		case 0:
			disk = disk.Crash()
		case 1:
			disk = s.newDisk()
		}
	}
}

// live lets a node live, and returns the disk of the next one.
func (s *sim) live(n *simNode) *crashfs.FS {
	s.node = n
	if s.rng.IntN(3) == 0 {
		s.objects.fail(s.rng.IntN(2)*10, 1+s.rng.IntN(100)) // it is killed by its objects
	}
	for range s.rng.IntN(60) {
		if s.objects.isAway() {
			s.note("killed")
			break
		}
		switch s.rng.IntN(12) {
		case 0, 1, 2, 3, 4, 5:
			s.insert(n)
		case 6, 7:
			s.seal(n)
		case 8, 9:
			_ = n.store.Maintain(context.Background()) // a later one goes on
		default:
			before := len(n.fs.logs)
			s.objects.between = func() {
				if !n.fs.appending.TryLock() {
					return // a commit would wait for the segment of Tidy
				}
				n.fs.appending.Unlock()
				for range 1 + s.rng.IntN(3) {
					s.insert(n)
				}
			}
			if n.fs.Tidy(context.Background()) == nil && before > 0 {
				s.note("joined")
			}
			s.objects.between = nil
			s.bounded(n)
		}
	}
	s.objects.fail(0, 0)
	switch s.rng.IntN(4) {
	case 0:
		s.note("machine crashed")
		disk := n.disk.Crash()
		s.end(n)
		return disk
	case 1:
		s.note("disk lost")
		s.end(n)
		return s.newDisk()
	default:
		s.note("taken over")
		s.node = nil
		s.away = append(s.away, n)
		return s.newDisk()
	}
}

// bounded checks invariant M5.
func (s *sim) bounded(n *simNode) {
	if s.objects.isAway() {
		return
	}
	for name, f := range n.fs.logs {
		if len(f.segments) > n.fs.opts.mergeAt && !f.isQueued {
			s.t.Errorf("%d segments of %s", len(f.segments), name)
		}
	}
}

// insert inserts rows, in ranges that begin anew every 30 rows.
func (s *sim) insert(n *simNode) (acknowledged bool) {
	rows := 1 + s.rng.IntN(3)
	var ids, times []int64
	for range rows {
		ids, times = append(ids, s.next), append(times, s.next/3+s.rng.Int64N(12))
		s.rows[s.next] = false
		s.next++
	}
	_, err := n.table.Insert(context.Background(), schema.Batch{Rows: rows, Columns: map[string]encoding.Vector{
		"time": encoding.Int64s(times...), "id": encoding.Int64s(ids...),
	}})
	if err == nil {
		for _, id := range ids {
			s.rows[id] = true
		}
		return true
	}
	if n == s.node && !s.objects.isAway() {
		s.t.Errorf("insert: %v", err)
	}
	return false
}

// seal is a node's sealer (package iceberg): it adds the units that the table lacks, once they are durable.
func (s *sim) seal(n *simNode) {
	ctx := context.Background()
	_, err := n.table.Seal(ctx, s.next/3-s.rng.Int64N(20))
	if err == nil {
		err = n.store.Sync(ctx)
	}
	if err != nil {
		if n == s.node && !s.objects.isAway() {
			s.t.Errorf("seal: %v", err)
		}
		return
	}
	units := s.units(n)
	var drop []uint64
	for _, id := range slices.Sorted(maps.Keys(units)) {
		switch {
		case id == 0:
		case id > s.place:
			s.note("unit added")
			for _, row := range units[id] {
				if s.lake[row] != 0 {
					s.t.Errorf("row %d is in units %d and %d of the table", row, s.lake[row], id)
				}
				s.lake[row] = int64(id)
			}
			s.place = id
		default:
			for _, row := range units[id] {
				if s.lake[row] != int64(id) {
					s.t.Errorf("row %d is in unit %d of the node, and in %d of the table", row, id, s.lake[row])
				}
			}
			drop = append(drop, id)
		}
	}
	if s.rng.IntN(2) == 0 {
		_, _ = n.table.Drop(ctx, drop) // a later call drops what this one does not
	}
}

// units returns the ids of a node's rows by unit, 0 for those in none.
func (s *sim) units(n *simNode) map[uint64][]int64 {
	snap, err := n.store.Snapshot()
	if err != nil {
		s.t.Fatal(err)
	}
	defer snap.Close()
	list, _, err := n.table.Units(snap)
	if err != nil {
		s.t.Fatal(err)
	}
	units := map[uint64][]int64{}
	read := func(opts columnstore.ScanOptions) (ids []int64) {
		for rec, err := range n.table.Scan(context.Background(), snap, opts) {
			if err != nil {
				s.t.Fatal(err)
			}
			ids = append(ids, rec.Column(rec.Schema().FieldIndices("id")[0]).(*array.Int64).Int64Values()...)
			rec.Release()
		}
		return ids
	}
	all := map[int64]bool{}
	for _, id := range read(columnstore.ScanOptions{}) {
		if all[id] {
			s.t.Errorf("row %d is in a node twice", id)
		}
		all[id] = true
	}
	for _, u := range list {
		if u.ID == 0 {
			continue
		}
		units[u.ID] = read(columnstore.ScanOptions{Buckets: []uint64{u.ID}})
		for _, id := range units[u.ID] {
			delete(all, id)
		}
	}
	units[0] = slices.Collect(maps.Keys(all))
	return units
}

// check compares the table and a node that has just been opened with what was acknowledged, and lets those try that were taken over.
func (s *sim) check(n *simNode) {
	units := s.units(n)
	have := maps.Clone(s.lake)
	for id, rows := range units {
		for _, row := range rows {
			if id != 0 && id <= s.place {
				if have[row] != int64(id) {
					s.t.Errorf("row %d is in unit %d of the node, and in %d of the table", row, id, have[row])
				}
				continue
			}
			if have[row] != 0 {
				s.t.Errorf("row %d is in unit %d, and in unit %d of the table", row, id, have[row])
			}
			have[row] = -1
		}
	}
	for row, acknowledged := range s.rows {
		if acknowledged && have[row] == 0 {
			s.t.Errorf("row %d is lost", row)
		}
		s.rows[row] = have[row] != 0 // what is there stays there
	}
	for row := range have {
		if _, known := s.rows[row]; !known {
			s.t.Errorf("row %d was never acknowledged by a node that had its objects", row)
		}
	}
	s.node = n
	for _, z := range s.away {
		s.late(z, units)
	}
	s.away = nil
}

// late lets a node that was taken over try to go on. The units of the node that did are given.
func (s *sim) late(z *simNode, units map[uint64][]int64) {
	s.note("fenced")
	if s.rng.IntN(2) == 0 { // it rewrites files before it knows
		_ = z.store.Maintain(context.Background())
		_ = z.fs.Tidy(context.Background())
	}
	for range 3 {
		first, before := s.next, maps.Clone(s.lake)
		if s.insert(z) {
			s.t.Error("a node that was taken over acknowledges rows")
		}
		for ; first < s.next; first++ {
			delete(s.rows, first) // no other node can have it
		}
		s.seal(z)
		for row, id := range s.lake { // it can have a unit that was durable before, and that the table lacks
			if before[row] == 0 && !slices.Contains(units[uint64(id)], row) {
				s.t.Errorf("a node that was taken over adds row %d in unit %d", row, id)
			}
		}
		_ = z.fs.Tidy(context.Background())
	}
	disk := z.disk.Crash()
	s.end(z)
	if _, err := Open(context.Background(), disk, s.objects, Options{Manual: true}); !errors.Is(err, ErrStale) {
		s.t.Errorf("a directory that was taken over is opened: %v", err)
	}
	s.note("stale")
}
