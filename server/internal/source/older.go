package source

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// OlderTime is how long older profiles are kept after the last query about them. The next request then drops
// them.
const OlderTime = 10 * time.Minute

// LeastOlder is the least memory of a store.
const LeastOlder = 1 << 20

// ReadOlder reads older profiles into a database in memory, as Options.Older of package server.
type ReadOlder func(ctx context.Context, db *profile.DB, from, to int64, progress func(read, of int64)) error

// OlderOptions configure an Older.
type OlderOptions struct {
	Read     ReadOlder
	Bytes    int64 // memory of the profiles, at least LeastOlder
	Profiles profile.Options
	Reader   *question.Reader
	// Handler returns the handler of queries about a source.
	Handler func(*Store) http.Handler
}

// Older keeps the profiles that were read last, as a separate source. It is safe for concurrent use.
type Older struct {
	opts OlderOptions
	now  func() time.Time

	mu      sync.Mutex
	kept    *OlderProfiles // nil if there are none
	reading *Reading       // in progress, or nil
}

// Span is a range of times in Unix nanoseconds, from `from` inclusive to `to` exclusive.
type Span struct{ from, to int64 }

// OlderProfiles are the profiles of a span.
type OlderProfiles struct {
	*Reading // the reading that made them
	keptStore
}

// Reading is the progress of a call of ReadOlder.
type Reading struct {
	Span
	read, of atomic.Int64  // rows
	ended    chan struct{} // closed at the end
	err      error         // error, set at the end
	isLeft   bool          // it failed because its client was gone
}

// ParseSpan returns the span in a path: two times of RFC 3339 separated by two hyphens, as in ISO 8601.
func ParseSpan(text string) (of Span, err error) {
	first, last, _ := strings.Cut(text, "--")
	if of.from, err = spanTime(first); err == nil {
		of.to, err = spanTime(last)
	}
	if err == nil && of.from >= of.to {
		err = fault.Invalid("range %s: its start is not before its end", fault.Quoted(text))
	}
	return of, err
}

func spanTime(text string) (int64, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || at.Year() < 1700 || at.Year() > 2261 { // the range of 64-bit nanoseconds
		return 0, fault.Invalid("range: %s is no time of RFC 3339: want FROM--TO, such as 2026-11-20T08:00:00Z--2026-11-20T09:00:00Z", fault.Quoted(text))
	}
	return at.UnixNano(), nil
}

// Take returns the profiles of a span and counts a use, or returns nil if they are not kept.
func (o *Older) Take(of Span) *OlderProfiles {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.kept == nil || o.kept.Span != of {
		return nil
	}
	o.kept.uses++
	return o.kept
}

// Leave ends a use.
func (o *Older) Leave(p *OlderProfiles) error { return p.leave(&o.mu, o.now) }

// Begin returns the reading of a span: the finished reading of the kept profiles, the reading in progress, or a new
// reading (isMine), whose profiles replace the kept profiles. A reading of another span in progress is an error.
func (o *Older) Begin(of Span) (reading *Reading, isMine bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.reading != nil && o.reading.Span == of:
		return o.reading, false, nil
	case o.reading != nil:
		return nil, false, fault.TooMany("one range of older profiles at a time: that of another is read now, %d rows so far", o.reading.read.Load())
	case o.kept != nil && o.kept.Span == of:
		return o.kept.Reading, false, nil
	}
	o.reading = &Reading{Span: of, ended: make(chan struct{})}
	return o.reading, true, nil
}

// end ends a reading, and keeps its profiles if there is no error.
func (o *Older) end(reading *Reading, p *OlderProfiles, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reading, reading.err = nil, err
	if p != nil {
		o.kept, p.used = p, o.now()
	}
	close(reading.ended)
}

// Forget drops the profiles if no query has used them for `age`. With age 0 it drops them at once; queries in
// progress continue.
func (o *Older) Forget(age time.Duration) error {
	o.mu.Lock()
	p := o.kept
	if p == nil || p.isNeeded(age, o.now) {
		o.mu.Unlock()
		return nil
	}
	o.kept, p.left = nil, true
	isOver := p.uses == 0
	o.mu.Unlock()
	if !isOver {
		return nil
	}
	return p.close()
}

// NewOlder returns an Older without profiles.
func NewOlder(opts OlderOptions) *Older { return &Older{opts: opts, now: opts.Reader.Now} }

// errOlderPanic is the error for waiting requests if the reading panics.
var errOlderPanic = errors.New("older profiles: internal error")

// Fill reads the profiles of a reading that the caller owns (isMine of Begin). It calls progress repeatedly.
// The caller first drops the kept profiles, because the memory limit has no room for both.
func (o *Older) Fill(ctx context.Context, reading *Reading, progress func()) (err error) {
	var p *OlderProfiles
	err = errOlderPanic
	defer func() {
		reading.isLeft = err != nil && ctx.Err() != nil
		o.end(reading, p, err)
	}()
	p, err = o.read(ctx, reading, progress)
	return err
}

// read reads the profiles of a reading. It maintains their store itself: nothing changes the store after the
// reading, therefore it evicts no profiles later.
func (o *Older) read(ctx context.Context, reading *Reading, progress func()) (_ *OlderProfiles, err error) {
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: o.opts.Bytes, FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		return nil, err
	}
	isMade := false
	defer func() {
		if !isMade { // also after a panic of ReadOlder
			_ = store.Close()
		}
	}()
	db, err := profile.Open(store, o.opts.Profiles)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	full := fault.TooCostly("the memory of older profiles, at most %d bytes: choose a shorter time", o.opts.Bytes)
	isFull := func() bool { return store.Stats().EvictedRows > 0 }
	err = o.opts.Read(ctx, db, reading.from, reading.to, func(read, of int64) {
		reading.read.Store(read)
		reading.of.Store(of)
		_ = store.Maintain(ctx) // its only error is ctx's, which ReadOlder returns
		if isFull() {
			stop(full)
		}
		progress()
	})
	if err == nil {
		err = store.Compact(ctx)
	}
	switch {
	case isFull() || errors.Is(err, columnstore.ErrMemory): // the first rows were evicted, or nothing could be evicted
		return nil, full
	case err != nil:
		return nil, fmt.Errorf("older profiles: %w", err)
	}
	isMade = true
	source := NewStore(db, o.opts.Reader)
	return &OlderProfiles{reading, keptStore{store: store, source: source, handler: o.opts.Handler(source)}}, nil
}

// Holds reports whether profiles are kept, and whether a reading is in progress.
func (o *Older) Holds() (isKept, isReading bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept != nil, o.reading != nil
}

// Rows returns the number of rows read, and an upper bound of all rows; 0 while it is unknown.
func (r *Reading) Rows() (read, of int64) { return r.read.Load(), r.of.Load() }

// Ended returns a channel that is closed at the end of the reading.
func (r *Reading) Ended() <-chan struct{} { return r.ended }

// Outcome returns the error of a reading that has ended. isLeft is true if it failed because its client was
// gone.
func (r *Reading) Outcome() (isLeft bool, err error) { return r.isLeft, r.err }
