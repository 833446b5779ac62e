package source

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/question"
)

// Store is the source for one store: its profiles and its histories. The caller owns the store.
type Store struct {
	db       *profile.DB
	read     *question.Reader
	held     held                     // snapshots for later queries
	newest   atomic.Pointer[newestAt] // result of the last query
	pyramids pyramids                 // summaries for later queries
	run      string                   // distinguishes this Store from others
}

// NewStore returns the source for a database of profiles. read parses its queries.
func NewStore(db *profile.DB, read *question.Reader) *Store {
	return &Store{db: db, read: read, held: held{now: read.Now}, pyramids: pyramids{now: read.Now}, run: rand.Text()}
}

// View implements Source.
func (s *Store) View(ctx context.Context, f func(View) error) error {
	return s.At(ctx, func(v *At) error { return f(v) })
}

// At is View for a query that requires one store.
func (s *Store) At(ctx context.Context, f func(*At) error) error {
	view := func(snap *columnstore.Snapshot) error { return f(s.at(snap, 0)) }
	err := s.db.Store().View(ctx, view)
	if errors.Is(err, columnstore.ErrSnapshotExpired) {
		err = s.db.Store().View(ctx, view)
	}
	return err
}

// Instant parses a time as question.Reader.Bound does, for a parameter with a name. An empty text is the zero time.
func (s *Store) Instant(ctx context.Context, name, text string) (at time.Time, err error) {
	err = s.At(ctx, func(v *At) error {
		nanos, err := s.read.Bound(name, text, func() (int64, error) { return v.Newest(ctx) })
		if nanos != 0 {
			at = time.Unix(0, nanos).UTC()
		}
		return err
	})
	return at, err
}

// Store implements Source.
func (s *Store) Store(Need) (*Store, error) { return s, nil }

// DB returns the database of the profiles.
func (s *Store) DB() *profile.DB { return s.db }

// Ready implements Source.
func (s *Store) Ready(context.Context) error {
	stats := s.db.Store().Stats()
	if err := stats.FlushError; err != nil {
		return fmt.Errorf("files cannot be written: %w", err)
	}
	if err := stats.Log.Refusal; err != nil {
		return fmt.Errorf("pushes are refused: %w", err)
	}
	return nil
}

// Tidy implements Source.
func (s *Store) Tidy() {
	s.held.keep(HeldSnapshots)
	s.pyramids.forget()
}

// Holds returns the numbers of snapshots and of history summaries that are held for later queries.
func (s *Store) Holds() (snapshots, summaries int) {
	s.held.mu.Lock()
	defer s.held.mu.Unlock()
	s.pyramids.mu.Lock()
	defer s.pyramids.mu.Unlock()
	return len(s.held.all), len(s.pyramids.all)
}

// Close implements Source.
func (s *Store) Close() { s.Forget() }

// Forget drops what is held for later queries, which then get an error, because rows that are in it were deleted.
func (s *Store) Forget() { s.held.keep(0) }
