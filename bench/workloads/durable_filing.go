package workloads

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/bench/peers"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
)

// filingPace is the profiles per second in InsertsBesideFiling: half a million rows, twelve times the
// fleet's rate.
const filingPace = 1000

// BesideFiling has the wall times of one writer's inserts, while files were being written and otherwise.
type BesideFiling struct {
	Filings       int
	Beside, Quiet results.Latencies
}

// InsertsBesideFiling inserts a thousand profiles a second by codes into a directory that is filed as often
// as a store allows: when the log has as many bytes as the last written files. All else is in memory
// before, and known. Both kinds of inserts happen in turns, in one store.
func InsertsBesideFiling(v fleet.Variant, long time.Duration) (b BesideFiling, err error) {
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return b, err
	}
	defer os.RemoveAll(dir)
	var filing atomic.Bool
	filings := atomic.Int64{}
	g, err := peers.OpenGranary(columnstore.Options{
		Dir: dir, LogBytes: 1, FutureLimit: -1,
		Yield: func(point string) {
			switch point {
			case "file/segment": // the first
				filing.Store(true)
			case "file/clean": // the files are named
				filing.Store(false)
				filings.Add(1)
			}
		},
	})
	if err != nil {
		return b, err
	}
	defer func() { err = errors.Join(err, g.Store.Close()) }()
	f := fleet.NewVariant(fleet.Seed, v)
	w, err := newWriter(&FilledFleet{Granary: *g, variant: f.Variant, about: filled{Profiles: 1}})
	if err != nil {
		return b, err
	}
	var during []bool
	how := writerHow{name: "filing", pace: filingPace, insert: func(n int, at int64) error {
		before := filing.Load()
		err := w.insertCodes(n, at)
		during = append(during, before || filing.Load())
		return err
	}}
	var stop atomic.Bool
	timer := time.AfterFunc(long, func() { stop.Store(true) })
	defer timer.Stop()
	us, err := w.write(how, &stop)
	if err != nil {
		return b, err
	}
	var beside, quiet []float64
	for i, one := range us {
		if during[i] {
			beside = append(beside, one)
		} else {
			quiet = append(quiet, one)
		}
	}
	b.Filings, b.Beside, b.Quiet = int(filings.Load()), results.LatenciesOf(beside), results.LatenciesOf(quiet)
	if len(beside) == 0 || len(quiet) == 0 {
		return b, fmt.Errorf("of %d inserts %d were beside %d filings: want more time", len(us), len(beside), b.Filings)
	}
	return b, nil
}
