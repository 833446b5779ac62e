package faultclock

import (
	"math"
	"slices"
	"sync"
	"time"
	"unsafe"
)

// Fault makes a clock wrong, from one of its readings on.
type Fault struct {
	Name     string
	Readings int           // that are wrong; 0 means all until Heal
	Shift    time.Duration // of the wall clock, in whole seconds
	Stands   bool          // the clock shows its last right reading, instead of a Shift
}

// Year is the longest shift of Faults.
const Year = 365 * 24 * time.Hour

// Faults are those of a suite: each reading of a workload gets each of them.
var Faults = []Fault{
	{"an hour back", 1, -time.Hour, false},
	{"a year back", 1, -Year, false},
	{"an hour ahead", 1, time.Hour, false},
	{"a year ahead", 1, Year, false},
	{"it stands", 0, 0, true},
	{"set an hour back", 0, -time.Hour, false},
	{"set a year back", 0, -Year, false},
	{"set an hour ahead, and right again", 100, time.Hour, false},
	{"set a year ahead, and right again", 100, Year, false},
}

// IsSet reports whether the clock is set: its readings stay right in their monotonic part.
func (f *Fault) IsSet() bool { return f.Readings != 1 && !f.Stands }

// Clock is a clock with a fault. It is safe for concurrent use.
type Clock struct {
	fault Fault
	first int

	mu    sync.Mutex
	begin time.Time
	right time.Time // the last right reading, whether or not it was shown
	last  time.Time // the last reading
	n     int
	seen  []time.Time
}

// New returns a clock that shows a whole second, and has a fault from the first-th reading on; from none if first is 0.
func New(begin time.Time, fault Fault, first int) *Clock {
	now := time.Now()
	now = now.Add(-time.Duration(now.Nanosecond()))
	at := Set(now, time.Duration(begin.Unix()-now.Unix())*time.Second)
	if first == 0 {
		first = math.MaxInt
	}
	return &Clock{fault: fault, first: first, begin: at, right: at, last: at}
}

// Now returns a reading. It is for Options.Now.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	c.right = c.right.Add(time.Microsecond)
	at := c.right
	if c.n >= c.first && (c.fault.Readings == 0 || c.n-c.first < c.fault.Readings) {
		switch {
		case c.fault.Stands:
			at = c.last
		case c.fault.IsSet():
			at = Set(at, c.fault.Shift)
		default:
			at = at.Round(0).Add(c.fault.Shift)
		}
	}
	c.last = at
	c.seen = append(c.seen, at)
	return at
}

// Move moves the right time on to a time after the beginning, and forgets the readings that Seen returns.
func (c *Clock) Move(after time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.right, c.seen = c.begin.Add(after), nil
}

// Seen returns the readings since the last Move.
func (c *Clock) Seen() []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.seen)
}

// Heal ends the fault.
func (c *Clock) Heal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.first = math.MaxInt
}

// Readings returns the number of readings so far.
func (c *Clock) Readings() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// Set returns a time whose wall clock is moved by whole seconds, and whose monotonic part is not. Package time has no such
// function: only a system whose clock is set makes such times. t must have a monotonic part, as time.Now has.
func Set(t time.Time, by time.Duration) time.Time {
	const secondsAt = 30 // the bits below are the nanoseconds
	inner := (*struct {
		wall uint64
		ext  int64
		loc  *time.Location
	})(unsafe.Pointer(&t)) //nolint:gosec // the layout is that of time.Time, which TestSet checks
	inner.wall += uint64(by/time.Second) << secondsAt
	return t
}
