package columnstore

import (
	"testing"
	"time"

	"github.com/granarydb/granary/internal/crashfs"
	"github.com/granarydb/granary/internal/faultclock"
)

// A clock that is set ahead for a while takes rows that are ahead of all others. They drop nothing, in any kind of commit, and rows of
// the right time are taken when it is right again. A clock that stays ahead is believed after a day, and one that was behind too.
func TestRetention_ClockSetAhead(t *testing.T) {
	const width = time.Minute
	begin := time.Date(2026, 11, 3, 9, 0, 0, 0, time.UTC)
	for name, back := range map[string]bool{"right again": true, "it stays": false} {
		t.Run(name, func(t *testing.T) {
			ahead := faultclock.Fault{Shift: faultclock.Year}
			clock := faultclock.New(begin, ahead, 10)
			fs := crashfs.New(crashfs.Options{})
			opts := inDir(fs)
			opts.FutureLimit, opts.PastLimit, opts.Retention, opts.Now = 0, 0, time.Hour, clock.Now
			store, table := open(t, opts, samples(int64(width)))
			insert(t, table, oneRow(begin.UnixNano()))
			for clock.Readings() < 10 {
				clock.Now()
			}
			clock.Move(time.Second)
			shown := begin.Add(faultclock.Year + time.Second).UnixNano()
			insert(t, table, oneRow(shown))
			tx := store.Begin()
			tx.Note(table, "a commit without rows")
			if _, err := tx.Commit(); err != nil {
				t.Fatal(err)
			}
			if _, err := table.DropBefore(t.Context(), begin.UnixNano()); err != nil {
				t.Fatal(err)
			}
			if rows := store.Stats().Rows; rows != 2 {
				t.Fatalf("%d rows, want the one of the right time and the one ahead", rows)
			}
			if back {
				clock.Heal()
			}
			for passed := 10 * time.Minute; passed <= settleTime; passed += 10 * time.Minute {
				clock.Move(passed)
				at := begin.Add(passed)
				if !back {
					at = at.Add(faultclock.Year)
				}
				insert(t, table, oneRow(at.UnixNano()))
			}
			want := int64(6 + 1) // of an hour, and the one ahead, which counts as one that is ten minutes ahead
			if !back {
				want = int64(settleTime/(10*time.Minute)) + 1 // the first is a day old
			}
			if rows := store.Stats().Rows; rows != want {
				t.Errorf("%d rows after a day, want %d", rows, want)
			}
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			store, table = reopen(t, opts)
			if rows := store.Stats().Rows; rows != want {
				t.Errorf("%d rows after a restart, want %d", rows, want)
			}
			clock.Move(settleTime + 10*time.Minute)
			at := begin.Add(settleTime + 10*time.Minute)
			if !back {
				at = at.Add(faultclock.Year)
			}
			insert(t, table, oneRow(at.UnixNano()))
			if !back {
				want = 7
			}
			if rows := store.Stats().Rows; rows != want {
				t.Errorf("%d rows after a day and a restart, want %d", rows, want)
			}
		})
	}
}

// TestClock_Settled: the clock of a store follows that of the system, but not for a day if it is set ahead by much.
func TestClock_Settled(t *testing.T) {
	now := time.Now()
	c := clock{now: func() time.Time { return now }}
	last := c.settled()
	for _, tt := range []struct {
		what               string
		passed, step, want time.Duration
	}{
		{"by itself", time.Hour, 0, time.Hour},
		{"set back", time.Second, -time.Hour, time.Second - time.Hour},
		{"set ahead by little", time.Second, mostStep, time.Second + mostStep},
		{"set ahead", time.Second, mostStep + time.Second, time.Second},
		{"and on", time.Hour, 0, time.Hour},
		{"and right again", time.Hour, -mostStep - time.Second, time.Hour},
		{"set ahead again", time.Second, faultclock.Year, time.Second},
		{"for a day", settleTime - time.Second, 0, settleTime - time.Second},
		{"which ends", time.Second, 0, faultclock.Year + time.Second},
		{"set ahead from there", time.Second, time.Hour, time.Second},
		{"and back by more", time.Second, -faultclock.Year - 2*time.Hour, time.Second - faultclock.Year - time.Hour},
	} {
		now = faultclock.Set(now.Add(tt.passed), tt.step)
		at := c.settled()
		if moved := at.Round(0).Sub(last.Round(0)); moved != tt.want {
			t.Errorf("%s: it moved by %s, want %s", tt.what, moved, tt.want)
		}
		last = at
	}
}
