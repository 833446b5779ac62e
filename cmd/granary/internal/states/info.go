package states

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/timetext"
)

func newInfo() *cobra.Command {
	var show cli.Limit
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info [flags] FILE",
		Short: "Show the size and the attributes of a history",
		Long: `info shows the duration of a history, the number of its attributes, the number
of its intervals of each kind, its size, and the top of its tree. Each name of a
path is an attribute: CPUs/0 and CPUs/1 are three, and CPUs has one interval, of
null. The size is that in memory, with the intervals, all indexes and the names
of attributes.

Of a history file the size is that of the file. info shows its blocks, its
writer, and the bytes at its end that a writer that was stopped, or is at work,
did not sync. It reads all blocks to count the intervals, a few at a time; of a
file that keeps a part (import --partial) it reads all rows of the CSV.

` + askedHelp,
		Example: `  granary history info run
  granary history info --json run | jq .bytes_per_interval
  granary history info synth:1000:100`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := openHistory(cmd, args[0])
			if err != nil {
				return err
			}
			defer l.close()
			if err := l.count(cmd.Context()); err != nil {
				return err
			}
			found := infoOf(l)
			return cli.PrintAnswer(cmd.OutOrStdout(), asJSON, found, func(p *cli.Printer) { found.print(p, show.Of(false)) })
		},
	}
	dbFlag(cmd)
	show.Flags(cmd, "", 20, "show the first `N` attributes at the top of the tree")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// recordingInfo is the answer of history info, and its JSON form.
type recordingInfo struct {
	Start      string     `json:"start"`
	End        string     `json:"end"`
	Duration   uint64     `json:"duration_ns"`
	Attributes int        `json:"attributes"`
	Intervals  int        `json:"intervals"`
	Kinds      kindCounts `json:"kinds"`
	// Bytes is the size in memory, or the size of the file.
	Bytes            int64     `json:"bytes"`
	BytesPerInterval float64   `json:"bytes_per_interval"`
	File             *fileInfo `json:"file,omitempty"`
	Part             *partInfo `json:"part,omitempty"`
	Members          []string  `json:"members,omitempty"` // for several histories as one
	Tree             []topInfo `json:"tree"`
}

// fileInfo describes a history file.
type fileInfo struct {
	Provider   string `json:"provider"`
	Blocks     int    `json:"blocks"`
	BlockBytes int64  `json:"block_bytes"`
	// RawBytes is the size of the blocks in memory.
	RawBytes int64 `json:"raw_bytes"`
	// Lost is the number of bytes after the last complete Sync.
	Lost   int64 `json:"lost_bytes"`
	Closed bool  `json:"closed"`
}

// partInfo describes a partial history.
type partInfo struct {
	Of          string `json:"of"` // the CSV with the rest
	Checkpoints int    `json:"checkpoints"`
	Kept        int    `json:"kept_intervals"`
}

// kindCounts is the number of intervals for each kind of value.
type kindCounts struct {
	Null   int `json:"null"`
	Int    int `json:"int"`
	Float  int `json:"float"`
	String int `json:"string"`
	// Bool and Bytes are 0 in recordings, because only programs store such values.
	Bool  int `json:"bool,omitempty"`
	Bytes int `json:"bytes,omitempty"`
}

// topInfo is an attribute at the top of the tree, with the totals of its subtree.
type topInfo struct {
	Attribute string `json:"attribute"`
	Children  int    `json:"children"`
	// Attributes and Intervals count the attribute itself and all below it.
	Attributes int `json:"attributes"`
	Intervals  int `json:"intervals"`
}

// infoOf returns the answer of history info for a recording.
func infoOf(l *recording) recordingInfo {
	out := recordingInfo{
		Start: cli.TimeJSON(l.Start()), End: cli.TimeJSON(l.End()), Duration: uint64(l.End()) - uint64(l.Start()) + 1,
		Attributes: l.Len(), Intervals: l.counts.Intervals, Bytes: l.counts.Bytes, Tree: []topInfo{},
		Kinds: kindCounts{
			l.counts.Kinds[history.KindNull], l.counts.Kinds[history.KindInt], l.counts.Kinds[history.KindFloat], l.counts.Kinds[history.KindString],
			l.counts.Kinds[history.KindBool], l.counts.Kinds[history.KindBytes],
		},
	}
	if l.file != nil {
		f := fileInfo{Provider: l.provider, Lost: l.file.Lost, Closed: l.file.View.Closed()}
		f.Blocks, f.BlockBytes, f.RawBytes = l.file.Blocks()
		out.File, out.Bytes = &f, l.size
	}
	if l.part != nil {
		out.Part = &partInfo{l.partOf, len(l.part.Checkpoints()), l.part.Intervals()}
	}
	if l.members != nil {
		out.Members, out.Bytes = l.memberNames, l.size
	}
	if out.Intervals > 0 {
		out.BytesPerInterval = float64(out.Bytes) / float64(out.Intervals)
	}
	for a := range l.Children(history.Top) {
		name, _ := l.Name(a) // ok, because a exists
		t := topInfo{Attribute: history.PathText([]string{name}), Attributes: 1, Intervals: l.counts.Counts[a]}
		for range l.Children(a) {
			t.Children++
		}
		for b := range l.Descendants(a) {
			t.Attributes++
			t.Intervals += l.counts.Counts[b]
		}
		out.Tree = append(out.Tree, t)
	}
	return out
}

func (f *fileInfo) print(p *cli.Printer) {
	p.Printf("Blocks: %s of %s, which are %s in memory\n", cli.Number(f.Blocks), cli.Size(f.BlockBytes), cli.Size(f.RawBytes))
	p.Printf("Made:   by %s", cli.Printable(f.Provider))
	if !f.Closed {
		p.Printf(", which had not closed the history")
	}
	p.Printf("\n")
	if f.Lost > 0 {
		p.Printf("Lost:   %s behind the last Sync: its writer was stopped or is at work, or the file was cut\n", cli.Size(f.Lost))
	}
	p.Printf("\n")
}

// manyIntervals is the least number of intervals for which the fixed memory of a history, about 10 KB, is
// negligible in the bytes per interval.
const manyIntervals = 10_000

func (i *recordingInfo) print(p *cli.Printer, limit int) {
	p.Printf("Time:   %s to %s (%s)\n", i.Start, i.End, timetext.Text(i.Duration))
	p.Printf("Has:    %s, %s\n", cli.Many(i.Attributes, "attribute"), cli.Many(i.Intervals, "interval"))
	p.Printf("Kinds:  %s int, %s float, %s string, %s null", cli.Number(i.Kinds.Int), cli.Number(i.Kinds.Float), cli.Number(i.Kinds.String), cli.Number(i.Kinds.Null))
	if k := i.Kinds; k.Bool+k.Bytes > 0 {
		p.Printf(", %s bool, %s bytes", cli.Number(k.Bool), cli.Number(k.Bytes))
	}
	p.Printf("\n")
	each := ""
	if i.Intervals >= manyIntervals {
		each = fmt.Sprintf(", %.2f bytes an interval", i.BytesPerInterval)
	}
	switch {
	case i.Members != nil:
		p.Printf("Files:  %s%s, of %s\n\n", cli.Size(i.Bytes), each, cli.Printable(strings.Join(i.Members, ", ")))
	case i.File == nil:
		p.Printf("Memory: %s%s, names included\n\n", cli.Size(i.Bytes), each)
	default:
		p.Printf("File:   %s%s, names included\n", cli.Size(i.Bytes), each)
		if i.Part != nil {
			p.Printf("Part:   %s at %s; the rest is in %s\n", cli.Many(i.Part.Kept, "interval"), cli.Many(i.Part.Checkpoints, "checkpoint"), cli.Printable(i.Part.Of))
		}
		i.File.print(p)
	}
	p.Printf("%12s %12s %12s  %s\n", "children", "attributes", "intervals", "attribute")
	shown := cli.First(i.Tree, limit)
	for _, t := range shown {
		p.Printf("%12s %12s %12s  %s\n", cli.Number(t.Children), cli.Number(t.Attributes), cli.Number(t.Intervals), cli.Printable(t.Attribute))
	}
	p.NotShown(len(i.Tree)-len(shown), "attribute")
}
