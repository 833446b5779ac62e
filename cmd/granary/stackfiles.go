package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
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

// mergeFormat returns a merge's format from the flag or the output's suffix.
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

// checkMergeOutput returns a usage error for an output without --format if its suffix belongs to a format
// that merge does not write, because programs that open it would not expect a pprof profile.
func checkMergeOutput(format, output string) error {
	ending := strings.ToLower(filepath.Ext(output))
	if mergeFormat(format, output) == formatPprof && format == "" && slices.Contains([]string{".json", ".svg", ".txt", ".csv", ".html", ".parquet", ".arrows"}, ending) {
		return cli.Usage(fmt.Errorf("-o %s: merge writes pprof, folded stacks or files of speedscope: use the suffix .pb.gz, .folded or .speedscope.json, or add --format", output))
	}
	return nil
}

// mergeTypes merges a query's profiles for the named sample type, or for each type with samples if name
// is empty. It returns the default type's index.
func mergeTypes(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, name string) (all []*merged, shown int, err error) {
	if name != "" {
		t, err := findType(ctx, db, snap, q, name)
		if err != nil {
			return nil, 0, err
		}
		stacks, err := merge(ctx, db, snap, q, t)
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
