package peers

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/schema"
)

// keys explains the figures. A query's key is "query_ms." and the question's name.
var keys = map[string]string{
	"all_in_ns_per_row":           "CPU time of the process to insert and maintain until no work is left, collections included",
	"alloc_bytes_per_row":         "bytes allocated in the same time",
	"allocs_per_row":              "allocations in the same time",
	"heap_inserted_bytes_per_row": "live heap after the last insert, when work under way has ended, less the heap before the store was opened",
	"heap_settled_bytes_per_row":  "live heap after compaction of everything, less the heap before the store was opened",
	"insert_ns_per_row":           "CPU time to insert without maintenance, of stores that keep the two apart",
	"insert_us_p50":               "wall time of one insert of a profile without maintenance, median",
	"insert_us_p99":               "the same, 99th percentile; on a busy machine it says more about the machine",
	"peak_heap_bytes_per_row":     "highest heap from open to settled, garbage included, sampled every 5 ms, less the heap before",
	"query_ms":                    "CPU time of a query on the settled store, collections included: median of up to 15 batches in each process",
	"rss_settled_bytes_per_row":   "memory of the process after compaction of everything, less that before",
	"peak_rss_bytes_per_row":      "highest memory of the process from open to settled, less that before; profiles that wait for their insert are in it",
	"settle_ns_per_row":           "the part of all_in after the last insert",
}

// heapKeys are the figures about only the heap, which stores with memory outside it lack.
var heapKeys = []string{"alloc_bytes_per_row", "allocs_per_row", "heap_inserted_bytes_per_row", "heap_settled_bytes_per_row", "peak_heap_bytes_per_row"}

// result is one process's measurement of one store.
type result struct {
	Figures map[string]float64 `json:"figures"`
	// Answers has a digest of the answer to each question.
	Answers map[string]string `json:"answers"`
	Module  string            `json:"module"`
}

// measureStore fills a store from a source and asks every question. Digests are made if answers is set.
func measureStore(name, from string, rows int64, answers bool, open func() (Store, error)) (m result, err error) {
	kind := kinds[name]
	m = result{Figures: map[string]float64{}, Answers: map[string]string{}, Module: moduleVersion(kind.module)}
	w, err := openSource(from)
	if err != nil {
		return m, err
	}
	base, resident := measure.Heap(), measure.Resident()
	p, err := open()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.Close()) }()
	l := loader{peer: p, peak: measure.WatchHeap()}
	about, err := l.load(w, rows)
	if err != nil {
		return m, err
	}
	n := float64(l.rows)
	m.Figures["heap_inserted_bytes_per_row"] = float64(measure.Heap()-base) / n
	inserted := l.allIn
	if err := l.time(p.Settle); err != nil {
		return m, err
	}
	m.Figures["peak_heap_bytes_per_row"] = float64(l.peak.Stop()-base) / n
	m.Figures["heap_settled_bytes_per_row"] = float64(measure.Heap()-base) / n
	m.Figures["rss_settled_bytes_per_row"] = float64(measure.Resident()-resident) / n
	m.Figures["peak_rss_bytes_per_row"] = float64(measure.MostResident()-resident) / n
	runtime.KeepAlive(w) // until here it is in both heaps
	m.Figures["all_in_ns_per_row"] = float64(l.allIn) / n
	m.Figures["settle_ns_per_row"] = float64(l.allIn-inserted) / n
	if kind.apart {
		m.Figures["insert_ns_per_row"] = float64(l.inserts) / n
	}
	m.Figures["allocs_per_row"], m.Figures["alloc_bytes_per_row"] = float64(l.allocs)/n, float64(l.bytes)/n
	if kind.outside {
		for _, key := range heapKeys {
			delete(m.Figures, key)
		}
	}
	slices.Sort(l.latencies)
	m.Figures["insert_us_p50"] = float64(l.latencies[len(l.latencies)/2]) / 1e3
	m.Figures["insert_us_p99"] = float64(l.latencies[len(l.latencies)*99/100]) / 1e3
	return m, ask(kind, p, about, l.rows, answers, m)
}

// loader inserts profiles and accounts for them.
type loader struct {
	peer      Store
	peak      *measure.PeakHeap
	rows      int64
	allIn     time.Duration // CPU time for everything
	inserts   time.Duration // CPU time for inserts only
	allocs    uint64
	bytes     uint64
	latencies []time.Duration
}

// loadAhead is the number of profiles that are made before the clock starts again.
const loadAhead = 400

// load inserts profiles until enough rows are in, and returns one from the middle.
func (l *loader) load(w source, rows int64) (about schema.Batch, err error) {
	var batches []schema.Batch
	for n := 0; l.rows < rows; {
		batches = batches[:0]
		for ; len(batches) < loadAhead && l.rows < rows; n++ {
			batches = append(batches, w.profile(n))
			l.rows += int64(batches[len(batches)-1].Rows)
		}
		if err := l.time(func() error { return l.insert(batches) }); err != nil {
			return about, err
		}
		if about.Rows == 0 || l.rows < rows/2 {
			about = batches[len(batches)/2]
		}
	}
	return about, nil
}

func (l *loader) insert(batches []schema.Batch) error {
	for _, b := range batches {
		cpu, wall := measure.CPU(), time.Now()
		if err := l.peer.Insert(b); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		l.latencies = append(l.latencies, time.Since(wall))
		l.inserts += measure.CPU() - cpu
		if err := l.peer.Maintain(); err != nil {
			return fmt.Errorf("maintain: %w", err)
		}
	}
	return l.peer.Rest()
}

// time adds f's cost to the accounts.
func (l *loader) time(f func() error) error {
	allocs, bytes, start := measure.Allocated()
	err := f()
	allocs2, bytes2, end := measure.Allocated()
	l.allocs, l.bytes, l.allIn = l.allocs+allocs2-allocs, l.bytes+bytes2-bytes, l.allIn+end-start
	return err
}

// ask asks every question. The first answer may give the digest, the others are timed.
func ask(kind Kind, p Store, about schema.Batch, rows int64, answers bool, m result) error {
	const wholeRows = 200_000 // beyond, answers with all rows and columns are not compared
	for _, q := range Questions(about) {
		if !kind.asked(q) {
			continue
		}
		if answers && (!q.whole || rows <= wholeRows) {
			var d Digest
			if err := q.Ask(p, d.Add); err != nil {
				return fmt.Errorf("%s: %w", q.Name, err)
			}
			m.Answers[q.Name] = d.String()
		}
		ms, err := measure.QueryMs(func() error { return q.Ask(p, nil) })
		if err != nil {
			return fmt.Errorf("%s: %w", q.Name, err)
		}
		m.Figures["query_ms."+q.Name] = ms
	}
	return nil
}
