package disk_test

import (
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/granarydb/granary/internal/disk"
)

// countedFS counts the syncs of files.
type countedFS struct {
	disk.FS
	syncs atomic.Int64
}

type countedFile struct {
	disk.File
	fs *countedFS
}

func (c *countedFS) Create(name string) (disk.File, error) {
	f, err := c.FS.Create(name)
	return countedFile{f, c}, err
}

func (f countedFile) Sync() error {
	f.fs.syncs.Add(1)
	return f.File.Sync()
}

// newBenchLog opens a log in a directory of the system.
func newBenchLog(b *testing.B, o disk.Options) (*countedFS, *disk.Log) {
	fs := &countedFS{FS: disk.System(b.TempDir())}
	_, l := open(b, fs, 0, o)
	return fs, l
}

// removeOld keeps the disk from filling.
func removeOld(b *testing.B, l *disk.Log) {
	if s := l.Segments(); len(s) > 2 {
		if err := l.RemoveBelow(s[len(s)-1].Number); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAppend appends without waiting for syncs. A body of 1,900 bytes is a part of 511 rows.
func BenchmarkAppend(b *testing.B) {
	for _, policy := range []disk.SyncPolicy{disk.SyncPeriodically, disk.SyncNever} {
		for _, size := range []int{100, 1900, 64 << 10} {
			b.Run(fmt.Sprintf("sync=%v/body=%d", policy, size), func(b *testing.B) {
				fs, l := newBenchLog(b, disk.Options{Sync: policy})
				e := entry(1, size)
				start, ctx := fs.syncs.Load(), b.Context()
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for n := 0; b.Loop(); n++ {
					e.Commit++
					if err := appendEntry(ctx, l, e); err != nil {
						b.Fatal(err)
					}
					if n%1000 == 0 {
						removeOld(b, l)
					}
				}
				b.ReportMetric(float64(fs.syncs.Load()-start)/float64(b.N), "syncs/op")
				closeLog(b, l)
			})
		}
	}
}

// BenchmarkSyncEach has writers that each wait until their entry is durable.
func BenchmarkSyncEach(b *testing.B) {
	for _, writers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			fs, l := newBenchLog(b, disk.Options{Sync: disk.SyncEach})
			var left atomic.Int64
			e := entry(1, 1900)
			start := fs.syncs.Load()
			b.SetBytes(1900)
			b.ResetTimer()
			left.Store(int64(b.N))
			var all sync.WaitGroup
			for range writers {
				all.Go(func() {
					for left.Add(-1) >= 0 {
						if err := appendEntry(b.Context(), l, e); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			b.ReportMetric(float64(fs.syncs.Load()-start)/float64(b.N), "syncs/op")
			closeLog(b, l)
		})
	}
}

// BenchmarkRead reads a log of 32 MiB from the page cache.
func BenchmarkRead(b *testing.B) {
	for _, size := range []int{100, 1900, 64 << 10} {
		b.Run(fmt.Sprintf("body=%d", size), func(b *testing.B) {
			fs, l := newBenchLog(b, disk.Options{Sync: disk.SyncNever})
			const bytes = 32 << 20
			for n := range bytes / size {
				add(b, l, entry(uint64(n+1), size))
			}
			closeLog(b, l)
			b.SetBytes(bytes)
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				r, err := disk.ReadLog(fs, store, 0)
				if err != nil {
					b.Fatal(err)
				}
				for n = 0; err == nil; n++ {
					_, err = r.Next()
				}
				if !errors.Is(err, io.EOF) {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/entry")
		})
	}
}
