package push

import (
	"context"
	"errors"
	"testing"
	"time"
)

// TestIDs_Wait holds a second claim to the outcome of the first.
func TestIDs_Wait(t *testing.T) {
	for _, committed := range []bool{true, false} {
		d, id := newIDs(time.Now), hashOf("a")
		if mine, err := d.claim(t.Context(), id); !mine || err != nil {
			t.Fatal(mine, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := d.claim(ctx, id); !errors.Is(err, context.Canceled) {
			t.Errorf("a claim that was given up: %v", err)
		}
		second := make(chan bool)
		go func() {
			mine, _ := d.claim(t.Context(), id)
			second <- mine
		}()
		select {
		case <-second:
			t.Fatal("the second claim did not wait")
		case <-time.After(20 * time.Millisecond):
		}
		d.release(id, committed)
		if mine := <-second; mine == committed {
			t.Errorf("the first was committed: %v; the second is to push: %v", committed, mine)
		}
	}
}

// TestGenerations bounds a set by number and by age.
func TestGenerations(t *testing.T) {
	var g generations
	now := time.Now()
	clock := func() time.Time { return now }
	add := func(text string) { g.turn(clock, time.Hour, 3); g.add(hashOf(text)) }
	for _, text := range []string{"a", "b", "c", "d"} {
		add(text)
	}
	if !g.has(hashOf("a")) || g.len() != 4 {
		t.Errorf("%d hashes after 4", g.len())
	}
	for _, text := range []string{"e", "f", "g"} {
		add(text)
	}
	if g.has(hashOf("a")) || !g.has(hashOf("d")) || g.len() != 4 {
		t.Errorf("%d hashes, want d, e, f and g", g.len())
	}
	now = now.Add(3 * time.Hour)
	if g.turn(clock, time.Hour, 3); g.len() != 0 {
		t.Errorf("%d hashes after three hours", g.len())
	}
	add("h")
	now = now.Add(-24 * time.Hour) // a clock that was set back
	if add("i"); !g.has(hashOf("h")) || !g.has(hashOf("i")) {
		t.Error("a clock that was set back")
	}
}
