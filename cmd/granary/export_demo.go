package main

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/replay"
	"github.com/granarydb/granary/columnstore"
)

// demoSpan is the default span that the demo replays. maxDemoSpan is the greatest span: a day has about 250
// million rows.
const (
	demoSpan    = time.Duration(demoSteps) * scrapeEvery
	maxDemoSpan = 24 * time.Hour
)

// newDemoSpan returns the value of a flag for the span that the demo replays.
func newDemoSpan(flag string, span *time.Duration) pflag.Value {
	return cli.NewDuration(flag, scrapeEvery, maxDemoSpan, span)
}

// withDemo calls f with a snapshot of the demo's fleet and the query of the flags.
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
	l, err := open(columnstore.Options{}, inputSource{})
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }()
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "replaying")
	_, err = fleet.replay(ctx, l.db, demoWriters, bar.Show)
	bar.End()
	if err != nil {
		return err
	}
	return l.store.View(ctx, func(snap *columnstore.Snapshot) error { return s.answer(ctx, l.db, snap, asked, f) })
}

// saveFleet writes the profiles that the demo replays to files in a directory.
func saveFleet(cmd *cobra.Command, dir string, steps int) error {
	f, err := newFleet(time.Now(), steps)
	if err != nil {
		return err
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "writing profiles")
	defer bar.End()
	var data []byte
	for step := range steps {
		for i := range f.pods {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			for kind := range f.pods[i].kinds {
				data = f.appendProfile(data[:0], scrape{step, &f.pods[i]}, kind)
				name := filepath.Join(replay.Folder(dir, f.pods[i].kinds[kind].labels), fmt.Sprintf("%05d.pb.gz", step))
				if err := replay.Save(name, data); err != nil {
					return err
				}
			}
		}
		bar.Show(int64(step+1), int64(steps))
	}
	return nil
}
