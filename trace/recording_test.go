package trace

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/ihs"
)

// The history does not depend on the number of commits, even where more intervals than a batch
// end at one time.
func TestFeedInBatches(t *testing.T) {
	for _, name := range []string{"synth:1000:50", "synth:30000:2"} {
		l, err := Load(t.Context(), name, LoadOptions{})
		if err != nil {
			t.Fatal(err)
		}
		s, err := ihs.Open(name, ihs.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if l.Intervals <= 3*feedBatch || l.Kinds[history.KindInt]+l.Kinds[history.KindNull] != s.Len() || l.Intervals != s.Len() || !l.Closed() {
			t.Fatalf("%s: %d intervals", name, l.Intervals)
		}
		for i := range s.Len() {
			iv := s.At(i)
			if in, err := l.At(history.Attribute(iv.Key), iv.Start); err != nil || in.Start != iv.Start || in.End != iv.End || !in.Value.Equal(valueOf(iv)) {
				t.Fatalf("%s, interval %d: %+v, %v, want %+v", name, i, in, err, iv)
			}
		}
	}
}

// The error names the first wrong interval, wherever it is, and precedes the error of
// unreadable input behind it.
func TestFeedNamesInterval(t *testing.T) {
	const n = 2*feedBatch + 2*feedChunk
	broken := errors.New("broken")
	for _, test := range []struct {
		gap, end int // the wrong interval, and the unreadable one
		want     string
	}{
		{0, n, "interval 0: interval out of place"},
		{feedChunk - 1, n, fmt.Sprintf("interval %d: interval out of place", feedChunk-1)},
		{feedBatch + 7, n, fmt.Sprintf("interval %d: interval out of place", feedBatch+7)},
		{2*feedBatch + 1, 2*feedBatch + 2, fmt.Sprintf("interval %d: interval out of place", 2*feedBatch+1)},
		{n, 1, "broken"},
		{n, n - 1, "broken"},
		{n, n, ""},
	} {
		i := -1
		next := func() (ihs.Interval, error) {
			i++
			switch start := int64(i); i {
			case n:
				return ihs.Interval{}, io.EOF
			case test.end:
				return ihs.Interval{}, broken
			case test.gap, test.gap + 3:
				return ihs.Interval{Start: start + 1, End: start + 1, Kind: ihs.KindInt}, nil
			default:
				return ihs.Interval{Start: start, End: start, Kind: ihs.KindInt, Word: uint64(i)}, nil
			}
		}
		attributes := []ihs.Attribute{{Parent: ihs.NoParent, Name: "a"}}
		l, err := build(t.Context(), streamOf(ihs.Header{Keys: 1, Intervals: n, End: n - 1}, attributes, next), nil)
		switch {
		case test.want != "":
			if err == nil || !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("%+v: %v", test, err)
			}
		case err != nil:
			t.Error(err)
		default:
			if l.Counts[0] != n || l.Kinds[history.KindInt] != n {
				t.Errorf("counted %d, %d", l.Counts[0], l.Kinds[history.KindInt])
			}
			if in, err := l.At(0, n-2); err != nil || in.Start != n-2 || in.Value != history.Int(n-2) {
				t.Errorf("%+v, %v", in, err)
			}
		}
	}
}

// TestLoadInto: a target that fails ends the load, and has had the intervals of its commits.
func TestLoadInto(t *testing.T) {
	want, err := Load(t.Context(), "synth:1000:50", LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for fails := range 5 {
		var h *history.History
		var tx *history.Draft
		commits, broken := 0, errors.New("broken")
		to := Target{
			Begin: func(start int64) (w *history.Writer, err error) {
				if h == nil {
					if h, err = history.New(history.Options{Start: start}); err != nil {
						return nil, err
					}
				}
				if tx, err = h.Begin(); err != nil {
					return nil, err
				}
				return tx.Writer, nil
			},
			Commit: func() error {
				if commits++; commits == fails {
					return broken
				}
				_, err := tx.Commit()
				return err
			},
		}
		_, err := LoadInto(t.Context(), "synth:1000:50", LoadOptions{}, to)
		if fails > 0 {
			if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "synth:1000:50: ") || commits != fails {
				t.Errorf("%v after %d commits, want %d", err, commits, fails)
			}
			tx.Abort()
			continue
		}
		if err != nil || commits < 5 || h.Size() != want.Bytes {
			t.Errorf("%v, %d commits, %d bytes, want %d", err, commits, h.Size(), want.Bytes)
		}
	}
}
