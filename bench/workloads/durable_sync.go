package workloads

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/granarydb/granary/bench/fleet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/schema"
)

// countedFS counts files' syncs.
type countedFS struct {
	disk.FS
	syncs atomic.Int64
}

// countedFile is a file in a countedFS.
type countedFile struct {
	disk.File
	fs *countedFS
}

// Create implements disk.FS.
func (c *countedFS) Create(name string) (disk.File, error) {
	f, err := c.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return countedFile{f, c}, nil
}

// Sync implements disk.File.
func (f countedFile) Sync() error {
	f.fs.syncs.Add(1)
	return f.File.Sync()
}

// SyncedCommits has commits that each waited for the disk.
type SyncedCommits struct {
	Commits, Syncs int64
	Wall           time.Duration
}

// CommitSynced starts writers that each commit `commits` profiles by codes under disk.SyncEach, in a
// temporary directory.
func CommitSynced(v fleet.Variant, writers, commits int) (c SyncedCommits, err error) {
	dir, err := os.MkdirTemp("", "granary-bench")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	fs := &countedFS{FS: disk.System(dir)}
	store, err := columnstore.Open(columnstore.Options{FS: fs, Sync: disk.SyncEach, FutureLimit: -1})
	if err != nil {
		return c, err
	}
	batches, codes, err := someCodes(v, store, writers*commits)
	if err != nil {
		return c, errors.Join(err, store.Close())
	}
	if _, err := codes.Insert(context.Background(), batches[0]); err != nil { // logs the dictionaries
		return c, errors.Join(err, store.Close())
	}
	before, begun := fs.syncs.Load(), time.Now()
	var all sync.WaitGroup
	failed := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for _, b := range batches[w*commits : (w+1)*commits] {
				if _, err := codes.Insert(context.Background(), b); err != nil {
					failed[w] = err
					return
				}
			}
		})
	}
	all.Wait()
	c = SyncedCommits{Commits: int64(writers * commits), Syncs: fs.syncs.Load() - before, Wall: time.Since(begun)}
	return c, errors.Join(errors.Join(failed...), store.Close())
}

// someCodes creates the table of profiles and returns `profiles` profiles of a fleet as its codes.
func someCodes(v fleet.Variant, store *columnstore.Store, profiles int) (batches []schema.Batch, codes *columnstore.Codes, err error) {
	table, err := store.CreateTable("profiles", profile.Schema(profile.DefaultBucket))
	if err != nil {
		return nil, nil, err
	}
	if codes, err = table.Codes(fleet.Start.UnixNano()); err != nil {
		return nil, nil, err
	}
	f, coder := fleet.NewVariant(fleet.Seed, v), fleet.NewCoder(codes)
	for n := range profiles {
		b, err := coder.Code(f.Profile(n, fleet.Start))
		if err != nil {
			return nil, nil, err
		}
		batches = append(batches, b)
	}
	return batches, codes, nil
}
