package iceberg

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

var (
	killTimes = flag.Int("kill.times", 6, "TestKill kills so many processes")
	killNodes = flag.Int("kill.nodes", 3, "TestKill has so many nodes")
	killSeed  = flag.Uint64("kill.seed", 1, "the seed of TestKill")
)

// kills counts the processes of TestKill that were killed.
var kills atomic.Int64

// The environment of a process that commits the units of a node.
const (
	killDirEnv  = "ICEBERG_KILL_DIR"
	killNodeEnv = "ICEBERG_KILL_NODE"
	killStopEnv = "ICEBERG_KILL_UNITS"
)

// killed returns what a process of TestKill does, if this is one.
func killed() (func(), bool) {
	dir := os.Getenv(killDirEnv)
	return func() {
		units, err := strconv.ParseInt(os.Getenv(killStopEnv), 10, 64)
		if err == nil {
			err = commitUnits(dir, os.Getenv(killNodeEnv), units)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}, dir != ""
}

// commitUnits commits the units of a node that are not committed, up to a number of them.
func commitUnits(dir, node string, units int64) error {
	ctx := context.Background()
	l, err := Open(ctx, Config{Catalog: "sqlite:" + filepath.Join(dir, "catalog.db"), Warehouse: filepath.Join(dir, "warehouse")})
	if err != nil {
		return err
	}
	defer l.Close()
	if err := l.Register(ctx, node, ""); err != nil {
		return err
	}
	for {
		t, err := l.load(ctx)
		if err != nil {
			return err
		}
		n, _, err := nodeOf(t.Properties(), node)
		if err != nil || n.Seal >= units {
			return err
		}
		if err := commitUnit(ctx, l, node, n.Seal+1); err != nil {
			return err
		}
		fmt.Println(n.Seal + 1) // the parent counts the commits that were acknowledged
		if n.Seal%20 == 19 {
			if _, err := l.Expire(ctx, ExpireOptions{Keep: 20}); err != nil {
				return err
			}
		}
	}
}

// commitUnit writes and commits a unit whose rows its seal decides.
func commitUnit(ctx context.Context, l *Lake, node string, seal int64) error {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{Bucket: time.Minute})
	if err != nil {
		return err
	}
	if _, err := db.Insert(ctx, profileOf(1, int(seal%7), samplesOf(seal)), profile.InsertOptions{Labels: map[string]string{"job": "kill"}}); err != nil {
		return err
	}
	snap, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	files, err := l.Write(ctx, Unit{Node: node, Seal: seal, From: start - day, To: start + day, Table: db.Table(), Snapshot: snap})
	if err != nil {
		return err
	}
	_, err = l.Commit(ctx, files)
	return err
}

// samplesOf is the number of samples in the unit of a seal, and rowsOf that of its rows: a
// sample has two values, of which none is 0.
func samplesOf(seal int64) int { return 2 + int(seal*13%29) }
func rowsOf(seal int64) int64  { return 2 * int64(samplesOf(seal)) }

// Invariant L1: processes race, and each is killed at random points: in writing, in a commit, in
// expiry. Afterwards each unit is there once with all of its rows, also those that no process
// saw committed.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	l := openIn(t, dir)
	if err := l.Create(context.Background(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	left := make(chan struct{}, *killTimes)
	for range *killTimes {
		left <- struct{}{}
	}
	close(left)
	units := int64(5 + *killTimes) // of each node
	var wg sync.WaitGroup
	errs := make([]error, *killNodes)
	for i := range *killNodes {
		wg.Go(func() {
			errs[i] = killNode(dir, fmt.Sprint("node-", i), units, left, rand.New(rand.NewPCG(*killSeed, uint64(i))))
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d processes killed, %d units", kills.Load(), units*int64(*killNodes))
	if made := kills.Load(); made < int64(*killTimes+1)/2 {
		t.Errorf("%d of %d kills were made: more units are needed", made, *killTimes)
	}
	checkUnits(t, l, units)
}

// killNode runs processes of a node until all of its units are committed. Most are killed.
func killNode(dir, node string, units int64, left <-chan struct{}, rng *rand.Rand) error {
	for {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), killDirEnv+"="+dir, killNodeEnv+"="+node, killStopEnv+"="+fmt.Sprint(units))
		var said, notes bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &notes
		if err := cmd.Start(); err != nil {
			return err
		}
		_, kill := <-left
		var timer *time.Timer
		if kill {
			// Most of a process's life before its first commit is the start of the program.
			timer = time.AfterFunc(time.Duration(100+rng.Int64N(1500))*time.Millisecond, func() { _ = cmd.Process.Kill() })
		}
		err := cmd.Wait()
		if timer != nil && !timer.Stop() {
			kills.Add(1)
			continue
		}
		if err != nil {
			return fmt.Errorf("node %s: %w: %s", node, err, notes.Bytes())
		}
		return nil
	}
}

// checkUnits reads all rows of the table and counts them by unit.
func checkUnits(t *testing.T, l *Lake, units int64) {
	t.Helper()
	ctx := context.Background()
	tbl, err := l.load(ctx)
	if err != nil {
		t.Fatal(err)
	}
	_, records, err := tbl.Scan(table.WithSelectedFields(columnNode, columnSeal)).ToArrowRecords(ctx)
	if err != nil {
		t.Fatal(err)
	}
	type id struct {
		node string
		seal int64
	}
	rows := map[id]int64{}
	for rec, err := range records {
		if err != nil {
			t.Fatal(err)
		}
		nodes, seals := rec.Column(0).(*array.String), rec.Column(1).(*array.Int64)
		for i := range int(rec.NumRows()) {
			rows[id{string([]byte(nodes.Value(i))), seals.Value(i)}]++
		}
		rec.Release()
	}
	for i := range *killNodes {
		for seal := int64(1); seal <= units; seal++ {
			of := id{fmt.Sprint("node-", i), seal}
			if got := rows[of]; got != rowsOf(seal) {
				t.Errorf("unit %v: %d rows, want %d", of, got, rowsOf(seal))
			}
			delete(rows, of)
		}
	}
	if len(rows) > 0 {
		t.Errorf("rows of other units: %v", rows)
	}
}
