package iceberg

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/iceberg-go/table"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

var (
	killTimes = flag.Int("kill.times", 6, "the number of processes that TestKill kills")
	killNodes = flag.Int("kill.nodes", 3, "the number of nodes of TestKill")
	killSeed  = flag.Uint64("kill.seed", 1, "the seed of TestKill")
)

// The environment of a process that commits the units of a node.
const (
	killConfigEnv = "ICEBERG_KILL_CONFIG"
	killNodeEnv   = "ICEBERG_KILL_NODE"
	killUnitsEnv  = "ICEBERG_KILL_UNITS"
	killDirEnv    = "ICEBERG_KILL_DIR"  // of a node that takes rows and seals; empty for units that are made
	killKeepEnv   = "ICEBERG_KILL_KEEP" // not empty for a maintainer
)

// killed returns what a process of TestKill does, if this is one.
func killed() (func(), bool) {
	config, ok := os.LookupEnv(killConfigEnv)
	return func() {
		var c Config
		units, err := strconv.ParseInt(os.Getenv(killUnitsEnv), 10, 64)
		if err == nil {
			err = json.Unmarshal([]byte(config), &c)
		}
		if dir := os.Getenv(killDirEnv); err == nil && os.Getenv(killKeepEnv) != "" {
			err = maintain(c, units)
		} else if err == nil && dir != "" {
			err = sealRows(c, os.Getenv(killNodeEnv), dir, units)
		} else if err == nil {
			err = commitUnits(c, os.Getenv(killNodeEnv), units)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}, ok
}

// commitUnits commits the given number of units of a node after its committed units. It prints a line
// before the first, one for each unit, and one before each attempt to commit.
func commitUnits(c Config, node string, units int64) error {
	fmt.Println("begun")
	ctx := context.Background()
	l, err := openAnnounced(ctx, c, node)
	if err != nil {
		return err
	}
	defer l.Close()
	seal, err := sealOf(l, node)
	if err != nil {
		return err
	}
	for ; units > 0; units-- {
		seal++
		if err := commitUnit(ctx, l, node, seal); err != nil {
			return err
		}
		fmt.Println(seal)
		if seal%20 == 0 {
			if _, err := l.Expire(ctx, ExpireOptions{Keep: 20}); err != nil {
				return err
			}
		}
	}
	return nil
}

// openAnnounced opens the table for a node, which it registers, with a catalog that prints a line before each attempt to commit.
func openAnnounced(ctx context.Context, c Config, node string) (*Lake, error) {
	l, err := Open(ctx, c)
	if err != nil {
		return nil, err
	}
	l.catalog = &faulty{Catalog: l.catalog, commit: func(do func() error) error {
		fmt.Println("commit")
		return do()
	}}
	if node == "" {
		return l, nil
	}
	if err := l.Register(ctx, node, ""); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// sealRows inserts rows with the values that follow those of a directory and the table, some of them late, and seals, a
// number of times. It prints a line before the first time, and the newest durable value after each.
func sealRows(c Config, node, dir string, times int64) error {
	fmt.Println("begun")
	ctx := context.Background()
	l, err := openAnnounced(ctx, c, node)
	if err != nil {
		return err
	}
	defer l.Close()
	store, db, err := openNode(dir)
	if err != nil {
		return err
	}
	defer store.Close()
	n, err := countBoth(ctx, l, node, db)
	if err != nil {
		return err
	}
	s := &Sealer{Lake: l, Node: node, Store: store, Table: db.Table()}
	for ; times > 0; times-- {
		for range 5 {
			n++
			if err := insertValue(db, n/5+1-n%3, n); err != nil {
				return err
			}
		}
		if err := store.Sync(ctx); err != nil {
			return err
		}
		fmt.Println(n)
		if _, err := s.Seal(ctx, time.Unix(0, start).Add(time.Duration(n/5)*time.Minute)); err != nil {
			return err
		}
	}
	return nil
}

// countBoth returns the number of rows of the table and of the node's rows that the table lacks. It reads no row of the table: that
// takes long after many units, and the test compares them in the end.
func countBoth(ctx context.Context, l *Lake, node string, db *profile.DB) (int64, error) {
	t, err := l.load(ctx)
	if err != nil {
		return 0, err
	}
	n, _, err := nodeOf(t.Properties(), node)
	if err != nil {
		return 0, err
	}
	rows := int64(0)
	if s := t.CurrentSnapshot(); s != nil {
		if rows, err = strconv.ParseInt(s.Summary.Properties["total-records"], 10, 64); err != nil {
			return 0, err
		}
	}
	hot, err := hotValues(db, uint64(n.Seal))
	return rows + int64(len(hot)), err
}

// sealOf returns the newest seal of a node that is committed.
func sealOf(l *Lake, node string) (int64, error) {
	t, err := l.load(context.Background())
	if err != nil {
		return 0, err
	}
	n, _, err := nodeOf(t.Properties(), node)
	return n.Seal, err
}

// commitUnit writes and commits a unit whose rows its seal decides.
func commitUnit(ctx context.Context, l *Lake, node string, seal int64) error {
	return withUnit(node, seal, func(u Unit) error {
		files, err := l.Write(ctx, u)
		if err != nil {
			return err
		}
		_, err = l.Commit(ctx, files)
		return err
	})
}

// withUnit calls f with a unit whose rows its seal decides.
func withUnit(node string, seal int64, f func(u Unit) error) error {
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{Bucket: time.Minute})
	if err != nil {
		return err
	}
	opts := profile.InsertOptions{Labels: map[string]string{"job": "kill"}}
	if _, err := db.Insert(context.Background(), profileOf(1, int(seal%7), samplesOf(seal)), opts); err != nil {
		return err
	}
	snap, err := store.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Close()
	return f(Unit{Node: node, Seal: seal, From: start - day, To: start + day, Table: db.Table(), Snapshot: snap})
}

// samplesOf is the number of samples in the unit of a seal, and rowsOf that of its rows: a
// sample has two values, of which none is 0.
func samplesOf(seal int64) int { return 2 + int(seal*13%29) }
func rowsOf(seal int64) int64  { return 2 * int64(samplesOf(seal)) }

// Invariant L1: processes race, and each is killed at random points: in writing, in a commit, in
// expiry. Afterwards each unit is there once with all of its rows, also a unit that no process
// saw committed.
func TestKill(t *testing.T) {
	l, config := openConfig(t)
	if err := l.Create(context.Background(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	left := kills()
	var wg sync.WaitGroup
	nodes := make([]*victim, *killNodes)
	errs := make([]error, *killNodes)
	config, s3 := withFaultyS3(t, config)
	for i := range nodes {
		nodes[i] = &victim{config: config, node: fmt.Sprint("node-", i), rng: rand.New(rand.NewPCG(*killSeed, uint64(i)))}
		wg.Go(func() { errs[i] = nodes[i].run(left) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	kills, failed, units, silent := 0, 0, int64(0), int64(0)
	seals := map[string]int64{}
	for _, v := range nodes {
		seal, err := sealOf(l, v.node)
		if err != nil {
			t.Fatal(err)
		}
		if seal < v.newest {
			t.Errorf("node %s: seal %d is committed, and %d was acknowledged", v.node, seal, v.newest)
		}
		seals[v.node] = seal
		kills, failed, units, silent = kills+v.kills, failed+v.failed, units+seal, silent+seal-v.acks
	}
	lost := checkUnits(t, l, seals)
	t.Logf("%d processes killed, %d units, %d of them committed by a process that could not say so, %d files of others", kills, units, silent, lost)
	checkFaults(t, s3, failed)
	if kills != *killTimes {
		t.Errorf("%d kills, want %d", kills, *killTimes)
	}
	if kills >= 500 && (silent == 0 || lost == 0) {
		t.Error("no kill was between a commit and its answer, or none between a file and its commit")
	}
}

// kills returns a value for each kill that is left.
func kills() <-chan struct{} {
	left := make(chan struct{}, *killTimes)
	for range *killTimes {
		left <- struct{}{}
	}
	close(left)
	return left
}

// A node that takes rows is killed while it inserts, seals, writes, commits and drops. Each row that it acknowledged is in the
// table or in its directory behind its seal, and none is in both.
func TestKill_Sealer(t *testing.T) {
	l, config := openConfig(t)
	if err := l.Create(context.Background(), TableOptions{}); err != nil {
		t.Fatal(err)
	}
	left := kills()
	config, s3 := withFaultyS3(t, config)
	v := &victim{config: config, node: "n", dir: filepath.Join(t.TempDir(), "db"), rng: rand.New(rand.NewPCG(*killSeed, 99))}
	if err := v.run(left); err != nil {
		t.Fatal(err)
	}
	store, db, err := openNode(v.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	lake, hot, seal, err := bothTiers(l, v.node, db)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(lake) + len(hot))
	if err := checkUnion(l, v.node, db, n); err != nil {
		t.Error(err)
	}
	t.Logf("%d processes killed, %d rows, %d of them in the table up to seal %d, %d acknowledged", v.kills, n, len(lake), seal, v.newest)
	checkFaults(t, s3, v.failed)
	if v.kills != *killTimes || n < v.newest || int64(len(lake)) < n/2 {
		t.Errorf("%d kills, want %d", v.kills, *killTimes)
	}
}

// victim is a node whose processes are killed.
type victim struct {
	config Config
	node   string
	dir    string // of a node that seals
	keeps  bool   // it is a maintainer
	rng    *rand.Rand
	newest int64 // seal that a process said it had committed
	acks   int64 // number of these
	kills  int
	failed int           // processes that an S3 with faults made end with an error
	lived  time.Duration // of all processes, from their first line on
	commit time.Duration // of the last attempt that succeeded
}

// checkFaults checks that an S3 with faults had some of each kind.
func checkFaults(t *testing.T, s3 *faultyS3, failed int) {
	t.Helper()
	if s3 == nil {
		return
	}
	counts := s3.counts()
	t.Logf("faults of the S3: %d refused, %d cut, %d done and cut, %d done and refused, %d cut amid the answer; %d processes gave up", counts[0], counts[1], counts[2], counts[3], counts[4], failed)
	all := int64(0)
	for _, n := range counts {
		all += n
	}
	for kind, n := range counts {
		if n == 0 && all >= 60 {
			t.Errorf("no fault of kind %d", kind)
		}
	}
}

// run kills one process after the other: within some two units of its first line, or within
// some two commits of the start of one. The last one lives, and commits a few units.
func (v *victim) run(left <-chan struct{}) error {
	if err := v.untilDone(3, false); err != nil { // to know how long a unit takes
		return err
	}
	for range left {
		if err := v.untilDone(1<<40, true); err != nil {
			return err
		}
	}
	return v.untilDone(3, false)
}

// errGaveUp is of a process that ended with an error by itself.
var errGaveUp = errors.New("a process ended")

// untilDone runs processes until one does its units, or is killed. Of an S3 with faults, some end by themselves.
func (v *victim) untilDone(units int64, kill bool) error {
	var err error
	for range 20 {
		err = v.process(units, kill)
		if *s3Faults == 0 || !errors.Is(err, errGaveUp) {
			return err
		}
		v.failed++
	}
	return fmt.Errorf("20 processes in turn: %w", err)
}

// process runs one process for a number of units.
func (v *victim) process(units int64, kill bool) error {
	config, err := json.Marshal(v.config)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), killConfigEnv+"="+string(config), killNodeEnv+"="+v.node, killUnitsEnv+"="+fmt.Sprint(units), killDirEnv+"="+v.dir)
	if v.keeps {
		cmd.Env = append(cmd.Env, killKeepEnv+"=1")
	}
	var notes bytes.Buffer
	cmd.Stderr = &notes
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(out)
	var began, attempt time.Time
	if lines.Scan() {
		began = time.Now()
	}
	var timer *time.Timer
	end := func(most time.Duration) {
		if kill && timer == nil {
			timer = time.AfterFunc(time.Duration(v.rng.Int64N(int64(most)+1)), func() { _ = cmd.Process.Kill() })
		}
	}
	// A unit takes as long as processes lived for each unit so far, so that the points of kills
	// do not depend on the machine.
	inCommit := v.rng.IntN(2) == 0
	if !inCommit {
		end(2 * v.lived / time.Duration(max(v.acks, 1)))
	}
	for lines.Scan() {
		if lines.Text() == "commit" {
			attempt = time.Now()
			if inCommit {
				end(2 * v.commit)
			}
			continue
		}
		seal, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			break // a line that the kill cut
		}
		if v.newest, v.acks = seal, v.acks+1; !attempt.IsZero() { // else it began by other work
			v.commit = time.Since(attempt)
		}
	}
	v.lived += time.Since(began)
	err = cmd.Wait()
	if timer != nil && !timer.Stop() && cmd.ProcessState.ExitCode() == -1 {
		v.kills++
		return nil
	}
	if err != nil || kill {
		return fmt.Errorf("node %s: %w: %w: %s", v.node, errGaveUp, err, notes.Bytes())
	}
	return nil
}

// checkUnits reads all rows of the table and counts them by unit. seals are the newest units of
// the nodes. It returns the number of files of data that the table does not have.
func checkUnits(t *testing.T, l *Lake, seals map[string]int64) int {
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
	for node, newest := range seals {
		for seal := int64(1); seal <= newest; seal++ {
			of := id{node, seal}
			if got := rows[of]; got != rowsOf(seal) {
				t.Errorf("unit %v: %d rows, want %d", of, got, rowsOf(seal))
			}
			delete(rows, of)
		}
	}
	if len(rows) > 0 {
		t.Errorf("rows of other units: %v", rows)
	}
	orphans, err := l.removeOrphans(ctx, 0, true)
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, name := range orphans {
		if strings.HasSuffix(name, ".parquet") {
			lost++
		}
	}
	return lost
}
