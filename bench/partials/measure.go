package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/file"
	"github.com/granarydb/granary/history/partial"
	"github.com/granarydb/granary/history/partial/partialfile"
	"github.com/granarydb/granary/history/union"
)

// figures are one file's measurements.
type figures struct {
	every     int // 0: the whole history
	intervals int
	bytes     int64
	build     time.Duration       // CPU time to write the file
	ns        [len(kinds)]float64 // by kind of query
}

// measured is a set, its whole history's figures and the parts' figures.
type measured struct {
	name  string
	whole figures
	parts []figures
}

// fileOptions have a cache for all blocks.
var fileOptions = file.Options{Provider: "bench", Cache: 1 << 30}

// measureSet measures a set, and emits a row for each file.
func measureSet(ctx context.Context, name string, distances []int, o options, emit func(row string)) (m measured, err error) {
	t, err := openTrace(name)
	if err != nil {
		return m, err
	}
	dir, err := os.MkdirTemp(o.dir, "partials")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "whole")
	build, err := built(path, o.repeat, func() error { return t.writeWhole(path) })
	if err != nil {
		return m, err
	}
	r, err := openWhole(path)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	q, err := ask(ctx, complete(r))
	if err != nil {
		return m, err
	}
	m = measured{name: t.name, whole: figures{intervals: q.intervals, build: build}}
	if err := m.whole.measure(ctx, path, q, q.whole, o.repeat); err != nil {
		return m, err
	}
	emit(m.row(m.whole))
	for _, every := range distances {
		f, err := t.measurePart(ctx, filepath.Join(dir, strconv.Itoa(every)), every, q, o.repeat)
		if err != nil {
			return m, fmt.Errorf("a checkpoint every %d events: %w", every, err)
		}
		m.parts = append(m.parts, f)
		emit(m.row(f))
	}
	return m, nil
}

// at writes a whole history's states at an event's time.
type at struct {
	*history.Writer
	t int64
}

// Change is history.Writer.Change at that time.
func (w at) Change(a history.Attribute, v history.Value) error { return w.Writer.Change(w.t, a, v) }

// writeWhole writes the whole history of the events.
func (t *trace) writeWhole(path string) (err error) {
	o := fileOptions
	o.History.Start = t.start
	w, err := file.Create(path, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	d, err := w.History.Begin()
	if err != nil {
		return err
	}
	defer d.Abort()
	r, err := t.Open(context.Background(), nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for {
		time, e, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := t.provide(at{d.Writer, time}, e); err != nil {
			return err
		}
	}
	if err := d.Close(t.end); err != nil {
		return err
	}
	_, err = d.Commit()
	return err
}

func openWhole(path string) (*file.Reader, error) { return file.Open(path, fileOptions) }

// complete returns a whole history, with answers in the form of a part's.
func complete(r *file.Reader) union.Member { return union.Complete(r.View) }

// measurePart writes, opens and queries a part.
func (t *trace) measurePart(ctx context.Context, path string, every int, q *questions, repeat int) (f figures, err error) {
	provide := func(w *partial.Writer, e event) error { return t.provide(w, e) }
	build, err := built(path, repeat, func() error {
		return partialfile.Write(ctx, path, fileOptions, t.Events, provide, partial.Options{Start: t.start, End: t.end, Every: every})
	})
	if err != nil {
		return f, err
	}
	h, err := partialfile.Open(path, fileOptions, t.Events, provide)
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if h.Names().Len() != q.whole.Names().Len() {
		return f, fmt.Errorf("%d attributes, want %d", h.Names().Len(), q.whole.Names().Len())
	}
	f = figures{every: every, intervals: h.Intervals(), build: build}
	return f, f.measure(ctx, path, q, h, repeat)
}

// built writes a file `repeat` times, and returns the median CPU time. The last file stays.
func built(path string, repeat int, write func() error) (time.Duration, error) {
	var all []float64
	for range max(1, repeat) {
		if err := os.RemoveAll(path); err != nil {
			return 0, err
		}
		runtime.GC()
		start := measure.CPU()
		if err := write(); err != nil {
			return 0, err
		}
		all = append(all, float64(measure.CPU()-start))
	}
	return time.Duration(results.Median(all)), nil
}

// measure compares all of a history's answers with the whole's, and measures the queries' times.
func (f *figures) measure(ctx context.Context, path string, q *questions, h union.Member, repeat int) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f.bytes = info.Size()
	for i, kind := range kinds {
		if err := q.compare(ctx, i, h); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
		if f.ns[i], err = q.time(ctx, i, h, repeat); err != nil {
			return fmt.Errorf("%s: %w", kind.name, err)
		}
	}
	return nil
}

// row is a row of the table: the figures of a whole history, or the ratios of a part of it.
func (m *measured) row(f figures) string {
	if f.every == 0 {
		cells := []string{m.name, "-", thousands(int64(f.intervals)), thousands(f.bytes), short(f.build.Seconds() * 1e3)}
		for i, kind := range kinds {
			cells = append(cells, short(f.ns[i]/kind.unit))
		}
		return "| " + strings.Join(cells, " | ") + " |"
	}
	cells := []string{m.name, thousands(int64(f.every)), thousands(int64(f.intervals))}
	times := []float64{float64(m.whole.bytes) / float64(f.bytes), float64(f.build) / float64(m.whole.build)}
	for i := range kinds {
		times = append(times, f.ns[i]/m.whole.ns[i])
	}
	for _, t := range times {
		cells = append(cells, "×"+short(t))
	}
	return "| " + strings.Join(cells, " | ") + " |"
}

// short returns a number with three significant digits.
func short(x float64) string {
	if x < 1000 {
		return fmt.Sprintf("%.3g", x)
	}
	unit := math.Pow(10, math.Floor(math.Log10(x))-2)
	return thousands(int64(math.Round(x/unit) * unit))
}

// thousands returns a number with commas.
func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	var parts []string
	for ; len(text) > 3; text = text[:len(text)-3] {
		parts = append(parts, ","+text[len(text)-3:])
	}
	slices.Reverse(parts)
	for _, p := range parts {
		text += p
	}
	return text
}
