package gotrace

import (
	"bytes"
	"errors"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/trace"
)

// TestImport imports a trace in several transactions: the history is that of one.
func TestImport(t *testing.T) {
	data := file(t)
	r, err := NewReader(bytes.NewReader(data), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	var h *history.History
	var tx *history.Draft
	var view *history.View
	err = Import(t.Context(), r, trace.Target{
		Begin: func(start int64) (*history.Writer, error) {
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
		Commit: func() error { view, err = tx.Commit(); return err },
	})
	if err != nil {
		t.Fatal(err)
	}
	s := replay(t, data)
	if !view.Closed() || view.Start() > s.unix[0] || view.Start() < s.unix[0]-1e9 {
		t.Errorf("the history is from %d, closed %v, want from %d", view.Start(), view.Closed(), s.unix[0])
	}
	if n := compare(t, view, s, s.unix[0], view.End(), true); n < 500 {
		t.Errorf("only %d states were compared", n)
	}
}

// TestFollower_Renew commits in the middle of a trace.
func TestFollower_Renew(t *testing.T) {
	data := record(t, 1e8)
	s := replay(t, data)
	k := keep(t, FollowOptions{ByID: true})
	r, err := NewReader(bytes.NewReader(data), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	tx, err := k.h.Begin()
	if err != nil {
		t.Fatal(err)
	}
	commits := 0
	again := func() (*history.Writer, error) {
		commits++
		if _, err := tx.Commit(); err != nil {
			return nil, err
		}
		k.at.unix++
		tx, err = k.h.Begin()
		return tx.Writer, err
	}
	k.renew, k.renewEach = again, 10
	if err := k.Window(t.Context(), r, tx.Writer, nil); err != nil {
		t.Fatal(err)
	}
	view, err := tx.Commit()
	if err != nil {
		t.Fatal(err)
	}
	if n := compare(t, view, s, s.unix[0], view.End(), true); n < 500 || commits < 5 {
		t.Errorf("%d states were compared, %d commits", n, commits)
	}
}

// TestImport_Errors passes on what the target says, and refuses a trace without events.
func TestImport_Errors(t *testing.T) {
	broken := errors.New("broken")
	r, err := NewReader(bytes.NewReader(file(t)), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), r, trace.Target{Begin: func(int64) (*history.Writer, error) { return nil, broken }}); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if r, err = NewReader(bytes.NewReader(file(t)[:headerBytes]), 1<<30); err != nil {
		t.Fatal(err)
	}
	if err := Import(t.Context(), r, trace.Target{}); !errors.Is(err, ErrFormat) {
		t.Errorf("without events: %v", err)
	}
}
