package main

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/metrics"
	"slices"
	"time"

	"github.com/granarydb/granary/schema"
)

// peerKeys says what each figure is. A query's is "query_ms." and the question's name.
var peerKeys = map[string]string{
	"all_in_ns_per_row":           "CPU time of the process to insert and maintain until nothing is left to do, garbage collection included; making the profiles is not",
	"alloc_bytes_per_row":         "bytes allocated in the same time",
	"allocs_per_row":              "allocations in the same time",
	"heap_inserted_bytes_per_row": "heap after two collections, less what it was before the peer was opened: when the last row is in and what is under way has ended",
	"heap_settled_bytes_per_row":  "the same when everything is compacted",
	"insert_ns_per_row":           "CPU time to insert without maintenance, of peers where it can be told apart",
	"insert_us_p50":               "wall time of one insert of a profile, maintenance and waiting for it not included, median",
	"insert_us_p99":               "the same, 99th percentile; on a busy machine it says more about the machine",
	"peak_heap_bytes_per_row":     "highest heap that was seen from open to settled, garbage included, sampled every 5 ms, less what it was before",
	"query_ms":                    "CPU time of a query on the settled store, garbage collection included: median of at least 3 in each process",
	"settle_ns_per_row":           "the part of all_in that came after the last insert",
}

// measured is what one process measures of one peer.
type measured struct {
	Figures map[string]float64 `json:"figures"`
	// Answers sums up the answer to each question.
	Answers map[string]string `json:"answers"`
	Module  string            `json:"module"`
}

// measurePeer fills a peer with a workload and asks it everything.
func measurePeer(name, from string, rows int64) (m measured, err error) {
	kind := peerKinds[name]
	m = measured{Figures: map[string]float64{}, Answers: map[string]string{}, Module: moduleVersion(kind.module)}
	w, err := openWorkload(from)
	if err != nil {
		return m, err
	}
	base := heap()
	p, err := kind.open()
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	l := loader{peer: p, peak: watchHeap()}
	about, err := l.load(w, rows)
	if err != nil {
		return m, err
	}
	n := float64(l.rows)
	m.Figures["heap_inserted_bytes_per_row"] = float64(heap()-base) / n
	inserted := l.allIn
	if err := l.time(p.settle); err != nil {
		return m, err
	}
	m.Figures["peak_heap_bytes_per_row"] = float64(l.peak.stop()-base) / n
	m.Figures["heap_settled_bytes_per_row"] = float64(heap()-base) / n
	runtime.KeepAlive(w) // until here it is in both heaps
	m.Figures["all_in_ns_per_row"] = float64(l.allIn) / n
	m.Figures["settle_ns_per_row"] = float64(l.allIn-inserted) / n
	if kind.apart {
		m.Figures["insert_ns_per_row"] = float64(l.inserts) / n
	}
	m.Figures["allocs_per_row"], m.Figures["alloc_bytes_per_row"] = float64(l.allocs)/n, float64(l.bytes)/n
	slices.Sort(l.latencies)
	m.Figures["insert_us_p50"] = float64(l.latencies[len(l.latencies)/2]) / 1e3
	m.Figures["insert_us_p99"] = float64(l.latencies[len(l.latencies)*99/100]) / 1e3
	return m, ask(kind, p, about, l.rows, m)
}

// loader inserts profiles and keeps the accounts.
type loader struct {
	peer      peer
	peak      *peakHeap
	rows      int64
	allIn     time.Duration // CPU time of everything
	inserts   time.Duration // CPU time of insert alone
	allocs    uint64
	bytes     uint64
	latencies []time.Duration
}

// loadAhead is how many profiles are made before the clock starts again.
const loadAhead = 400

// load inserts profiles until there are enough rows and returns one from the middle.
func (l *loader) load(w workload, rows int64) (about schema.Batch, err error) {
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
		cpu, wall := cpuTime(), time.Now()
		if err := l.peer.insert(b); err != nil {
			return fmt.Errorf("insert: %w", err)
		}
		l.latencies = append(l.latencies, time.Since(wall))
		l.inserts += cpuTime() - cpu
		if err := l.peer.maintain(); err != nil {
			return fmt.Errorf("maintain: %w", err)
		}
	}
	return l.peer.rest()
}

// time adds what f takes to the accounts.
func (l *loader) time(f func() error) error {
	allocs, bytes, start := allocated()
	err := f()
	allocs2, bytes2, end := allocated()
	l.allocs, l.bytes, l.allIn = l.allocs+allocs2-allocs, l.bytes+bytes2-bytes, l.allIn+end-start
	return err
}

func allocated() (objects, bytes uint64, cpu time.Duration) {
	s := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}, {Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64(), cpuTime()
}

// ask asks every question: once to sum up the answer, which also warms up, then by the
// clock.
func ask(kind peerKind, p peer, about schema.Batch, rows int64, m measured) error {
	const wholeRows = 200_000 // beyond, answers with all rows and columns are not compared
	for _, q := range questions(about) {
		if !kind.asked(q) {
			continue
		}
		if !q.whole || rows <= wholeRows {
			var d digest
			if err := q.ask(p, d.add); err != nil {
				return fmt.Errorf("%s: %w", q.name, err)
			}
			m.Answers[q.name] = d.String()
		}
		ms, err := queryCost(func() error { return q.ask(p, nil) })
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		m.Figures["query_ms."+q.name] = ms
	}
	return nil
}

// queryCost returns the median CPU time of a query: of 3, or of up to 21 while they
// take less than half a second in all.
func queryCost(f func() error) (ms float64, err error) {
	const least, most, enough = 3, 21, 500
	var times []float64
	for total := 0.0; len(times) < least || len(times) < most && total < enough; {
		one, err := medianOf(1, f)
		if err != nil {
			return 0, err
		}
		times = append(times, one)
		total += one
	}
	return median(times), nil
}

// peakHeap samples the heap, garbage included, until it is stopped.
type peakHeap struct {
	done chan struct{}
	most chan int64
}

func watchHeap() *peakHeap {
	p := &peakHeap{done: make(chan struct{}), most: make(chan int64)}
	go func() {
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		var most int64
		for {
			metrics.Read(s)
			most = max(most, int64(s[0].Value.Uint64()))
			select {
			case <-tick.C:
			case <-p.done:
				p.most <- most
				return
			}
		}
	}()
	return p
}

// stop returns the highest heap that was seen.
func (p *peakHeap) stop() int64 {
	close(p.done)
	return <-p.most
}
