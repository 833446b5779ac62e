package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/internal/formats"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/render"
)

// flameOptions holds the flags of flamegraph.
type flameOptions struct {
	selection
	output, format, title string
	tree                  formats.Tree
	width                 int
	isInverted            bool
	callers, callees      string
}

func newFlamegraph() *cobra.Command {
	var o flameOptions
	cmd := &cobra.Command{
		Use:   "flamegraph -o FILE [flags] INPUT...",
		Short: "Draw a flame graph",
		Long: `flamegraph merges the profiles and draws them as one SVG file that any browser
opens. Callers are above callees, the width of a frame is its share of the
total, and the colour is that of the package. Click a frame to zoom, press / to
search and Esc to go back. With --invert callees are above callers: the first
row has the functions by their own cost. --callers and --callees draw what is
above or below a function. A stack in which it recurs counts once, as its
outermost call.

If FILE ends in .json, or with --format json, the output is the tree as the
server's GET /api/v1/flame answers with it: a column for each attribute of its
nodes, which are in preorder. docs/serving.md describes it.

` + choiceHelp + `

` + gaugesHelp + `

` + kindsHelp + `

` + stateHelp + `

` + askedHelp,
		Example: `  granary flamegraph -o cpu.svg cpu.pb.gz
  granary flamegraph -o heap.svg --sample-index inuse_space heaps/
  granary flamegraph -o gc.svg --callers runtime.mallocgc cpu.pb.gz
  granary flamegraph -o - --format json cpu.pb.gz | jq .tree.all
  granary flamegraph -o wait.svg --of Goroutines/17 --state waiting trace.out
  granary flamegraph -o json.svg --search 'json[.]' --from latest-1h profiles/`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.output == "" {
				return cli.ErrNoOutput
			}
			if err := cmp.Or(spareProfiles(o.output, args), checkTreeOutput(o.format, o.output), o.direct()); err != nil {
				return err
			}
			return withType(cmd, o.selection, args, func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) error {
				return o.write(ctx, cmd, db, snap, q, t)
			})
		},
	}
	o.flags(cmd, firstShown)
	o.answerFlags(cmd)
	o.stateFlags(cmd)
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`FILE` to write; - is standard output")
	treeFormatFlag(cmd, &o.format)
	widthFlag(cmd, &o.width)
	cmd.Flags().BoolVar(&o.isInverted, "invert", false, "draw callees above callers")
	cmd.Flags().StringVar(&o.callers, "callers", "", "draw the callers of the `FUNCTION` of this name, above each other")
	cmd.Flags().StringVar(&o.callees, "callees", "", "draw the callees of the `FUNCTION` of this name")
	cmd.Flags().StringVar(&o.title, "title", "", "`TEXT` above the picture (default: the sample type)")
	cmd.Flags().Var(cli.NewWholeNumber("max-nodes", 0, &o.tree.MaxNodes), "max-nodes", "draw the `N` frames with the greatest values and the rest as \"other\"; 0 draws all")
	return cmd
}

// direct sets the tree's direction.
func (o *flameOptions) direct() error {
	chosen := 0
	for direction, function := range map[tree.Direction]string{tree.Callers: o.callers, tree.Callees: o.callees} {
		if function != "" {
			o.tree.Direction, o.tree.Function = direction, function
			chosen++
		}
	}
	if o.isInverted {
		o.tree.Direction = tree.FromLeaf
		chosen++
	}
	if chosen > 1 {
		return cli.Usage(errors.New("--invert, --callers and --callees: choose one"))
	}
	return nil
}

// write writes the flame graph of a query.
func (o *flameOptions) write(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query, t profile.Type) error {
	stacks, err := o.merge(ctx, db, snap, q, t)
	if err != nil {
		return err
	}
	o.tree.IsMean = stacks.Type.IsGauge() && !q.SumGauges
	if o.title == "" {
		if o.title = flameTitle(stacks); o.asksStates() {
			o.title += ", while " + o.states.state
		}
	}
	write := func(w io.Writer) error {
		if isTreeJSON(o.format, o.output) {
			return formats.WriteTree(ctx, w, o.tree, stacks.Stacks)
		}
		nodes, err := o.tree.Nodes(ctx, stacks.Stacks)
		if err != nil {
			return err
		}
		return drawFlameGraph(w, stacks.Type, nodes.FlameGraph(0), o.title, o.width)
	}
	if err := cli.WriteOutput(cmd, o.output, write); err != nil {
		return err
	}
	if stacks.Len() == 0 {
		return o.noteEmpty(ctx, cmd, db, snap, q, false, stacks.Type)
	}
	noteMeans(cmd, stacks.Type, stacks.means)
	return nil
}

// Formats of a tree.
const (
	formatSVG  = "svg"
	formatJSON = "json"
)

// treeFormatFlag adds the flag for a tree's format.
func treeFormatFlag(cmd *cobra.Command, format *string) {
	cmd.Flags().Var(cli.NewChoice("format", []string{formatSVG, formatJSON}, format), "format", "the `FORMAT`, svg or json, of standard output or a FILE without such a suffix (default: from the suffix)")
}

// isTreeJSON reports whether a tree is written as JSON.
func isTreeJSON(format, output string) bool {
	return format == formatJSON || format == "" && strings.EqualFold(filepath.Ext(output), ".json")
}

// checkTreeOutput returns a usage error if a file's name has the suffix of another format.
func checkTreeOutput(format, output string) error {
	if isTreeJSON(format, output) {
		return nil
	}
	return cli.CheckSVG(output)
}

// widthFlag adds the flag for a flame graph's width.
func widthFlag(cmd *cobra.Command, width *int) {
	cmd.Flags().Var(cli.NewPixels(width), "width", "the width of the flame graph in `PIXELS`, 600 to 20000 (default: that of the window)")
}

// flameTitle returns the default title of a flame graph.
func flameTitle(m *merged) string {
	title := "Flame graph: " + typeName(m.Type)
	if m.over > 0 {
		title += fmt.Sprintf(", mean over %d times", m.over)
	}
	return title
}

func drawFlameGraph(w io.Writer, t profile.Type, root *profile.FlameNode, title string, width int) error {
	return render.FlameGraph(w, root, render.FlameOptions{Title: title, SampleType: t.Sample, Unit: t.SampleUnit, Width: width})
}
