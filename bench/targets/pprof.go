package targets

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/granarydb/granary/bench/measure"
	"github.com/granarydb/granary/bench/replay"
	"github.com/granarydb/granary/bench/results"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/testdata"
)

// pprofPods is the number of pods for which a file is inserted. A file has one time, so each insert is for
// another pod.
const pprofPods = 64

// pprofFile is a gzipped profile.
type pprofFile struct {
	name  string
	data  []byte
	plain int // bytes as raw pprof
}

// pprofFiles returns the files for insert-pprof: a heap profile of the project, and a large and a labelled
// profile that were recorded elsewhere, if they are there.
func pprofFiles() ([]pprofFile, error) {
	const own = "etcd/heap-1.pb.gz"
	data, err := testdata.Profiles.ReadFile("profiles/" + own)
	if err != nil {
		return nil, err
	}
	files := []pprofFile{{name: own, data: data}}
	for _, name := range []string{"alloc_objects.pb.gz", "labels.pb.gz"} {
		data, err := os.ReadFile(filepath.Join(replay.SharedData("pprof"), name))
		if err != nil {
			progress("insert-pprof leaves out %s: %v", name, err)
			continue
		}
		files = append(files, pprofFile{name: name, data: data})
	}
	for i := range files {
		r, err := gzip.NewReader(bytes.NewReader(files[i].data))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].name, err)
		}
		plain, err := io.ReadAll(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", files[i].name, err)
		}
		files[i].plain = len(plain)
	}
	return files, nil
}

// insertPprof measures inserts of gzipped pprof. A round's sample is the slowest file.
func insertPprof(o Options, c *collector) error {
	files, err := pprofFiles()
	if err != nil {
		return err
	}
	rates := map[string][]float64{}
	for range o.Repeat {
		slowest := 0.0
		for i, f := range files {
			rate, err := f.rate()
			if err != nil {
				return fmt.Errorf("%s: %w", f.name, err)
			}
			rates[f.name] = append(rates[f.name], rate)
			if i == 0 || rate < slowest {
				slowest = rate
			}
		}
		c.add("insert-pprof", 0, slowest)
	}
	c.details["insert-pprof"] = map[string]float64{}
	for name, all := range rates {
		c.details["insert-pprof"][name] = results.Median(all)
	}
	return nil
}

// noTime is the time in a file that has none.
var noTime = time.Unix(0, 0)

// rate inserts a file for all pods into a new store and returns MB of raw pprof per second of CPU time.
func (f pprofFile) rate() (float64, error) {
	ctx := context.Background()
	store, err := columnstore.Open(columnstore.Options{FutureLimit: -1})
	if err != nil {
		return 0, err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return 0, err
	}
	start := measure.CPU()
	for pod := range pprofPods {
		opts := profile.InsertOptions{Labels: map[string]string{"job": "bench", "pod": fmt.Sprint("pod-", pod)}, Time: noTime}
		rows, err := db.InsertEncoded(ctx, f.data, opts)
		if err != nil {
			return 0, err
		}
		if rows == 0 {
			return 0, errEmpty
		}
	}
	if err := store.Maintain(ctx); err != nil {
		return 0, err
	}
	time.Sleep(settleTime)
	return pprofPods * float64(f.plain) / 1e6 / (measure.CPU() - start).Seconds(), nil
}
