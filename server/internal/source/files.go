package source

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/question"
)

// Bounds of the files that clients opened. A store that was used within busyTime is not closed for another.
const (
	FilesTime = 30 * time.Minute // without a question, after which a later request closes a store
	busyTime  = time.Minute
	fillWait  = 2 * time.Second
	mostFiles = 16 // stores
)

// FilesOptions configure Files.
type FilesOptions struct {
	Bytes    int64         // memory of all stores
	Time     time.Duration // to fill one
	Profiles profile.Options
	Reader   *question.Reader
	// Handler returns the handler of queries about a source.
	Handler func(of *Store, names []string) http.Handler
}

// Files keeps the profiles and histories of files that clients opened, each time in a store in memory of its own. It is safe
// for concurrent use.
type Files struct {
	opts   FilesOptions
	now    func() time.Time
	filler chan struct{} // has an element while a store is filled

	mu  sync.Mutex
	all []*OpenedFiles // the one that was used last is the last
}

// OpenedFiles are the files of one request.
type OpenedFiles struct {
	ID     string // as in the address
	tenant string
	bytes  int64
	keptStore
}

// NewFiles returns Files without any.
func NewFiles(opts FilesOptions) *Files {
	return &Files{opts: opts, now: opts.Reader.Now, filler: make(chan struct{}, 1)}
}

// Open makes a store, which fill fills and names the files of, and keeps it for a tenant. It waits for two seconds while
// another is filled.
// The stores that were not used for longest give way to it.
func (f *Files) Open(ctx context.Context, tenant string, fill func(context.Context, *profile.DB) (names []string, err error)) (*OpenedFiles, error) {
	late := time.NewTimer(fillWait)
	defer late.Stop()
	select {
	case f.filler <- struct{}{}:
		defer func() { <-f.filler }()
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-late.C:
		return nil, fault.TooMany("the files of one request at a time: those of another are read")
	}
	bytes, err := f.room()
	if err != nil {
		return nil, err
	}
	store, err := columnstore.Open(columnstore.Options{MemoryBudget: bytes, FutureLimit: -1, PastLimit: -1, Manual: true})
	if err != nil {
		return nil, err
	}
	isKept := false
	defer func() {
		if !isKept { // also after a panic
			_ = store.Close()
		}
	}()
	db, err := profile.Open(store, f.opts.Profiles)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, f.opts.Time)
	defer stop()
	names, err := fill(ctx, db)
	if err == nil {
		err = store.Compact(ctx)
	}
	stats := store.Stats()
	switch {
	case errors.Is(err, columnstore.ErrMemory), err == nil && (stats.EvictedRows > 0 || stats.EvictedStates > 0):
		return nil, fault.TooCostly("the memory of opened files, at most %d bytes now: open fewer, or smaller ones, or use granary view", bytes)
	case err != nil:
		return nil, err
	}
	of := NewStore(db, f.opts.Reader)
	o := &OpenedFiles{ID: rand.Text(), tenant: tenant, bytes: stats.Bytes(), keptStore: keptStore{store: store, source: of, handler: f.opts.Handler(of, names), used: f.now()}}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all, isKept = append(f.all, o), true
	return o, nil
}

// room returns the memory for another store. It closes the stores that were not used for longest, until half of the memory is free.
func (f *Files) room() (int64, error) {
	for {
		f.mu.Lock()
		left := f.opts.Bytes
		for _, o := range f.all {
			left -= o.bytes
		}
		if len(f.all) < mostFiles && left >= f.opts.Bytes/2 || len(f.all) == 0 {
			f.mu.Unlock()
			return left, nil
		}
		o := f.all[0]
		if o.isNeeded(busyTime, f.now) {
			f.mu.Unlock()
			return 0, fault.TooMany("the files that others look at take %d of %d bytes: open these in a minute, or with granary view", f.opts.Bytes-left, f.opts.Bytes)
		}
		f.all, o.left = f.all[1:], true
		f.mu.Unlock()
		if err := o.close(); err != nil {
			return 0, err
		}
	}
}

// Take returns the files with an id, if they are a tenant's, and counts a use. Otherwise it returns nil.
func (f *Files) Take(tenant, id string) *OpenedFiles {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := slices.IndexFunc(f.all, func(o *OpenedFiles) bool { return o.ID == id && o.tenant == tenant })
	if i < 0 {
		return nil
	}
	o := f.all[i]
	f.all = append(slices.Delete(f.all, i, i+1), o)
	o.uses++
	o.used = f.now()
	return o
}

// Leave ends a use.
func (f *Files) Leave(o *OpenedFiles) error { return o.leave(&f.mu, f.now) }

// Forget drops the files that no query has used for `age`. With age 0 it drops all; queries in progress continue.
func (f *Files) Forget(age time.Duration) (err error) {
	f.mu.Lock()
	var over []*OpenedFiles
	f.all = slices.DeleteFunc(f.all, func(o *OpenedFiles) bool {
		if o.isNeeded(age, f.now) {
			return false
		}
		if o.left = true; o.uses == 0 {
			over = append(over, o)
		}
		return true
	})
	f.mu.Unlock()
	for _, o := range over {
		err = errors.Join(err, o.close())
	}
	return err
}

// Holds returns the number of stores, and the bytes of their memory.
func (f *Files) Holds() (stores int, bytes int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, o := range f.all {
		bytes += o.bytes
	}
	return len(f.all), bytes
}
