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
			if err := spareProfiles(output, args); err != nil {
				return err
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				var only []profile.Type
				if s.sampleIndex != "" {
					t, err := findType(ctx, db, snap, q, s.sampleIndex)
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
				if err := writeTo(output, cmd.OutOrStdout(), p.Write); err != nil || len(p.Sample) > 0 {
					return err
				}
				return noteNoSamples(ctx, cmd, db, snap, q)
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
			if err := errors.Join(spareProfiles(output, args), isSVG(output)); err != nil {
				return err
			}
			return withInputs(cmd, s, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
				stacks, err := mergeType(ctx, db, snap, q, s.sampleIndex)
				if err != nil {
					return err
				}
				draw := func(w io.Writer) error { return drawFlameGraph(w, stacks, title, maxNodes) }
				if err := writeTo(output, cmd.OutOrStdout(), draw); err != nil || stacks.Len() > 0 {
					return err
				}
				return noteNoSamples(ctx, cmd, db, snap, q)
			})
		},
	}
	s.flags(cmd, firstShown)
	cmd.Flags().StringVarP(&output, "output", "o", "", "`FILE` to write; - is standard output")
	cmd.Flags().StringVar(&title, "title", "", "`TEXT` above the picture (default: the sample type)")
	cmd.Flags().Var(&wholeNumber{flag: "max-nodes", n: &maxNodes, set: new(bool)}, "max-nodes", "draw the `N` frames with the greatest values, and what is left as \"other\"; 0 draws all")
	return cmd
}

func drawFlameGraph(w io.Writer, stacks *profile.Stacks, title string, maxNodes int) error {
	if title == "" {
		title = "Flame graph: " + typeName(stacks.Type)
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
	target := name
	if leads, err := filepath.EvalSymlinks(name); err == nil {
		target = leads
	}
	f, err := os.CreateTemp(filepath.Dir(target), filepath.Base(target)+".*")
	if err != nil {
		return naming(name, err)
	}
	err = errors.Join(write(namedWriter{f, name}), naming(name, f.Chmod(modeOf(target))), naming(name, f.Close()))
	if err == nil {
		err = naming(name, os.Rename(f.Name(), target))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// namedWriter writes a file, whose errors have the name that a person knows it by.
type namedWriter struct {
	w    io.Writer
	name string
}

func (n namedWriter) Write(data []byte) (int, error) {
	written, err := n.w.Write(data)
	return written, naming(n.name, err)
}

// naming is what went wrong with a temporary file, said of the one that it is for.
func naming(name string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: path.Err}
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return &fs.PathError{Op: "write", Path: name, Err: link.Err}
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
