package push

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
)

// TestPushRoom gives and takes back shares.
func TestPushRoom(t *testing.T) {
	room, wait := &pushRoom{most: 10 * shareStep}, time.Millisecond
	share := func(ctx context.Context) *share { return &share{room: room, wait: wait, use: use{ctx: ctx}} }
	a, b, c := share(t.Context()), share(t.Context()), share(t.Context())
	for _, err := range []error{a.take(6 * shareStep), b.take(3 * shareStep), b.take(3 * shareStep), b.take(50 * shareStep)} {
		if err != nil {
			t.Fatal(err) // the last two exceed the room, which one push may
		}
	}
	err := c.take(1)
	if !errors.Is(err, fault.ErrLimit) || fault.CauseOf(err).Status != http.StatusServiceUnavailable || c.held != 0 {
		t.Errorf("a third push: %v, %d bytes", err, c.held)
	}
	b.release()
	if again := c.take(1); again != err { //nolint:errorlint // the same
		t.Errorf("a push that was refused gets %v", again)
	}
	wait = time.Minute
	d := share(t.Context())
	got := make(chan error)
	go func() { got <- cmpErr(d.take(8*shareStep), share(t.Context()).take(8*shareStep)) }()
	time.Sleep(10 * time.Millisecond) // d exceeds the room, so the one behind it waits
	a.release()
	select {
	case err := <-got:
		t.Errorf("16 of 10 were given: %v", err)
	case <-time.After(10 * time.Millisecond):
	}
	d.release()
	if err := <-got; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	over := share(t.Context())
	if err := over.take(9 * shareStep); err != nil {
		t.Fatal(err)
	}
	if err := share(ctx).take(9 * shareStep); !errors.Is(err, gone) {
		t.Errorf("a client that has gone: %v", err)
	}
	at := over.used
	if err := over.take(5 * shareStep); err != nil {
		t.Fatal(err)
	}
	held := over.held
	over.used = at
	if err := over.take(5 * shareStep); err != nil || over.held != held {
		t.Errorf("bytes that were free: %v, %d held, want %d", err, over.held, held)
	}
}

// cmpErr returns the first error.
func cmpErr(errs ...error) error { return errors.Join(errs...) }
