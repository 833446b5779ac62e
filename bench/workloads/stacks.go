package workloads

import (
	"context"
	"os"
	"regexp"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// stacksReport is Stacks' report. Times are CPU times.
type stacksReport struct {
	Rows         int     `json:"rows"`
	Locations    int     `json:"locations"`
	InsertUsRow  float64 `json:"insert_us_per_row"`         // pprof decoded, maintenance included
	HeapBytesRow float64 `json:"heap_bytes_per_row"`        // all in
	DurableUsRow float64 `json:"insert_durable_us_per_row"` // into a directory, closed
	FileBytesRow float64 `json:"file_bytes_per_row"`        // without the log
	OpenMs       float64 `json:"open_closed_ms"`            // until the functions of all rows are named
	TopMs        float64 `json:"top_ms"`                    // all rows merged, and their functions
	SearchMs     float64 `json:"search_ms"`                 // the rows with a function of a thousand, merged
}

// stacksProfile is the rows of a profile in Stacks.
const stacksProfile = 1000

// Stacks inserts rows whose stacks are all new, in memory and into a directory, and names the functions of all.
func Stacks(rows int64, repeat int) error {
	r := stacksReport{Rows: int(rows) / stacksProfile * stacksProfile}
	n := float64(r.Rows)
	before := measure.Heap()
	db, err := openStacks("")
	if err != nil {
		return err
	}
	defer db.Store().Close()
	used, err := r.insert(db)
	if err != nil {
		return err
	}
	r.InsertUsRow, r.HeapBytesRow = used.Seconds()*1e6/n, float64(measure.Heap()-before)/n
	if r.TopMs, err = measure.MedianMs(repeat, func() error { return topOf(db) }); err != nil {
		return err
	}
	one := profile.Query{Function: regexp.MustCompile(`Method77$`)}
	if r.SearchMs, err = measure.MedianMs(repeat, func() error { return merge(db, one, func(*profile.Stacks) {}) }); err != nil {
		return err
	}
	if err := r.durable(n); err != nil {
		return err
	}
	return results.Print(r)
}

func openStacks(dir string) (*profile.DB, error) {
	store, err := columnstore.Open(columnstore.Options{Dir: dir, PastLimit: -1, FutureLimit: -1})
	if err != nil {
		return nil, err
	}
	return profile.Open(store, profile.Options{})
}

// insert inserts the rows, and returns the CPU time without the making of profiles.
func (r *stacksReport) insert(db *profile.DB) (used time.Duration, err error) {
	made := fleet.NewStacks(fleet.Seed)
	r.Locations = 0
	for range r.Rows / stacksProfile {
		data, locations, err := made.Profile(stacksProfile)
		if err != nil {
			return 0, err
		}
		r.Locations += locations
		start := measure.CPU()
		if _, err := db.InsertEncoded(context.Background(), data, profile.InsertOptions{Labels: map[string]string{"job": "random"}}); err != nil {
			return 0, err
		}
		used += measure.CPU() - start
	}
	start := measure.CPU()
	err = db.Store().Compact(context.Background())
	return used + measure.CPU() - start, err
}

// durable inserts the rows into a directory, and opens it again.
func (r *stacksReport) durable(n float64) error {
	dir, err := os.MkdirTemp("", "stacks")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	db, err := openStacks(dir)
	if err != nil {
		return err
	}
	used, err := r.insert(db)
	if err != nil {
		return err
	}
	start := measure.CPU()
	if err := db.Store().Close(); err != nil {
		return err
	}
	r.DurableUsRow = (used + measure.CPU() - start).Seconds() * 1e6 / n
	bytes, err := filesIn(dir)
	if err != nil {
		return err
	}
	r.FileBytesRow = float64(bytes) / n
	start = measure.CPU()
	if db, err = openStacks(dir); err != nil {
		return err
	}
	if err := topOf(db); err != nil {
		return err
	}
	r.OpenMs = (measure.CPU() - start).Seconds() * 1e3
	return db.Store().Close()
}

// topOf merges all rows and names their functions.
func topOf(db *profile.DB) error {
	return merge(db, profile.Query{}, func(s *profile.Stacks) { s.Top() })
}

// merge merges rows, and calls use with their stacks.
func merge(db *profile.DB, q profile.Query, use func(*profile.Stacks)) error {
	ctx := context.Background()
	return db.Store().View(ctx, func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(ctx, snap, "cpu")
		if err != nil {
			return err
		}
		stacks, err := db.Merge(ctx, snap, cpu, q)
		if err == nil {
			use(stacks)
		}
		return err
	})
}
