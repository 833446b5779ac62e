package workloads

import (
	"testing"
	"time"

	"github.com/granarydb/granary/bench/fleet"
)

// TestDurable runs a small fleet through a directory. All rows come back, which is checked within,
// names of functions take bytes, and the log of rows is less than that with dictionaries.
func TestDurable(t *testing.T) {
	v := fleet.Variant{Jobs: 6, Pods: 2}
	f := fleet.NewVariant(fleet.Seed, v)
	m := f.Describe(30_000)
	c, err := CompareDurable(f, m)
	if err != nil {
		t.Fatal(err)
	}
	d := c.Run
	if d.RowsLogBytes <= 0 || d.RowsLogBytes >= d.LogBytes || d.FileBytes >= d.LogBytes || d.FileBytes <= 0 {
		t.Errorf("%d bytes of log, %d of rows; %d of files", d.LogBytes, d.RowsLogBytes, d.FileBytes)
	}
	if c.Insert <= 0 || c.Maintained <= 0 || d.Killed.CPU <= 0 || d.Closed.CPU <= 0 {
		t.Errorf("%+v", c)
	}
	v.Symbols = true
	named, err := MeasureDurable(fleet.NewVariant(fleet.Seed, v), m)
	if err != nil {
		t.Fatal(err)
	}
	if named.FileBytes <= d.FileBytes {
		t.Errorf("%d bytes of files with names of functions, %d without", named.FileBytes, d.FileBytes)
	}
	cold, err := MeasureCold(f, m, 1)
	if err != nil {
		t.Fatal(err)
	}
	if cold.Stacks == 0 || len(cold.Merge) != 1 || cold.Merge[0] <= 0 || cold.Touch[0] <= 0 {
		t.Errorf("%+v", cold)
	}
}

// Commits of several writers share syncs; one writer has a sync a commit.
func TestCommitSynced(t *testing.T) {
	v := fleet.Variant{Jobs: 2, Pods: 1}
	one, err := CommitSynced(v, 1, 64)
	if err != nil {
		t.Fatal(err)
	}
	many, err := CommitSynced(v, 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	if one.Syncs < one.Commits || many.Commits != one.Commits || many.Syncs >= one.Syncs || many.Syncs == 0 {
		t.Errorf("one writer %+v, eight %+v", one, many)
	}
}

func TestInsertsBesideFiling(t *testing.T) {
	b, err := InsertsBesideFiling(fleet.Variant{Jobs: 2, Pods: 1}, 300*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if b.Filings == 0 || b.Beside.Count == 0 || b.Quiet.Count == 0 {
		t.Errorf("%+v", b)
	}
}

func TestJournals(t *testing.T) {
	set, err := OpenHistorySet("synth:100:100")
	if err != nil {
		t.Fatal(err)
	}
	j, err := Journals(set, 2)
	if err != nil {
		t.Fatal(err)
	}
	if j.Bytes < 1 || j.Bytes > 20 || len(j.Ns) != 2 {
		t.Errorf("%+v", j)
	}
}
