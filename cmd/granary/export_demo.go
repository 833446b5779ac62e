package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// demoSpan is the time that the demo replays, and maxDemoSpan the most: a day is about
// 250 million rows.
const (
	demoSpan    = time.Duration(demoSteps) * scrapeEvery
	maxDemoSpan = 24 * time.Hour
)

// withDemo calls f with a snapshot of the demo's fleet and the query that the flags ask
// for.
func withDemo(cmd *cobra.Command, s selection, span time.Duration, f answer) error {
	ctx := cmd.Context()
	asked, err := s.read()
	if err != nil {
		return err
	}
	fleet, err := newFleet(time.Now(), int(span/scrapeEvery))
	if err != nil {
		return err
	}
	store, err := columnstore.Open(columnstore.Options{})
	if err != nil {
		return err
	}
	defer store.Close()
	db, err := profile.Open(store, profile.Options{})
	if err != nil {
		return err
	}
	bar := newLateProgress(cmd.ErrOrStderr(), "replaying")
	_, err = fleet.replay(ctx, db, demoWriters, bar.show)
	bar.end()
	if err != nil {
		return err
	}
	return store.View(ctx, func(snap *columnstore.Snapshot) error {
		q, err := asked.at(ctx, db, snap, &s)
		if err != nil {
			return err
		}
		return f(ctx, db, snap, q)
	})
}

// spanValue is the value of a flag that says how long a time the demo replays.
type spanValue struct {
	flag string
	span *time.Duration
}

// String, Set and Type make it a flag's value.
func (s spanValue) String() string {
	if s.span == nil || *s.span == 0 {
		return ""
	}
	return duration(*s.span)
}

// Set takes what was given.
func (s spanValue) Set(text string) error {
	d, ok := parseAgo(text)
	if !ok || d < scrapeEvery || d > maxDemoSpan {
		return usageError{fmt.Errorf("--%s %q: want a duration from %v to 24h, such as 1m or 1h", s.flag, text, scrapeEvery)}
	}
	*s.span = d
	return nil
}

// Type names the kind of value.
func (s spanValue) Type() string { return "duration" }

// saveFleet writes the profiles that the demo replays to a directory.
func saveFleet(cmd *cobra.Command, dir string, steps int) error {
	f, err := newFleet(time.Now(), steps)
	if err != nil {
		return err
	}
	bar := newLateProgress(cmd.ErrOrStderr(), "writing profiles")
	defer bar.end()
	var data []byte
	for step := range steps {
		for i := range f.pods {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			for kind := range f.pods[i].kinds {
				data = f.appendProfile(data[:0], scrape{step, &f.pods[i]}, kind)
				name := filepath.Join(labelFolder(dir, f.pods[i].kinds[kind].labels), fmt.Sprintf("%05d.pb.gz", step))
				if err := saveProfile(name, data); err != nil {
					return err
				}
			}
		}
		bar.show(int64(step+1), int64(steps))
	}
	return nil
}

// labelFolder returns the folder of profiles with these labels: a level for each label,
// as other tools lay out partitions.
func labelFolder(dir string, labels map[string]string) string {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		dir = filepath.Join(dir, name+"="+labels[name])
	}
	return dir
}

func saveProfile(name string, data []byte) error {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(data); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	return os.WriteFile(name, packed.Bytes(), 0o666)
}
