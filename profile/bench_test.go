package profile

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/granarydb/granary/columnstore"
)

// benchFiles runs f as a benchmark of each profile: the project's own, and real ones if they
// exist.
func benchFiles(b *testing.B, f func(b *testing.B, zipped, plain []byte)) {
	for _, file := range []struct{ name, path string }{
		{"etcd_heap", "../testdata/profiles/etcd/heap-1.pb.gz"},
		{"alloc_objects", "../../shared/data/pprof/alloc_objects.pb.gz"},
		{"labels", "../../shared/data/pprof/labels.pb.gz"},
	} {
		b.Run("file="+file.name, func(b *testing.B) {
			zipped, err := os.ReadFile(filepath.FromSlash(file.path))
			if err != nil {
				b.Skipf("%s is not part of the project: %v", file.path, err)
			}
			plain := unzipped(b, zipped)
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			f(b, zipped, plain)
		})
	}
}

// BenchmarkInsertEncoded measures the path from the bytes of a file to committed rows. MB/s
// refers to the decompressed profile. The store is replaced from time to time, since it would
// only grow.
func BenchmarkInsertEncoded(b *testing.B) {
	benchFiles(b, func(b *testing.B, zipped, _ []byte) {
		const profilesOfStore = 64
		pods := make([]string, profilesOfStore)
		for i := range pods {
			pods[i] = fmt.Sprint("pod-", i)
		}
		var db *DB
		rows := 0
		for i := 0; b.Loop(); i++ {
			if i%profilesOfStore == 0 {
				b.StopTimer()
				if db != nil {
					db.store.Close()
				}
				db = openBenchDB(b)
				b.StartTimer()
			}
			// Each insert has another pod, since the file has one time.
			n, err := db.InsertEncoded(ctx, zipped, InsertOptions{Labels: map[string]string{"job": "bench", "pod": pods[i%profilesOfStore]}})
			if err != nil {
				b.Fatal(err)
			}
			rows += n
		}
		b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
		db.store.Close()
	})
}

func openBenchDB(b *testing.B) *DB {
	b.Helper()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		b.Fatal(err)
	}
	db, err := Open(store, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return db
}

// BenchmarkBatch measures the part of an insert that is done in this package: all but the
// store.
func BenchmarkBatch(b *testing.B) {
	limits := Limits{}.WithDefaults()
	benchFiles(b, func(b *testing.B, zipped, _ []byte) {
		var w workspace
		codes := newDictionary()
		for b.Loop() {
			if err := w.read(zipped, limits); err != nil {
				b.Fatal(err)
			}
			if _, err := w.batcher.Batch(&w.flat, w.flat.Time, nil, false, codes); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDecode compares the decoder, including its checks, with that of google/pprof.
func BenchmarkDecode(b *testing.B) {
	limits := Limits{}.WithDefaults()
	for name, decodePlain := range map[string]func(w *workspace, plain []byte) error{
		"flat": func(w *workspace, plain []byte) error { return decode(string(plain), limits, &w.flat) },
		"pprof": func(_ *workspace, plain []byte) error {
			p, err := pprof.ParseUncompressed(plain)
			if err != nil {
				return err
			}
			return p.CheckValid()
		},
	} {
		b.Run("decoder="+name, func(b *testing.B) {
			benchFiles(b, func(b *testing.B, _, plain []byte) {
				var w workspace
				for b.Loop() {
					if err := decodePlain(&w, plain); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

// BenchmarkMerge_ManyBuckets asks for the first of 3,000 time ranges. Names with an underscore can stand for others, which must not
// be looked for in all of them.
func BenchmarkMerge_ManyBuckets(b *testing.B) {
	db := openDB(b, Options{Bucket: 5 * time.Minute})
	defer db.store.Close()
	labels := map[string]string{"service_name": "shop", NameLabel: "process_cpu"}
	for i := range 30 {
		labels[fmt.Sprint("label", i)] = "x"
	}
	for i := range 3000 {
		p := makeProfile(start+int64(i)*int64(5*time.Minute), "cpu:nanoseconds", stack{frames: oracleStacks[0], values: []int64{1}})
		if _, err := db.Insert(ctx, p, InsertOptions{Labels: labels}); err != nil {
			b.Fatal(err)
		}
	}
	snap, err := db.store.Snapshot()
	if err != nil {
		b.Fatal(err)
	}
	defer snap.Close()
	for name, text := range map[string]string{"plain": `{label1="x"}`, "underscore": `{service_name="shop"}`} {
		s, err := ParseSelector(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("name="+name, func(b *testing.B) {
			for b.Loop() {
				q := Query{Selector: s, From: start, To: start + int64(time.Minute)}
				if stacks, err := db.Merge(ctx, snap, Type{"cpu", "nanoseconds", "cpu", "nanoseconds"}, q); err != nil || stacks.Total != 1 {
					b.Fatal(stacks, err)
				}
			}
		})
	}
}
