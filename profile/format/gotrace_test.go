package format_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/exp/trace"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/gzipped"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/format"
)

func goTrace(t testing.TB) []byte {
	t.Helper()
	data, err := os.ReadFile("../../trace/golang/testdata/small.trace")
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// samplesOf returns the samples of a trace as golang.org/x/exp/trace tells of them: the date, the goroutine and the stack of each.
func samplesOf(t *testing.T, data []byte) (samples []string) {
	t.Helper()
	r, err := trace.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var zero int64
	for {
		ev, err := r.ReadEvent()
		if errors.Is(err, io.EOF) {
			return samples
		}
		if err != nil {
			t.Fatal(err)
		}
		if ev.Kind() == trace.EventSync && zero == 0 {
			c := ev.Sync().ClockSnapshot
			zero = c.Wall.UnixNano() - int64(c.Trace)
		}
		if ev.Kind() != trace.EventStackSample {
			continue
		}
		text := fmt.Sprint(int64(ev.Time())+zero, int64(ev.Goroutine()))
		for f := range ev.Stack().Frames() {
			text += fmt.Sprintf(";%s %s:%d", f.Func, f.File, f.Line)
		}
		samples = append(samples, text)
	}
}

// TestGoTrace decodes the CPU samples of a trace, and inserts each at its own time.
func TestGoTrace(t *testing.T) {
	data := goTrace(t)
	var got []string
	for p, err := range format.Decode(data, format.Hints{}) {
		if err != nil {
			t.Fatal(err)
		}
		for i, s := range p.Parsed.Sample {
			goroutine := int64(-1)
			if ids := s.NumLabel["goid"]; ids != nil {
				goroutine = ids[0]
			}
			text := fmt.Sprint(p.SampleTimes[i], goroutine)
			for _, l := range s.Location {
				text += fmt.Sprintf(";%s %s:%d", l.Line[0].Function.Name, l.Line[0].Function.Filename, l.Line[0].Line)
			}
			if got = append(got, text); s.Value[0] != 1 || s.Value[1] != 10_000_000 {
				t.Errorf("%v", s.Value)
			}
		}
	}
	want := samplesOf(t, data)
	if !slices.Equal(got, want) || len(want) < 5 {
		t.Errorf("%q, want %q", got, want)
	}
	db := newDB(t)
	rows, err := format.Insert(t.Context(), db, gzipped.Of(t, data), format.Hints{}, profile.InsertOptions{Labels: map[string]string{"job": "api"}})
	if err != nil || rows != 2*len(want) {
		t.Fatalf("%d rows of %d samples, %v", rows, len(want), err)
	}
	err = db.Store().View(t.Context(), func(snap *columnstore.Snapshot) error {
		cpu, err := db.FindType(t.Context(), snap, "cpu")
		if err != nil {
			return err
		}
		all, err := db.Profiles(t.Context(), snap, cpu, profile.Query{})
		if err != nil {
			return err
		}
		for i, p := range all {
			if !strings.HasPrefix(want[i], fmt.Sprint(p.Time, " ")) {
				t.Errorf("a profile at %d, want %s", p.Time, want[i])
			}
		}
		if len(all) != len(want) {
			t.Errorf("%d profiles, want %d", len(all), len(want))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGoTrace_Bad refuses traces that are none, are cut, or exceed limits. A trace without a date takes that of its options.
func TestGoTrace_Bad(t *testing.T) {
	data := goTrace(t)
	for name, c := range map[string]struct {
		data   []byte
		limits profile.Limits
		is     error
	}{
		"header alone": {data[:16], profile.Limits{}, profile.ErrProfile},
		"cut":          {data[:len(data)*2/3], profile.Limits{}, profile.ErrProfile},
		"long":         {data, profile.Limits{Bytes: len(data) - 1}, profile.ErrTooLarge},
		"samples":      {data, profile.Limits{Samples: 2}, profile.ErrTooLarge},
		"deep":         {data, profile.Limits{Depth: 1}, profile.ErrTooLarge},
		"whole":        {data, profile.Limits{}, nil},
	} {
		if _, err := inserted(t, c.data, format.Hints{Limits: c.limits}); !errors.Is(err, c.is) {
			t.Errorf("%s: %v, want %v", name, err, c.is)
		}
	}
	packed, err := os.ReadFile("../../trace/golang/testdata/go1.21.trace.gz")
	if err != nil {
		t.Fatal(err)
	}
	db := newDB(t)
	if _, err := format.Insert(t.Context(), db, packed, format.Hints{}, profile.InsertOptions{}); !errors.Is(err, profile.ErrProfile) {
		t.Errorf("without a date: %v", err)
	}
	at := time.Unix(1_790_000_000, 0)
	if rows, err := format.Insert(t.Context(), db, packed, format.Hints{}, profile.InsertOptions{Time: at}); err != nil || rows < 2 {
		t.Errorf("%d rows, %v", rows, err)
	}
	if old := db.Table().Stats().Oldest; old.After(at) || old.Before(at.Add(-time.Hour)) {
		t.Errorf("its rows are from %v on", old)
	}
}
