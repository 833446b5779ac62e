package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/apache/arrow/go/v14/arrow"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
)

// result is what a process measured of an engine with a set.
type result struct {
	Engine   string             `json:"engine"`
	Version  string             `json:"version"`
	Skipped  string             `json:"skipped,omitempty"` // the reason
	Load     float64            `json:"load_cpu_us_per_row"`
	LoadWall float64            `json:"load_wall_us_per_row"`
	Memory   float64            `json:"memory_bytes_per_row"` // 0 if rows stay in files
	MemoryOf string             `json:"memory_of"`            // what Memory counts
	Disk     float64            `json:"disk_bytes_per_row"`   // 0 if rows are in memory alone
	Peak     float64            `json:"peak_memory_mb"`       // the most that the process had
	Answers  map[string]*answer `json:"answers"`
}

// answer is the cost of a question's answer, in milliseconds, and the answer's digest.
type answer struct {
	ColdWall float64 `json:"cold_wall_ms"`
	ColdCPU  float64 `json:"cold_cpu_ms"`
	Wall     float64 `json:"wall_ms"`
	CPU      float64 `json:"cpu_ms"`
	Digest   string  `json:"digest"`
	Error    string  `json:"error,omitempty"`
}

// longCall is the time of an answer from which on it is given only twice.
const longCall = 2 * time.Second

// timed measures answers: the first, which returns its digest if it has one, and the median of later ones.
func timed(repeat int, first func() (digest func() string, err error), later func() error) *answer {
	a := &answer{}
	wall, cpu := time.Now(), measure.Process()
	digest, err := first()
	took := time.Since(wall)
	a.ColdCPU, a.ColdWall = ms(measure.Process()-cpu), ms(took)
	if err != nil {
		a.Error = err.Error()
		return a
	}
	a.Digest = digest()
	if took > longCall {
		repeat = 1
	}
	var walls, cpus []float64
	for range repeat {
		runtime.GC()
		wall, cpu := time.Now(), measure.Process()
		if err := later(); err != nil {
			a.Error = err.Error()
			return a
		}
		cpus, walls = append(cpus, ms(measure.Process()-cpu)), append(walls, ms(time.Since(wall)))
	}
	a.Wall, a.CPU = results.Median(walls), results.Median(cpus)
	return a
}

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// measureOracle returns the digests of all answers.
func measureOracle(s *source) (*result, error) {
	answers, err := oracle(s)
	r := &result{Engine: "oracle", Answers: map[string]*answer{}}
	for name, digest := range answers {
		r.Answers[name] = &answer{Digest: digest}
	}
	return r, err
}

// measureGranary loads the rows into this store, in memory or into a directory, which is then opened again,
// and asks the questions.
func measureGranary(s *source, repeat int, durable bool) (r *result, err error) {
	r = &result{Engine: "granary", MemoryOf: "live heap after compaction, less that before", Answers: map[string]*answer{}}
	dir := ""
	if durable {
		r.Engine, r.MemoryOf = "granary-files", ""
		if dir, err = os.MkdirTemp("", "polarsignals"); err != nil {
			return nil, err
		}
		defer func() { _ = os.RemoveAll(dir) }()
	}
	before := measure.Heap()
	g, err := openGranary(dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, g.store.Close()) }()
	if err := g.load(s, r); err != nil {
		return nil, err
	}
	if durable {
		if g, err = g.again(s, r, dir); err != nil {
			return nil, err
		}
	} else {
		r.Memory = float64(measure.Heap()-before) / float64(s.rows)
	}
	for i := range questions {
		q := &questions[i]
		r.Answers[q.name] = g.timed(q, repeat)
		if q.rows {
			g.ids = true
			ids := g.timed(q, repeat)
			g.ids, ids.Digest = false, ""
			r.Answers[q.name+" ids"] = ids
		}
	}
	r.Peak = float64(measure.MostResident()) / 1e6
	return r, nil
}

// measureHand keeps the rows as Arrow records, and asks the questions.
func measureHand(s *source, repeat int) (*result, error) {
	r := &result{Engine: "arrow-by-hand", MemoryOf: "live heap, less that before", Answers: map[string]*answer{}}
	before := measure.Heap()
	h := &hand{}
	var wall, cpu time.Duration
	err := s.each(func(b *rows) error {
		w, c := time.Now(), measure.Process()
		err := h.add(b)
		wall, cpu = wall+time.Since(w), cpu+measure.Process()-c
		return err
	})
	if err != nil {
		return nil, err
	}
	n := float64(s.rows)
	r.Load, r.LoadWall, r.Memory = float64(cpu)/1e3/n, float64(wall)/1e3/n, float64(measure.Heap()-before)/n
	for i := range questions {
		q := &questions[i]
		r.Answers[q.name] = timed(repeat, func() (func() string, error) {
			found, lines := h.ask(q)
			return func() string { return h.digest(q, found, lines) }, nil
		}, func() error {
			h.ask(q)
			return nil
		})
	}
	r.Peak = float64(measure.MostResident()) / 1e6
	return r, nil
}

// load inserts all rows, and maintains until nothing is left to do.
func (g *granary) load(s *source, r *result) error {
	in := inserter{g: g}
	var wall, cpu time.Duration
	count := func(f func() error) error {
		w, c := time.Now(), measure.Process()
		err := f()
		wall, cpu = wall+time.Since(w), cpu+measure.Process()-c
		return err
	}
	if err := s.each(func(b *rows) error { return count(func() error { return in.insert(b) }) }); err != nil {
		return fmt.Errorf("insert: %w", err)
	}
	if err := count(func() error { return g.store.Compact(context.Background()) }); err != nil {
		return fmt.Errorf("compact: %w", err)
	}
	r.Load, r.LoadWall = float64(cpu)/1e3/float64(s.rows), float64(wall)/1e3/float64(s.rows)
	return nil
}

// again closes the store, which writes its files, and opens it again.
func (g *granary) again(s *source, r *result, dir string) (*granary, error) {
	w, c := time.Now(), measure.Process()
	if err := g.store.Close(); err != nil {
		return g, err
	}
	n := float64(s.rows)
	r.Load, r.LoadWall = r.Load+float64(measure.Process()-c)/1e3/n, r.LoadWall+float64(time.Since(w))/1e3/n
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			r.Disk += float64(info.Size()) / n
		}
		return err
	})
	if err != nil {
		return g, err
	}
	runtime.GC()
	return openGranary(dir)
}

// timed measures a question.
func (g *granary) timed(q *question, repeat int) *answer {
	return timed(repeat, func() (func() string, error) {
		found, err := g.ask(q)
		if err != nil {
			return nil, err
		}
		return func() string {
			defer release(found)
			if g.ids {
				return ""
			}
			return q.digest(found)
		}, nil
	}, func() error {
		found, err := g.ask(q)
		release(found)
		return err
	})
}

func release(records []arrow.Record) {
	for _, rec := range records {
		rec.Release()
	}
}
