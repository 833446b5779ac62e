package targets

import (
	"errors"
	"io/fs"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/bench/workloads"
)

// durable measures stores in directories for temporary files.
func durable(o Options, c *collector) error {
	for _, measure := range []func(Options, *collector) error{durable1m, durable10m, syncs, journals, filing} {
		if err := measure(o, c); err != nil {
			return err
		}
	}
	return nil
}

// durable1m compares a directory with memory, and measures its bytes and cold merges.
func durable1m(o Options, c *collector) error {
	if !o.has("1m") {
		c.skip("size 1m is not among -sizes", "log-bytes", "log-cost", "log-cost-maintained", "file-bytes-1m", "file-bytes-1m-ids", "replay-stacks", "cold-merge")
		return nil
	}
	f := fleet.NewVariant(fleet.Seed, o.variant)
	m := f.Describe(int(o.Rows))
	rows := int64(m.Rows)
	for i := range o.Repeat {
		progress("a directory beside memory, %d of %d", i+1, o.Repeat)
		d, err := workloads.CompareDurable(f, m)
		if err != nil {
			return err
		}
		c.add("log-cost", rows, d.Insert)
		c.add("log-cost-maintained", rows, d.Maintained)
		c.add("log-bytes", rows, float64(d.Run.RowsLogBytes)/float64(rows))
		c.add("file-bytes-1m-ids", rows, float64(d.Run.FileBytes)/float64(rows))
		c.add("replay-stacks", rows, d.Run.ReplayMRowsS())
	}
	if err := symbolFiles(o, c, "file-bytes-1m", o.Rows); err != nil {
		return err
	}
	progress("cold-merge")
	const more = 3 // few rows take few milliseconds
	_, err := coldMerge(c, "cold-merge", f, m, more*o.Repeat)
	return err
}

// durable10m measures bytes, restarts and cold merges with ten times the rows.
func durable10m(o Options, c *collector) error {
	if !o.has("10m") {
		c.skip("size 10m is not among -sizes", "file-bytes-10m", "file-bytes-10m-ids", "replay", "open-10m", "open-10m-killed", "cold-merge-10m", "cold-stacks")
		return nil
	}
	f := fleet.NewVariant(fleet.Seed, o.variant)
	m := f.Describe(10 * int(o.Rows))
	rows, repeat := int64(m.Rows), min(o.Repeat, 3)
	for i := range repeat {
		progress("restarts, %d of %d", i+1, repeat)
		d, err := workloads.MeasureDurable(f, m)
		if err != nil {
			return err
		}
		c.add("file-bytes-10m-ids", rows, float64(d.FileBytes)/float64(rows))
		c.add("replay", rows, d.ReplayMRowsS())
		c.add("open-10m", rows, d.Closed.Wall.Seconds())
		c.add("open-10m-killed", rows, d.Killed.Wall.Seconds())
	}
	if err := symbolFiles(o, c, "file-bytes-10m", 10*o.Rows); err != nil {
		return err
	}
	progress("cold-merge-10m")
	cold, err := coldMerge(c, "cold-merge-10m", f, m, repeat)
	if err != nil {
		return err
	}
	c.add("cold-stacks", rows, cold.Touch...)
	c.details["cold-stacks"] = map[string]float64{"stacks": float64(cold.Stacks), "wall_ms": results.Median(cold.TouchMs)}
	return nil
}

// symbolFiles measures once the files of a fleet with function names, because bytes do not vary.
func symbolFiles(o Options, c *collector, key string, rows int64) error {
	progress("%s", key)
	v := o.variant
	v.Symbols = true
	f := fleet.NewVariant(fleet.Seed, v)
	d, err := workloads.MeasureDurable(f, f.Describe(int(rows)))
	if err != nil {
		return err
	}
	c.add(key, d.Rows, float64(d.FileBytes)/float64(d.Rows))
	return nil
}

// coldMerge relates each cold merge to the hot one beside it.
func coldMerge(c *collector, key string, f *fleet.Fleet, m fleet.Shape, repeat int) (workloads.Cold, error) {
	cold, err := workloads.MeasureCold(f, m, repeat)
	if err != nil {
		return cold, err
	}
	for i, ms := range cold.Merge {
		c.add(key, int64(m.Rows), ms/cold.Hot[i])
	}
	c.details[key] = map[string]float64{
		"hot_ms": results.Median(cold.Hot), "cold_ms": results.Median(cold.Merge), "hot_again_ms": results.Median(cold.Warm),
	}
	return cold, nil
}

// syncs measures commits that wait for the disk.
func syncs(o Options, c *collector) error {
	for key, writers := range map[string]int{"sync-8": 8, "sync-64": 64} {
		progress("%s", key)
		var syncs, commits []float64
		for range o.Repeat {
			s, err := workloads.CommitSynced(o.variant, writers, o.commits/writers)
			if err != nil {
				return err
			}
			c.add(key, 0, float64(s.Syncs)/float64(s.Commits))
			syncs, commits = append(syncs, float64(s.Syncs)/s.Wall.Seconds()), append(commits, float64(s.Commits)/s.Wall.Seconds())
		}
		c.details[key] = map[string]float64{"syncs_a_second": results.Median(syncs), "commits_a_second": results.Median(commits)}
	}
	return nil
}

// journals measures the recorded threads' journals, if they are there.
func journals(o Options, c *collector) error {
	progress("hist-log")
	set, err := workloads.OpenHistorySet(o.threads)
	if errors.Is(err, fs.ErrNotExist) {
		c.skip("the recorded threads are not at "+o.threads, "hist-log", "hist-log-bytes")
		return nil
	}
	if err != nil {
		return err
	}
	const more = 9 // because a difference varies more than a time
	j, err := workloads.Journals(set, more*o.Repeat)
	if err != nil {
		return err
	}
	c.add("hist-log", 0, j.Ns...)
	c.add("hist-log-bytes", 0, j.Bytes)
	return nil
}

// filing measures inserts beside the flusher.
func filing(o Options, c *collector) error {
	var beside, quiet, filings []float64
	for i := range o.Repeat {
		progress("filing-p99, %d of %d", i+1, o.Repeat)
		b, err := workloads.InsertsBesideFiling(o.variant, 2*o.Phase)
		if err != nil {
			return err
		}
		beside, quiet, filings = append(beside, b.Beside.P99), append(quiet, b.Quiet.P99), append(filings, float64(b.Filings))
		c.add("filing-p99", 0, b.Beside.P99/b.Quiet.P99)
	}
	c.details["filing-p99"] = map[string]float64{
		"beside_us": results.Median(beside), "quiet_us": results.Median(quiet), "filings": results.Median(filings),
	}
	return nil
}
