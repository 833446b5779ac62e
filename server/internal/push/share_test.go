package push

import (
	"errors"
	"testing"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// TestShare takes memory in steps, uses bytes that are free again, and repeats the error of a full room.
func TestShare(t *testing.T) {
	room := web.NewRoom("pushes", 10*shareStep, 0)
	share := func() *share { return &share{grant: room.Grant(), use: use{ctx: t.Context()}} }
	over := share()
	for range 2 {
		if err := over.take(9 * shareStep); err != nil {
			t.Fatal(err) // the last exceeds the room, which one push may
		}
	}
	held := over.grant.Held()
	over.used = 0
	if err := over.take(9 * shareStep); err != nil || over.grant.Held() != held || held != 18*shareStep {
		t.Errorf("bytes that were free: %v, %d held, want %d", err, over.grant.Held(), held)
	}
	other := share()
	err := other.take(1)
	if !errors.Is(err, fault.ErrLimit) || other.grant.Held() != 0 {
		t.Errorf("another push: %v, %d bytes", err, other.grant.Held())
	}
	over.release()
	if again := other.take(1); again != err { //nolint:errorlint // the same
		t.Errorf("a push that was refused gets %v", again)
	}
	if room.InUse() != 0 || over.used != 0 {
		t.Errorf("%v bytes in use", room.InUse())
	}
}
