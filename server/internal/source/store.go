package source

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
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

func (s *Store) at(snap *columnstore.Snapshot, serial uint64) *At {
	return &At{store: s, DB: s.db, Snap: snap, serial: serial}
}

// Held implements Source. The last 8 snapshots are held for 30 seconds. A commit whose snapshot is gone is an
// error.
func (s *Store) Held(_ context.Context, commit *uint64, f func(View) error) error {
	named := commit != nil
	if commit == nil {
		commit = new(uint64)
	}
	return s.held.use(s.db.Store(), named, *commit, func(h *heldSnapshot) error { return f(s.at(h.Snapshot, h.serial)) })
}

// Store implements Source.
func (s *Store) Store(Need) (*Store, error) { return s, nil }

// DB returns the database of the profiles.
func (s *Store) DB() *profile.DB { return s.db }

// Ready implements Source.
func (s *Store) Ready(context.Context) error {
	if err := s.db.Store().Stats().FlushError; err != nil {
		return fmt.Errorf("files cannot be written: %w", err)
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
func (s *Store) Close() { s.held.keep(0) }

// At is the view of a Store: a snapshot.
type At struct {
	DB   *profile.DB
	Snap *columnstore.Snapshot

	store  *Store
	serial uint64 // serial of a held snapshot
}

// Commit implements View.
func (v *At) Commit() uint64 { return uint64(v.Snap.Commit()) }

// Tag implements View. It includes the run and the snapshot's serial, because snapshots of one commit can differ after
// an eviction, and commit numbers repeat after a restart. It is weak, because the granules read can differ.
func (v *At) Tag(path string, parameters url.Values) string {
	texts := []string{v.store.run, strconv.FormatUint(v.serial, 10), path, parameters.Encode()}
	h := sha256.Sum256(fmt.Appendf(nil, "%q", texts))
	return `W/"` + hex.EncodeToString(h[:16]) + `"`
}

// FindType implements View.
func (v *At) FindType(ctx context.Context, name string) (Typed, error) {
	t, err := v.DB.FindType(ctx, v.Snap, name)
	return Typed{Type: t}, err
}

// DefaultType implements View.
func (v *At) DefaultType(ctx context.Context, query profile.Query, parameter string) (Typed, error) {
	t, err := v.DB.DefaultType(ctx, v.Snap, query)
	if err != nil {
		err = fault.In("parameter "+parameter, err)
	}
	return Typed{Type: t}, err
}

// Scales implements View.
func (v *At) Scales() error { return nil }

// Store implements View.
func (v *At) Store(Need) (*At, error) { return v, nil }

// Stacks implements View.
func (v *At) Stacks(_ context.Context, _ Typed, sides []Side, f func(*Profiles) error) error {
	queries := make([]profile.Query, len(sides))
	for i := range sides {
		queries[i] = sides[i].Query
	}
	return f(v.Profiles(queries...))
}

// Profiles returns the profiles that queries choose.
func (v *At) Profiles(queries ...profile.Query) *Profiles {
	return &Profiles{DB: v.DB, Snap: v.Snap, Queries: queries}
}

// Pyramid returns the summary for a view of a history. It keeps the summary for later queries.
func (v *At) Pyramid(h *columnstore.History, of *history.View) (*summary.Pyramid, error) {
	return v.store.pyramids.take(h, v.Commit(), of)
}

// Newest implements View. It reads few rows, because it reads the last possible second first and then goes
// back. It keeps the last result, because each panel of a page asks about the same commit.
func (v *At) Newest(ctx context.Context) (int64, error) {
	opts := columnstore.AggregateOptions{
		Aggregates: []columnstore.Aggregate{{Op: columnstore.Max, Column: profile.ColumnTimestamp}}, NoCounts: true, MaxBytes: v.store.read.QueryBytes,
	}
	units, _, err := v.DB.Table().Units(v.Snap)
	if err != nil || len(units) == 0 {
		return 0, err
	}
	last := int64(math.MinInt64)
	for _, u := range units {
		last = max(last, u.Last)
	}
	if known := v.store.newest.Load(); known != nil && known.commit == uint64(v.Snap.Commit()) && known.last == last {
		return known.time, nil
	}
	for _, ago := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 0} {
		if opts.Where = (columnstore.Expr{}); ago > 0 {
			opts.Where = columnstore.AtLeast(profile.ColumnTimestamp, max(last, math.MinInt64+int64(ago))-int64(ago))
		}
		groups, err := v.DB.Table().Aggregate(ctx, v.Snap, opts)
		if err != nil {
			return 0, err
		}
		if newest := &groups.Aggregates[0].Values; len(newest.Int64s) > 0 && !newest.Null(0) {
			v.store.newest.Store(&newestAt{uint64(v.Snap.Commit()), last, newest.Int64s[0]})
			return newest.Int64s[0], nil
		}
	}
	return 0, nil
}

// newestAt is the time of the newest profile of a commit. Times of rows are at most `last`.
type newestAt struct {
	commit     uint64
	last, time int64
}
