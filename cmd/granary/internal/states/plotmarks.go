package states

import (
	"fmt"
	"iter"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/stats"
	"github.com/granarydb/granary/render"
	"github.com/granarydb/granary/trace"
	"github.com/granarydb/granary/trace/golang"
)

// wakesOf returns render.TimeOptions.Arrows: from each attribute to those whose waits it ended.
func wakesOf(v *history.View, from, to int64) func(history.Attribute) iter.Seq2[render.TimeArrow, error] {
	return func(a history.Attribute) iter.Seq2[render.TimeArrow, error] {
		wakes := stats.Wakes(v, a, from, to)
		if wakes == nil {
			return nil
		}
		return func(yield func(render.TimeArrow, error) bool) {
			for w, err := range wakes {
				if !yield(render.TimeArrow{At: w.At, From: w.By}, err) {
					return
				}
			}
		}
	}
}

// sampleMarks are the instants of the CPU samples of each goroutine, ascending.
type sampleMarks map[int64][]int64

// open opens a Go execution trace as openHistory does, and keeps its samples.
func (m sampleMarks) open(cmd *cobra.Command, name string) (*recording, error) {
	if _, isStored := directory(cmd); isStored || !isOnce(name) && !isTrace(name) {
		return nil, m.refuse(name)
	}
	s, err := openStream(cmd, name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = s.Close() }()
	if head, _ := s.Peek(16); !golang.Magic(head) {
		return nil, m.refuse(s.name)
	}
	s.sampled = func(some []golang.Sampled) error {
		for _, one := range some {
			m[one.Goroutine] = append(m[one.Goroutine], one.At)
		}
		return nil
	}
	return withProgress(cmd, func(show showStage) (*trace.Recording, error) { return s.load(cmd.Context(), show) })
}

func (m sampleMarks) refuse(name string) error {
	return cli.Usage(fmt.Errorf("--samples: %s is no Go execution trace: other recordings have none, and a history keeps none", name))
}

// of returns render.TimeOptions.Marks.
func (m sampleMarks) of(v *history.View) func(history.Attribute) []int64 {
	top, err := v.Lookup(golang.Goroutines)
	return func(a history.Attribute) []int64 {
		if parent, parentErr := v.Parent(a); err != nil || parentErr != nil || parent != top {
			return nil
		}
		name, _ := v.Name(a) // a is in the view
		goid, err := strconv.ParseInt(name, 10, 64)
		if err != nil {
			return nil
		}
		return m[goid]
	}
}
