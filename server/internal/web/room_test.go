package web

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
)

// TestRoom gives and takes back grants.
func TestRoom(t *testing.T) {
	room := NewRoom("tests", 10, time.Millisecond)
	grant := func() *Grant { p := room.Grant(); return &p }
	a, b, c := grant(), grant(), grant()
	for _, err := range []error{a.Take(t.Context(), 6), b.Take(t.Context(), 3), b.Take(t.Context(), 3), b.Take(t.Context(), 50)} {
		if err != nil {
			t.Fatal(err) // the last two exceed the room, which one grant may
		}
	}
	err := c.Take(t.Context(), 1)
	if !errors.Is(err, fault.ErrLimit) || fault.CauseOf(err).Status != http.StatusServiceUnavailable || c.Held() != 0 {
		t.Errorf("a third grant: %v, %d bytes", err, c.Held())
	}
	b.Release()
	room.wait = time.Minute
	d, last := grant(), grant()
	got := make(chan error)
	go func() { got <- errors.Join(d.Take(t.Context(), 8), last.Take(t.Context(), 8)) }()
	time.Sleep(10 * time.Millisecond) // d exceeds the room, so the one behind it waits
	a.Release()
	select {
	case err := <-got:
		t.Errorf("16 of 10 were given: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	d.Release()
	if err := <-got; err != nil || last.Held() != 8 || room.InUse() != 8 {
		t.Errorf("%v, %d held, %v in use", err, last.Held(), room.InUse())
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	if err := grant().Take(t.Context(), 9); err != nil { // exceeds
		t.Fatal(err)
	}
	if err := grant().Take(ctx, 9); !errors.Is(err, gone) {
		t.Errorf("a client that has gone: %v", err)
	}
	var none Grant
	if none.Release(); none.Take(t.Context(), 1<<40) != nil {
		t.Error("a grant without a room takes memory")
	}
}
