package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// The values of --format of merge.
const (
	formatPprof      = "pprof"
	formatFolded     = "folded"
	formatSpeedscope = "speedscope"
)

// mergeFormat returns the format of a merge: that of the flag, or of the suffix of the output.
func mergeFormat(format, output string) string {
	name := strings.ToLower(filepath.Base(output))
	switch {
	case format != "":
		return format
	case strings.HasSuffix(name, ".folded"), strings.HasSuffix(name, ".collapsed"):
		return formatFolded
	case strings.HasSuffix(name, ".speedscope.json"), strings.HasSuffix(name, ".speedscope"):
		return formatSpeedscope
	default:
		return formatPprof
	}
}

// checkMergeOutput returns a usage error for an output without --format whose name has the suffix
// of a form that merge does not write. It would be a pprof profile that no program expects.
func checkMergeOutput(format, output string) error {
	ending := strings.ToLower(filepath.Ext(output))
	if mergeFormat(format, output) == formatPprof && format == "" && slices.Contains([]string{".json", ".svg", ".txt", ".csv", ".html", ".parquet", ".arrows"}, ending) {
		return cli.Usage(fmt.Errorf("-o %s: merge writes pprof, folded stacks or files of speedscope: use the suffix .pb.gz, .folded or .speedscope.json, or add --format", output))
	}
	return nil
}

// writeFolded writes a line for each path of functions: their names from the root to the leaf,
// separated by semicolons, a space and the value. The lines are in the order of the paths.
func writeFolded(w io.Writer, stacks *profile.Stacks) error {
	sums := map[string]int64{}
	var path strings.Builder
	stacks.Each(func(frames []profile.Frame, value int64) {
		path.Reset()
		for i, f := range slices.Backward(frames) {
			path.WriteString(strings.ReplaceAll(cli.Printable(f.Function), ";", ":"))
			if i > 0 {
				path.WriteByte(';')
			}
		}
		sums[path.String()] += value
	})
	out := bufio.NewWriter(w)
	for _, line := range slices.Sorted(maps.Keys(sums)) {
		if value := sums[line]; value != 0 {
			if _, err := out.WriteString(line + " " + strconv.FormatInt(value, 10) + "\n"); err != nil {
				return err
			}
		}
	}
	return out.Flush()
}

// speedscopeFile is a file of speedscope.
type speedscopeFile struct {
	Schema string `json:"$schema"`
	Shared struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
	Active   int                 `json:"activeProfileIndex"` // the profile to show first
	Exporter string              `json:"exporter"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
}

// speedscopeProfile is the profile of one sample type. A sample is a list of numbers of frames,
// the root first.
type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

// speedscopeUnits are the units that speedscope knows.
var speedscopeUnits = []string{"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}

// writeSpeedscope writes a file for speedscope with a profile of each of the stacks, and which of
// them to show first. It leaves out negative values, which speedscope has no place for.
func writeSpeedscope(w io.Writer, all []*merged, active int) error {
	file := speedscopeFile{Active: active, Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "granary", Profiles: []speedscopeProfile{}}
	file.Shared.Frames = []speedscopeFrame{}
	index := map[speedscopeFrame]int{}
	for _, stacks := range all {
		p := speedscopeProfile{Type: "sampled", Name: typeName(stacks.Type), Unit: "none", Samples: [][]int{}, Weights: []int64{}}
		if slices.Contains(speedscopeUnits, stacks.Type.SampleUnit) {
			p.Unit = stacks.Type.SampleUnit
		}
		stacks.Each(func(frames []profile.Frame, value int64) {
			if value < 0 {
				return
			}
			sample := make([]int, 0, len(frames))
			for _, f := range slices.Backward(frames) {
				frame := speedscopeFrame{f.Function, f.File}
				i, ok := index[frame]
				if !ok {
					i = len(file.Shared.Frames)
					index[frame] = i
					file.Shared.Frames = append(file.Shared.Frames, frame)
				}
				sample = append(sample, i)
			}
			p.Samples, p.Weights = append(p.Samples, sample), append(p.Weights, value)
			p.End += value
		})
		file.Profiles = append(file.Profiles, p)
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return errors.Join(encoder.Encode(file), out.Flush())
}

// mergeTypes merges the profiles of a query for the named sample type, or for each type that has
// samples if name is empty. It returns the index of the default type among them.
func mergeTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (all []*merged, shown int, err error) {
	if name != "" {
		stacks, err := mergeType(ctx, db, snap, q, name)
		return []*merged{stacks}, 0, err
	}
	types, err := db.Types(ctx, snap)
	if err != nil || len(types) == 0 {
		return nil, 0, err
	}
	first, err := db.DefaultType(ctx, snap, q)
	if err != nil {
		return nil, 0, err
	}
	for _, t := range types {
		stacks, err := merge(ctx, db, snap, q, t)
		if err != nil {
			return nil, 0, err
		}
		if stacks.Len() == 0 {
			continue
		}
		if t == first {
			shown = len(all)
		}
		all = append(all, stacks)
	}
	return all, shown, nil
}
