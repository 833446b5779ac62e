package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

func newMerge() *cobra.Command {
	var s selection
	var output string
	cmd := &cobra.Command{
		Use:   "merge -o FILE [flags] INPUT...",
		Short: "Merge profiles into one",
		Long: `merge sums profiles by stack and labels and writes one pprof profile, gzipped,
with all of their sample types: what go tool pprof -proto does. go tool pprof,
speedscope, go build -pgo and granary itself read it.

Profiles of different kinds (CPU and heap) cannot be one profile: choose with
--sample-index or --selector.

` + inputsHelp,
		Example: `  granary merge -o week.pb.gz monday.pb.gz tuesday.pb.gz
  granary merge -o default.pgo --sample-index cpu profiles/
  granary merge -o day.pb.gz --from -1d profiles/   # the last day that is there
  granary merge -o - heaps/ | go tool pprof -top /dev/stdin`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return errNoOutput
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				var only []profile.Type
				if s.sampleIndex != "" {
					t, err := db.FindType(ctx, snap, s.sampleIndex)
					if err != nil {
						return err
					}
					only = append(only, t)
				}
				p, err := db.Profile(ctx, snap, q, only...)
				if errors.Is(err, profile.ErrMixed) {
					err = fmt.Errorf("%w (--sample-index, --selector)", err)
				}
				if err != nil {
					return err
				}
				return writeTo(output, cmd.OutOrStdout(), p.Write)
			})
		},
	}
	s.flags(cmd, "all")
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - is standard output")
	return cmd
}

func newFlamegraph() *cobra.Command {
	var s selection
	var output, title string
	var maxNodes int
	cmd := &cobra.Command{
		Use:   "flamegraph -o FILE [flags] INPUT...",
		Short: "Draw a flame graph",
		Long: `flamegraph merges the profiles and draws them as one SVG file that any browser
opens: callers above callees, as wide as their share of the total, coloured by
package. Click to zoom, / to search, Esc to go back.

` + inputsHelp,
		Example: `  granary flamegraph -o cpu.svg cpu.pb.gz
  granary flamegraph -o heap.svg --sample-index inuse_space heaps/
  granary flamegraph -o json.svg --search 'json[.]' --from -1h profiles/`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if output == "" {
				return errNoOutput
			}
			if maxNodes < 0 {
				return usageError{fmt.Errorf("--max-nodes %d: want 0 (all) or more", maxNodes)}
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				stacks, err := mergeType(ctx, db, snap, q, s.sampleIndex)
				if err != nil {
					return err
				}
				return writeTo(output, cmd.OutOrStdout(), func(w io.Writer) error { return drawFlameGraph(w, stacks, title, maxNodes) })
			})
		},
	}
	s.flags(cmd, firstShown)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - is standard output")
	cmd.Flags().StringVar(&title, "title", "", "`TEXT` above the picture (default: the sample type)")
	cmd.Flags().IntVar(&maxNodes, "max-nodes", 0, "draw the `N` frames with the greatest values, and what is left as \"other\"; 0 draws all")
	return cmd
}

func drawFlameGraph(w io.Writer, stacks *profile.Stacks, title string, maxNodes int) error {
	if title == "" {
		title = "Flame graph: " + stacks.Type.Sample
	}
	return profile.WriteSVG(w, stacks.FlameGraph(profile.FlameGraphOptions{MaxNodes: maxNodes}), profile.SVGOptions{
		Title: title, SampleType: stacks.Type.Sample, Unit: stacks.Type.SampleUnit,
	})
}

// writeTo writes a file, or standard output for "-". A file that is there
// already is replaced only by a whole new one, where a link leads to.
func writeTo(name string, stdout io.Writer, write func(io.Writer) error) error {
	if name == "-" {
		return write(stdout)
	}
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		f, err := os.OpenFile(name, os.O_WRONLY, 0) // a device or a pipe: there is nothing to replace
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target
	}
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(modeOf(name)), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// modeOf returns the permissions of a file, those of a new one if it is not there.
func modeOf(name string) fs.FileMode {
	if info, err := os.Stat(name); err == nil {
		return info.Mode().Perm()
	}
	return 0o644
}
