package columnstore

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/internal/effort"
	"github.com/granarydb/granary/internal/oracle"
	"github.com/granarydb/granary/schema"
	"github.com/granarydb/granary/txn"
)

var (
	killTimes = flag.Int("kill.times", 4, "how often a process that writes is killed under each policy")
	killSeed  = flag.Uint64("kill.seed", 1, "the seed of the moments at which it is killed")
)

// killedDir is a variable of the environment that makes the test's process write to a directory
// until it is killed: the policy, a colon and the directory.
const killedDir = "GRANARY_TEST_KILLED"

const (
	killWriters = 2
	killQueue   = 64 << 10
)

var killTables = []string{"first", "second"}

// killOptions are the options of a directory whose process is killed. Files are written often.
func killOptions(dir string, policy disk.SyncPolicy) Options {
	return Options{
		Dir: dir, Sync: policy, SyncEvery: 50 * time.Millisecond, LogBytes: 32 << 10, segmentBytes: 48 << 10, queueBytes: killQueue,
		GranuleRows: 300, FreshParts: 4, PastLimit: -1,
	}
}

// killBatches returns the rows of the n-th commit of a writer, by table; the second table gets rows from
// every other commit.
func killBatches(writer, n int) []schema.Batch {
	rng := rand.New(rand.NewPCG(uint64(writer), uint64(n)))
	tables := make([]schema.Batch, 1, len(killTables))
	if n%2 == 0 {
		tables = tables[:len(killTables)]
	}
	for i := range tables {
		b, _ := batch(rng, 1+rng.IntN(8), int64(n))
		b.Columns["kind"] = encoding.Strings(strconv.Itoa(writer))
		stacks, traces := make([][]uuid.UUID, b.Rows), make([]uuid.UUID, b.Rows)
		for row := range b.Rows {
			stacks[row] = []uuid.UUID{{byte(rng.IntN(256)), byte(rng.IntN(8))}, {byte(rng.IntN(256))}}
			for k := range traces[row] {
				traces[row][k] = byte(rng.Uint32())
			}
		}
		b.Columns["stack"], b.Columns["trace"] = encoding.UUIDLists(stacks...), encoding.UUIDs(traces...)
		tables[i] = b
	}
	return tables
}

// killHistory returns the name of a writer's history. Each writer has its own, because a history has one
// writer at a time.
func killHistory(writer int) string { return fmt.Sprint("states of ", writer) }

// killStates writes the states of a writer's n-th commit: changes of numbers and texts, some new, and now
// and then a thousand, which exceed a tile.
func killStates(w *history.Writer, writer, n int) error {
	rng := rand.New(rand.NewPCG(uint64(writer)+7, uint64(n)))
	changes := rng.IntN(6)
	if n%64 == 63 {
		changes = 1000
	}
	for range changes {
		number := rng.IntN(12 + n/50)
		a, err := w.Attribute("group", strconv.Itoa(number))
		if err != nil {
			return err
		}
		v := history.Int(rng.Int64N(4))
		if number%3 == 0 {
			v = history.String(fmt.Sprint("state ", rng.IntN(10+n/4)))
		}
		if rng.IntN(6) == 0 {
			v = history.Value{}
		}
		if err := w.Change(int64(n)+1, a, v); err != nil {
			return err
		}
	}
	return nil
}

// killLeast returns bytes that the entry of a commit has at least: its header, and an id a row.
func killLeast(writer, n int) (bytes int) {
	bytes = 40
	for _, b := range killBatches(writer, n) {
		bytes += 16 * b.Rows
	}
	return bytes
}

// killCommit commits the n-th transaction of a writer.
func killCommit(store *Store, writer, n int) (txn.ID, error) {
	tx := store.Begin()
	defer tx.Abort()
	for i, b := range killBatches(writer, n) {
		if err := tx.Insert(context.Background(), store.Table(killTables[i]), b); err != nil {
			return 0, err
		}
	}
	w, err := tx.History(store.History(killHistory(writer)))
	if err == nil {
		err = killStates(w, writer, n)
	}
	if err != nil {
		return 0, err
	}
	return tx.Commit()
}

// openKilled opens a directory and makes the tables and histories that it lacks.
func openKilled(opts Options) (*Store, error) {
	store, err := Open(opts)
	if err != nil {
		return nil, err
	}
	for _, name := range killTables {
		if store.Table(name) == nil {
			if _, err := store.CreateTable(name, samples(500)); err != nil {
				return nil, errors.Join(err, store.Close())
			}
		}
	}
	for writer := range killWriters {
		if name := killHistory(writer); store.History(name) == nil {
			if _, err := store.CreateHistory(name, HistoryOptions{}); err != nil {
				return nil, errors.Join(err, store.Close())
			}
		}
	}
	return store, nil
}

// killNext returns the number of the next commit of each writer.
func killNext(store *Store) (next [killWriters]int, err error) {
	err = store.View(context.Background(), func(snap *Snapshot) error {
		groups, err := store.Table(killTables[0]).Aggregate(context.Background(), snap, AggregateOptions{
			By: []string{"kind"}, Aggregates: []Aggregate{{Op: Max, Column: "time"}},
		})
		if err != nil {
			return err
		}
		for i, kind := range groups.Columns[0].Values.Strings {
			writer, err := strconv.Atoi(kind)
			if err != nil {
				return err
			}
			next[writer] = int(groups.Aggregates[0].Values.Int64s[i]) + 1
		}
		return nil
	})
	return next, err
}

// writeUntilKilled goes on with a directory, and prints a line for each commit that returned: the
// writer, the number, the commit id and the time.
func writeUntilKilled(env string) {
	policy, dir, _ := strings.Cut(env, ":")
	number, err := strconv.Atoi(policy)
	fail := func(err error) {
		fmt.Println("error", err)
		os.Exit(1)
	}
	if err != nil {
		fail(err)
	}
	store, err := openKilled(killOptions(dir, disk.SyncPolicy(number)))
	if err != nil {
		fail(err)
	}
	next, err := killNext(store)
	if err != nil {
		fail(err)
	}
	var writers sync.WaitGroup
	for writer := range killWriters {
		writers.Go(func() {
			for n := next[writer]; ; n++ {
				id, err := killCommit(store, writer, n)
				if err != nil {
					fail(err)
				}
				fmt.Println(writer, n, id, time.Now().UnixNano())
				if n%16 == 0 {
					time.Sleep(5 * time.Millisecond) // or there are too many rows to check
				}
			}
		})
	}
	writers.Wait()
}

// killAck is a commit that returned.
type killAck struct {
	writer, n int
	id        txn.ID
	at        int64
}

// killLife lets a process write to a directory and kills it after a while. It returns the commits
// that returned, and the time of the kill.
func killLife(t *testing.T, dir string, policy disk.SyncPolicy, after time.Duration) (acks []killAck, at time.Time) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	var out bytes.Buffer
	cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), fmt.Sprintf("%s=%d:%s", killedDir, policy, dir)), &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	time.Sleep(after)
	at = time.Now()
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	for line := range strings.Lines(out.String()) {
		var a killAck
		if _, err := fmt.Sscan(line, &a.writer, &a.n, &a.id, &a.at); err != nil {
			t.Fatalf("the process printed %q", line)
		}
		acks = append(acks, a)
	}
	return acks, at
}

// TestKill kills a process that writes commits, at random moments, and compares what its directory has
// with what it wrote: a prefix of the commits in the order of their ids, whole ones over both tables and
// the histories, each with its rows and its states (C12). With SyncEach it has all commits that returned.
// Otherwise the lost commits fit into the log's queue in the process's memory. Then the next process goes
// on.
func TestKill(t *testing.T) {
	effort.Long(t)
	t.Parallel() // it waits for processes
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncEach, disk.SyncNever} {
		t.Run([]string{"Periodically", "Each", "Never"}[policy], func(t *testing.T) {
			k := killed{t: t, policy: policy, rng: rand.New(rand.NewPCG(*killSeed, uint64(policy)))}
			for life := range *killTimes {
				if life%10 == 0 { // or there are too many rows to check
					k.dir, k.before, k.commit = filepath.Join(t.TempDir(), strconv.Itoa(life)), [killWriters]int{}, 0
				}
				if k.life(); t.Failed() {
					t.Fatalf("life %d, seed %d", life, *killSeed)
				}
			}
			t.Logf("%d kills, %d before the first commit; %d commits returned, %d were lost, at most %d at once, the oldest of %v; %d survived that did not return; %d times there were files; %d intervals of histories were compared",
				*killTimes, k.early, k.acked, k.lost, k.mostLost, k.oldest, k.unacked, k.filed, k.intervals)
		})
	}
}

// killed is a directory whose process is killed again and again.
type killed struct {
	t      *testing.T
	policy disk.SyncPolicy
	rng    *rand.Rand
	dir    string
	before [killWriters]int // the next commit of each writer, after the last kill
	commit txn.ID           // the last commit then

	early, acked, lost, mostLost, unacked, filed int

	intervals int           // of histories, that were compared
	oldest    time.Duration // of a commit that was lost
}

// life is one life of the process, and a check of the directory that it leaves: mostly of a copy, because
// the next life must begin with this life's log, and not with the files that a Close writes.
func (k *killed) life() {
	acks, at := killLife(k.t, k.dir, k.policy, time.Duration(k.rng.Int64N(int64(250*time.Millisecond))))
	k.acked += len(acks)
	if len(acks) == 0 {
		k.early++
	}
	if _, err := os.Stat(k.dir); errors.Is(err, os.ErrNotExist) {
		return // it had not even begun
	}
	if names, _ := filepath.Glob(filepath.Join(k.dir, "rows-*")); len(names) > 0 {
		k.filed++
	}
	dir := k.dir
	if k.rng.IntN(4) > 0 {
		dir = filepath.Join(k.t.TempDir(), "copy")
		if err := os.CopyFS(dir, os.DirFS(k.dir)); err != nil {
			k.t.Fatal(err)
		}
		defer os.RemoveAll(dir)
	}
	opts := killOptions(dir, k.policy)
	opts.Manual = true
	store, err := openKilled(opts)
	if err != nil {
		k.t.Fatalf("open after the kill: %v", err)
	}
	next, commit := k.rows(store)
	if err := store.Close(); err != nil {
		k.t.Fatalf("close after the kill: %v", err)
	}
	k.check(acks, at, next, commit)
	k.before, k.commit = next, commit
}

// check compares the commits in a directory with the commits that returned.
func (k *killed) check(acks []killAck, at time.Time, next [killWriters]int, commit txn.ID) {
	returned := k.before
	lost, lostBytes := 0, 0
	for _, a := range acks {
		returned[a.writer] = max(returned[a.writer], a.n+1)
		if there := a.n < next[a.writer]; there != (a.id <= commit) {
			k.t.Errorf("commit %d, the %d-th of writer %d, there: %t, although the last commit is %d", a.id, a.n, a.writer, there, commit)
		}
		if a.id > commit {
			lost, lostBytes = lost+1, lostBytes+killLeast(a.writer, a.n)
			k.oldest = max(k.oldest, at.Sub(time.Unix(0, a.at)))
		}
	}
	for writer := range next {
		if next[writer] < k.before[writer] || next[writer] > returned[writer]+1 {
			k.t.Errorf("writer %d: %d commits, %d before, %d returned", writer, next[writer], k.before[writer], returned[writer])
		}
		k.unacked += max(0, next[writer]-returned[writer])
	}
	if commit < k.commit {
		k.t.Errorf("the last commit is %d, and was %d", commit, k.commit)
	}
	if k.policy == disk.SyncEach && lost > 0 || lostBytes > killQueue {
		k.t.Errorf("%d commits that had returned are lost, at least %d bytes", lost, lostBytes)
	}
	k.lost, k.mostLost = k.lost+lost, max(k.mostLost, lost)
}

// rows compares the rows and states in a directory with a store in memory into which its commits are
// written. It returns the next commit of each writer, and the last commit.
func (k *killed) rows(store *Store) (next [killWriters]int, commit txn.ID) {
	next, err := killNext(store)
	if err != nil {
		k.t.Fatal(err)
	}
	want, err := openKilled(Options{Manual: true, PastLimit: -1})
	if err != nil {
		k.t.Fatal(err)
	}
	defer want.Close()
	for writer, end := range next {
		for n := range end {
			if _, err := killCommit(want, writer, n); err != nil {
				k.t.Fatal(err)
			}
		}
	}
	var snaps [2]*Snapshot
	for i, of := range []*Store{store, want} {
		if snaps[i], err = of.Snapshot(); err != nil {
			k.t.Fatal(err)
		}
		defer snaps[i].Close()
	}
	for _, name := range killTables {
		rows := func(of *Store, snap *Snapshot) map[string]int {
			counts := map[string]int{}
			for row := range scanRows(k.t, of.Table(name), snap, ScanOptions{}) {
				counts[oracle.Text(row)]++
			}
			return counts
		}
		got, expected := rows(store, snaps[0]), rows(want, snaps[1])
		if maps.Equal(got, expected) {
			continue
		}
		for _, row := range slices.Sorted(maps.Keys(got)) {
			if got[row] != expected[row] {
				k.t.Errorf("table %q has a row %d times, want %d: %s", name, got[row], expected[row], row)
				break
			}
		}
		k.t.Errorf("table %q has %d kinds of rows, want %d of commits up to %v", name, len(got), len(expected), next)
	}
	for writer := range killWriters {
		got, expected := k.states(store, snaps[0], writer), k.states(want, snaps[1], writer)
		if k.intervals += len(got); !slices.Equal(got, expected) {
			diff := 0
			for diff < min(len(got), len(expected)) && got[diff] == expected[diff] {
				diff++
			}
			k.t.Errorf("the history of writer %d has %d lines, want %d of %d commits; the %d-th differs", writer, len(got), len(expected), next[writer], diff)
		}
	}
	return next, snaps[0].Commit()
}

// states returns the history of a writer as text: its attributes, and all intervals.
func (k *killed) states(of *Store, snap *Snapshot, writer int) []string {
	v, err := snap.History(of.History(killHistory(writer)))
	if err != nil {
		k.t.Fatal(err)
	}
	lines := []string{fmt.Sprint(v.Start(), v.End(), v.Closed())}
	for a := range v.Len() {
		name, err := v.Name(history.Attribute(a))
		if err != nil {
			k.t.Fatal(err)
		}
		lines = append(lines, name)
		for in, err := range v.Range(history.Attribute(a), v.Start(), v.End(), history.RangeOptions{}) {
			if err != nil {
				k.t.Fatal(err)
			}
			lines = append(lines, fmt.Sprint(in.Start, in.End, in.Open, in.Value))
		}
	}
	return lines
}
