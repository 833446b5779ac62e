package iceberg

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"
)

var (
	faultsSeed  = flag.Uint64("faults.seed", 1, "the first seed of TestCommit_Faults")
	faultsSeeds = flag.Int("faults.seeds", 1, "the number of seeds of TestCommit_Faults")
)

var errCut = errors.New("the connection was cut")

// faulty is a catalog whose commits fail, and beside whose commits others happen.
type faulty struct {
	catalog.Catalog
	commit func(do func() error) error // makes a commit, or does not
	loaded func()                      // after a load, unless nil
}

// LoadTable returns a table whose commits come back to this catalog.
func (c *faulty) LoadTable(ctx context.Context, ident table.Identifier) (*table.Table, error) {
	t, err := c.Catalog.LoadTable(ctx, ident)
	if err != nil {
		return nil, err
	}
	if c.loaded != nil {
		c.loaded()
	}
	return table.New(ident, t.Metadata(), t.MetadataLocation(), t.FS, c), nil
}

func (c *faulty) CommitTable(ctx context.Context, ident table.Identifier, reqs []table.Requirement, updates []table.Update) (meta table.Metadata, at string, err error) {
	ctx = context.WithoutCancel(ctx) // a request can arrive when nobody waits for it any more
	err = c.commit(func() error {
		meta, at, err = c.Catalog.CommitTable(ctx, ident, reqs, updates)
		return err
	})
	if err != nil && isConflict(err) {
		err = fmt.Errorf("%w: %w", table.ErrCommitFailed, err) // as of a REST catalog, whose answer the library replays
	}
	return meta, at, err
}

// withFaults returns a lake of the same table whose commits go through a function.
func withFaults(l *Lake, commit func(do func() error) error) *Lake {
	return &Lake{ident: l.ident, catalog: &faulty{Catalog: l.catalog, commit: commit}}
}

// commitSeal commits a unit of a node and fails the test if that fails.
func commitSeal(t *testing.T, l *Lake, node string, seal int64) {
	t.Helper()
	if err := commitUnit(context.Background(), l, node, seal); err != nil {
		t.Fatal(err)
	}
}

// writeSeal writes the unit of a seal, whose rows the seal decides.
func writeSeal(t *testing.T, l *Lake, node string, seal int64) *Files {
	t.Helper()
	var files *Files
	err := withUnit(node, seal, func(u Unit) (err error) {
		files, err = l.Write(context.Background(), u)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func registered(t *testing.T, l *Lake, nodes ...string) {
	t.Helper()
	for _, node := range nodes {
		if err := l.Register(context.Background(), node, ""); err != nil {
			t.Fatal(err)
		}
	}
}

// Invariant L1: the answer of a commit gets lost, and the unit is not added again.
func TestCommit_LostAnswer(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	registered(t, l, "a")
	commits := 0
	cut := withFaults(l, func(do func() error) error {
		if err := do(); err != nil {
			return err
		}
		if commits++; commits == 1 {
			return errCut
		}
		return nil
	})
	added, err := cut.Commit(ctx, writeSeal(t, l, "a", 1))
	if err != nil || added {
		t.Errorf("added %v, %v", added, err)
	}
	if commits != 1 {
		t.Errorf("%d commits, want 1", commits)
	}
	checkUnits(t, l, map[string]int64{"a": 1})
}

// Invariant L1: a request that was given up arrives after the attempt that followed it.
func TestCommit_Late(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	registered(t, l, "a", "b")
	commitSeal(t, l, "b", 1) // the pin is on a snapshot
	var late func() error
	cut := withFaults(l, func(do func() error) error {
		if late == nil {
			late = do
			return errCut
		}
		return do()
	})
	if added, err := cut.Commit(ctx, writeSeal(t, l, "a", 1)); err != nil || !added {
		t.Fatal(added, err)
	}
	if err := late(); !isConflict(err) {
		t.Errorf("the late request: %v, want a conflict", err)
	}
	checkUnits(t, l, map[string]int64{"a": 1, "b": 1})
}

// Invariant L1: another process commits the same unit between the load of the table and the
// commit. The table tells libraries to replay commits that lost, as an administrator can.
func TestCommit_Race(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	registered(t, l, "a")
	err := l.change(ctx, func(tbl *table.Table) (*table.Transaction, error) {
		tx := tbl.NewTransaction()
		return tx, tx.SetProperties(iceberg.Properties{table.CommitNumRetriesKey: "4", table.CommitMinRetryWaitMsKey: "1"})
	})
	if tbl, loadErr := l.load(ctx); err != nil || loadErr != nil || tbl.Properties()[table.CommitNumRetriesKey] != "4" {
		t.Fatal(err, loadErr)
	}
	for seal := int64(1); seal <= 2; seal++ {
		files, other := writeSeal(t, l, "a", seal), writeSeal(t, l, "a", seal)
		raced := false
		slow := withFaults(l, func(do func() error) error {
			if !raced {
				raced = true
				if added, err := l.Commit(ctx, other); err != nil || !added {
					t.Errorf("the other commit: %v, %v", added, err)
				}
			}
			return do()
		})
		if added, err := slow.Commit(ctx, files); err != nil || added {
			t.Errorf("unit %d, the slow commit: %v, %v", seal, added, err)
		}
	}
	checkUnits(t, l, map[string]int64{"a": 2})
}

// Commits that lose are tried again without a limit; a catalog that fails is given up.
func TestCommit_Retries(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	registered(t, l, "a", "b")
	lost, others := 0, int64(0)
	losing := withFaults(l, func(do func() error) error {
		if lost++; lost <= mostFailures+1 {
			others++
			commitSeal(t, l, "b", others)
		}
		return do()
	})
	if added, err := losing.Commit(ctx, writeSeal(t, l, "a", 1)); err != nil || !added {
		t.Errorf("added %v, %v after %d attempts", added, err, lost)
	}
	attempts := 0
	cut := withFaults(l, func(func() error) error { attempts++; return errCut })
	if added, err := cut.Commit(ctx, writeSeal(t, l, "a", 2)); !errors.Is(err, errCut) || added || attempts != mostFailures {
		t.Errorf("added %v, %v after %d attempts, want %d", added, err, attempts, mostFailures)
	}
	checkUnits(t, l, map[string]int64{"a": 1, "b": others})
}

// Invariant L1, on random faults: commits are refused, are made without an answer, or arrive
// after later ones; other nodes and other processes of the node commit between load and commit.
func TestCommit_Faults(t *testing.T) {
	bySeed(t, 0, commitWithFaults)
}

// bySeed calls a test with random numbers from each seed, until it fails. stream tells tests apart.
func bySeed(t *testing.T, stream uint64, test func(*testing.T, *rand.Rand)) {
	t.Helper()
	for seed := *faultsSeed; seed < *faultsSeed+uint64(*faultsSeeds); seed++ {
		test(t, rand.New(rand.NewPCG(seed, stream)))
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func commitWithFaults(t *testing.T, rng *rand.Rand) {
	l := openLake(t)
	nodes := []string{"a", "b"}
	registered(t, l, nodes...)
	seals := map[string]int64{}
	var late []func() error
	var node string
	cut := withFaults(l, func(do func() error) error {
		if len(late) > 0 && rng.IntN(2) == 0 { // an earlier request arrives; a conflict is its usual end
			_ = late[0]()
			late = late[1:]
		}
		switch rng.IntN(6) {
		case 0:
			return errCut
		case 1:
			return errors.Join(do(), errCut)
		case 2:
			late = append(late, do)
			return errCut
		case 3: // another process of the node
			commitSeal(t, l, node, seals[node]+1)
		case 4: // another node
			other := nodes[rng.IntN(len(nodes))]
			if other != node {
				seals[other]++
				commitSeal(t, l, other, seals[other])
			}
		}
		return do()
	})
	for range 12 {
		node = nodes[rng.IntN(len(nodes))]
		for { // a commit that was given up is written again
			_, err := cut.Commit(context.Background(), writeSeal(t, l, node, seals[node]+1))
			if err == nil {
				break
			}
			if !errors.Is(err, errCut) {
				t.Fatal(err)
			}
		}
		seals[node]++
	}
	for _, do := range late {
		_ = do()
	}
	checkUnits(t, l, seals)
}

// Invariant L2: the state that is pinned has the units up to its seals, although others commit
// meanwhile.
func TestPin_OneState(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	registered(t, l, "a")
	commitSeal(t, l, "a", 1)
	seal := int64(1)
	busy := &Lake{ident: l.ident, catalog: &faulty{Catalog: l.catalog, loaded: func() {
		seal++
		commitSeal(t, l, "a", seal)
	}}}
	nodes, snapshot, err := busy.Nodes(ctx)
	if err != nil {
		t.Fatal(err)
	}
	p, err := busy.Pin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, pinned := range []Pinned{{Nodes: nodes, Snapshot: snapshot}, p} {
		tbl, err := l.load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		has, err := tbl.Scan(table.WithSnapshotID(pinned.Snapshot), table.WithSelectedFields(columnSeal)).PlanFiles(ctx)
		if err != nil || int64(len(has)) != pinned.Nodes[0].Seal {
			t.Errorf("the snapshot has %d units, %v, and the newest seal is %d", len(has), err, pinned.Nodes[0].Seal)
		}
	}
}

// Invariant L6: a unit that is written twice has two files.
func TestWrite_Names(t *testing.T) {
	l := openLake(t)
	one, two := writeSeal(t, l, "a", 1), writeSeal(t, l, "a", 1)
	if one.data[0].FilePath() == two.data[0].FilePath() {
		t.Errorf("both are %s", one.data[0].FilePath())
	}
}

// Invariant L4: a file lies in one day, and its name says which.
func TestWrite_Days(t *testing.T) {
	l := openLake(t)
	db := openDB(t)
	insert(t, db, 2, 8, 3)
	files, err := l.Write(context.Background(), unit(t, db, "a", 1))
	if err != nil {
		t.Fatal(err)
	}
	var days []string
	for _, f := range files.data {
		days = append(days, filepath.Base(filepath.Dir(f.FilePath())))
		for _, v := range f.Partition() {
			if got := fmt.Sprint("time_day=", v.(iceberg.Date).ToTime().Format(time.DateOnly)); got != days[len(days)-1] {
				t.Errorf("file %s is of day %s", f.FilePath(), got)
			}
		}
	}
	if want := []string{"time_day=2026-03-01", "time_day=2026-03-02"}; !slices.Equal(days, want) {
		t.Errorf("days %q, want %q", days, want)
	}
}

// Files of a commit under way, and of the table, are no orphans; a dry run removes none.
func TestRemoveOrphans_Live(t *testing.T) {
	ctx := context.Background()
	l := openLake(t)
	registered(t, l, "a")
	commitSeal(t, l, "a", 1)
	files := writeSeal(t, l, "a", 2)
	if gone, err := l.RemoveOrphans(ctx, leastOrphanAge, false); err != nil || len(gone) > 0 {
		t.Errorf("removed %q, %v", gone, err)
	}
	if gone, err := l.removeOrphans(ctx, 0, true); err != nil || len(gone) == 0 {
		t.Errorf("a dry run finds %q, %v", gone, err)
	}
	if added, err := l.Commit(ctx, files); err != nil || !added {
		t.Fatal(added, err)
	}
	gone, err := l.removeOrphans(ctx, 0, false)
	for _, name := range gone {
		if strings.HasSuffix(name, ".parquet") {
			t.Errorf("removed %s", name)
		}
	}
	if err != nil {
		t.Error(err)
	}
	checkUnits(t, l, map[string]int64{"a": 2})
}

// Times are rounded down, also before 1970.
func TestFloorMicros(t *testing.T) {
	for nanos, want := range map[int64]int64{0: 0, 999: 0, 1000: 1, -1: -1, -1000: -1, -1001: -2} {
		if got := floorMicros(nanos); got != want {
			t.Errorf("%d ns are %d us, want %d", nanos, got, want)
		}
	}
}

// A unit ends where it says, and a day ends before the next.
func TestNextDay(t *testing.T) {
	for at, want := range map[int64]int64{0: day, day - 1: day, day: 2 * day, -1: 0, -day: 0, -day - 1: -day, 1<<63 - 1: 1<<63 - 1} {
		if got := nextDay(at); got != want {
			t.Errorf("the day of %d ends at %d, want %d", at, got, want)
		}
	}
}
