package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/summary"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Held implements Source. The last 8 snapshots are held for 30 seconds. A commit whose snapshot is gone is an
// error.
func (s *Store) Held(_ context.Context, commit *uint64, f func(View) error) error {
	named := commit != nil
	if commit == nil {
		commit = new(uint64)
	}
	return s.held.use(s.db.Store(), named, *commit, func(h *heldSnapshot) error { return f(s.at(h.Snapshot, h.serial)) })
}

func (s *Store) at(snap *columnstore.Snapshot, serial uint64) *At {
	return &At{store: s, DB: s.db, Snap: snap, serial: serial}
}

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
func (v *At) FindType(ctx context.Context, query profile.Query, name string) (Typed, error) {
	t, err := v.DB.FindTypeIn(ctx, v.Snap, query, name)
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

// Sources implements View.
func (v *At) Sources(ctx context.Context, query profile.Query) ([]profile.Source, error) {
	query.Exact = true
	return v.DB.Series(ctx, v.Snap, query)
}

// Scales implements View.
func (v *At) Scales() error { return nil }

// Store implements View.
func (v *At) Store(Need) (*At, error) { return v, nil }

// Stacks implements View.
func (v *At) Stacks(ctx context.Context, _ Typed, sides []Side, f func(*Profiles) error) (err error) {
	queries := make([]profile.Query, len(sides))
	for i := range sides {
		if queries[i], err = v.OfProfile(ctx, sides[i].Query, sides[i].Message.GetProfileIdSelector()); err != nil {
			return err
		}
	}
	return f(v.Profiles(queries...))
}

// Profile implements View.
func (v *At) Profile(ctx context.Context, t Typed, side *Side, f func(*Profiles) error) error {
	return v.Stacks(ctx, t, []Side{*side}, f)
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
	newest, has, err := v.edge(ctx, columnstore.Max, func(ago int64) columnstore.Expr {
		return columnstore.AtLeast(profile.ColumnTimestamp, max(last, math.MinInt64+ago)-ago)
	})
	if has {
		v.store.newest.Store(&newestAt{uint64(v.Snap.Commit()), last, newest})
	}
	return newest, err
}

// edge returns the first or the last time of a profile, and whether there is one. It reads the rows of the possible second
// first, then those of further times.
func (v *At) edge(ctx context.Context, op columnstore.AggregateOp, within func(ago int64) columnstore.Expr) (at int64, has bool, err error) {
	opts := columnstore.AggregateOptions{
		Aggregates: []columnstore.Aggregate{{Op: op, Column: profile.ColumnTimestamp}}, NoCounts: true, MaxBytes: v.store.read.QueryBytes,
	}
	for _, ago := range []time.Duration{time.Second, time.Minute, time.Hour, 24 * time.Hour, 0} {
		if opts.Where = (columnstore.Expr{}); ago > 0 {
			opts.Where = within(int64(ago))
		}
		groups, err := v.DB.Table().Aggregate(ctx, v.Snap, opts)
		if err != nil {
			return 0, false, err
		}
		if found := &groups.Aggregates[0].Values; len(found.Int64s) > 0 && !found.Null(0) {
			return found.Int64s[0], true, nil
		}
	}
	return 0, false, nil
}

// newestAt is the time of the newest profile of a commit. Times of rows are at most `last`.
type newestAt struct {
	commit     uint64
	last, time int64
}

// The number of snapshots that are held for later queries of a page, and the time.
const (
	HeldSnapshots = 8
	HeldTime      = 30 * time.Second
)

// held keeps the snapshots of the last answers, so that all panels of a page can show one commit. It drops
// expired snapshots only during later requests; until then the store can take their memory back. It is safe
// for concurrent use.
type held struct {
	now func() time.Time

	mu     sync.Mutex
	all    []*heldSnapshot // the oldest first
	serial uint64          // serial of the last snapshot
}

// heldSnapshot is closed once it is neither held nor in use.
type heldSnapshot struct {
	*columnstore.Snapshot
	serial uint64
	taken  time.Time
	uses   int
	left   bool // it is no longer held
}

// use calls f with the snapshot of a commit, or with the newest one if named is false. If the newest one
// expires while in use, use calls f once more, like Store.View.
func (h *held) use(store *columnstore.Store, named bool, commit uint64, f func(*heldSnapshot) error) error {
	for again := false; ; again = true {
		snap, err := h.take(store, named, commit)
		if err != nil {
			return err
		}
		err = f(snap)
		isExpired := errors.Is(err, columnstore.ErrSnapshotExpired)
		h.leave(snap, isExpired)
		switch {
		case isExpired && named:
			return gone(commit)
		case !isExpired || again:
			return err
		}
	}
}

// take returns a snapshot, and counts a use of it.
func (h *held) take(store *columnstore.Store, named bool, commit uint64) (*heldSnapshot, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh, err := store.Snapshot() // under mu, so that Store.Forget leaves no older one
	if err != nil {
		return nil, err
	}
	h.forget(HeldSnapshots)
	if !named {
		commit = uint64(fresh.Commit())
	}
	for _, s := range h.all {
		if uint64(s.Commit()) == commit {
			fresh.Close()
			s.uses++
			return s, nil
		}
	}
	if named {
		fresh.Close()
		return nil, gone(commit)
	}
	h.serial++
	s := &heldSnapshot{Snapshot: fresh, serial: h.serial, taken: h.now(), uses: 1}
	h.forget(HeldSnapshots - 1)
	h.all = append(h.all, s)
	return s, nil
}

func gone(commit uint64) error {
	return fault.Gone("commit %d is held no more: ask again without commit", commit)
}

// leave ends a use. It no longer holds an expired snapshot.
func (h *held) leave(s *heldSnapshot, isExpired bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if isExpired && !s.left {
		h.all = slices.DeleteFunc(h.all, func(other *heldSnapshot) bool { return other == s })
		s.left = true
	}
	if s.uses--; s.left && s.uses == 0 {
		s.Close()
	}
}

// forget drops expired snapshots, and the oldest until at most `most` are held. The caller holds mu.
func (h *held) forget(most int) {
	for len(h.all) > most || len(h.all) > 0 && isOver(h.now(), h.all[0].taken, HeldTime) {
		s := h.all[0]
		h.all = h.all[1:]
		if s.left = true; s.uses == 0 {
			s.Close()
		}
	}
}

// keep drops expired snapshots, and all but the newest `most`.
func (h *held) keep(most int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.forget(most)
}

// pyramids keeps the summaries of recently used histories, so that a page's next query pays only for new
// states. It is safe for concurrent use.
type pyramids struct {
	now func() time.Time

	mu  sync.Mutex
	all map[*columnstore.History]*keptPyramid
}

type keptPyramid struct {
	*summary.Pyramid
	commit uint64
	used   time.Time
}

// take returns a pyramid for the view of a history in a commit. It returns a pyramid without nodes if the
// commit is older than the kept pyramid, or if another query is making one.
func (p *pyramids) take(h *columnstore.History, commit uint64, v *history.View) (*summary.Pyramid, error) {
	if !p.mu.TryLock() {
		return summary.Bare(v), nil
	}
	defer p.mu.Unlock()
	kept := p.all[h]
	switch {
	case kept == nil:
		kept = &keptPyramid{Pyramid: summary.Bare(v)}
	case kept.View() == v:
		kept.used = p.now()
		return kept.Pyramid, nil
	case commit <= kept.commit:
		return summary.Bare(v), nil
	}
	next, err := kept.Extend(v)
	if err != nil {
		return nil, err
	}
	if p.all == nil {
		p.all = map[*columnstore.History]*keptPyramid{}
	}
	p.all[h] = &keptPyramid{Pyramid: next, commit: commit, used: p.now()}
	return next, nil
}

// forget drops the pyramids that have not been used for the time that snapshots are held, because each keeps
// its view in memory.
func (p *pyramids) forget() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	for h, kept := range p.all {
		if isOver(p.now(), kept.used, HeldTime) {
			delete(p.all, h)
		}
	}
}
