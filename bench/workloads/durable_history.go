package workloads

import (
	"runtime"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/entries"
)

// JournalCost has measurements of a history's log entries, by interval.
type JournalCost struct {
	Bytes float64
	// Ns has the CPU time of a build with journals, minus the previous build's without them.
	Ns []float64
}

// Journals builds a set's history without journals and with them, in turns. Both prepare each commit, as a
// store does with or without a directory. With journals the log entry is made too.
func Journals(set *HistorySet, repeat int) (c JournalCost, err error) {
	// One goroutine does all work but collections, and idle collectors would look for more.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	n := float64(set.Intervals())
	for i := range repeat + 1 {
		var spent [2]float64
		bytes := 0
		for with, keep := range []func(*history.Draft){
			func(tx *history.Draft) { tx.Prepare() },
			func(tx *history.Draft) {
				tx.Prepare()
				journal := tx.Journal()
				bytes += len(journal)
				entries.NewCommit(nil, []entries.StatesWrites{{Journal: journal}})
			},
		} {
			h, err := set.named(with == 1)
			if err != nil {
				return c, err
			}
			runtime.GC()
			start := measure.Process()
			if _, err := set.feed(h, keep); err != nil {
				return c, err
			}
			spent[with] = float64(measure.Process() - start)
		}
		if i > 0 { // the first warms up
			c.Ns = append(c.Ns, (spent[1]-spent[0])/n)
		}
		c.Bytes = float64(bytes) / n
	}
	return c, nil
}
