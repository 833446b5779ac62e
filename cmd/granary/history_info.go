package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/history/ihs"
)

func newHistoryInfo() *cobra.Command {
	var show limit
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "info [flags] FILE",
		Short: "Show what a history has",
		Long: `info loads a history and shows how long it is, how many attributes and intervals
it has, of which kinds, what it takes in memory, and the top of its tree. Memory
is that of the intervals with all indexes and the names of the attributes.

` + historyFileHelp,
		Example: `  granary history info run
  granary history info --json run | jq .bytes_per_interval
  granary history info synth:1000:100`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := openHistory(cmd, args[0])
			if err != nil {
				return err
			}
			found := l.info()
			if asJSON {
				return printJSON(cmd.OutOrStdout(), found)
			}
			return found.print(cmd.OutOrStdout(), show.of(false))
		},
	}
	show.flags(cmd, "", 20, "show the first `N` attributes of the top")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// oneFile is cobra's check that there is one argument.
func oneFile(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError{fmt.Errorf("name one file, not %d", len(args))}
	}
	return nil
}

// historyInfo is the answer of history info; JSON has it as it is.
type historyInfo struct {
	Start            string        `json:"start"`
	End              string        `json:"end"`
	Duration         uint64        `json:"duration_ns"`
	Attributes       int           `json:"attributes"`
	Intervals        int           `json:"intervals"`
	Kinds            kindCounts    `json:"kinds"`
	Bytes            int64         `json:"bytes"`
	BytesPerInterval float64       `json:"bytes_per_interval"`
	Tree             []historyTree `json:"tree"`
}

// kindCounts is how many intervals have values of each kind.
type kindCounts struct {
	Null   int `json:"null"`
	Int    int `json:"int"`
	Float  int `json:"float"`
	String int `json:"string"`
}

// historyTree is an attribute at the top, and what is below it.
type historyTree struct {
	Attribute string `json:"attribute"`
	Children  int    `json:"children"`
	// Attributes and Intervals are its own, and of all below it.
	Attributes int `json:"attributes"`
	Intervals  int `json:"intervals"`
}

func (l *loadedHistory) info() historyInfo {
	out := historyInfo{
		Start: timeJSON(l.Start()), End: timeJSON(l.End()), Duration: uint64(l.End()) - uint64(l.Start()) + 1,
		Attributes: l.Len(), Intervals: l.header.Intervals, Bytes: l.history.Size(), Tree: []historyTree{},
		Kinds: kindCounts{l.kinds[ihs.KindNull], l.kinds[ihs.KindInt] + l.kinds[ihs.KindLong], l.kinds[ihs.KindFloat], l.kinds[ihs.KindString]},
	}
	if out.Intervals > 0 {
		out.BytesPerInterval = float64(out.Bytes) / float64(out.Intervals)
	}
	for a := range l.Children(history.Root) {
		name, _ := l.Name(a) // it was just found
		t := historyTree{Attribute: pathText([]string{name}), Attributes: 1, Intervals: l.counts[a]}
		for range l.Children(a) {
			t.Children++
		}
		for b := range l.Descendants(a) {
			t.Attributes++
			t.Intervals += l.counts[b]
		}
		out.Tree = append(out.Tree, t)
	}
	return out
}

func (i *historyInfo) print(w io.Writer, limit int) error {
	p := printer{w: w}
	p.printf("Time:   %s to %s (%s)\n", i.Start, i.End, lasting(i.Duration))
	p.printf("Has:    %s, %s\n", many(i.Attributes, "attribute"), many(i.Intervals, "interval"))
	p.printf("Kinds:  %s int, %s float, %s string, %s null\n", number(i.Kinds.Int), number(i.Kinds.Float), number(i.Kinds.String), number(i.Kinds.Null))
	p.printf("Memory: %s, %.2f bytes an interval, names included\n\n", size(i.Bytes), i.BytesPerInterval)
	p.printf("%12s %12s %12s  %s\n", "children", "attributes", "intervals", "attribute")
	for k, t := range i.Tree {
		if limit > 0 && k == limit {
			p.printf("%s not shown (-n 0 shows all)\n", many(len(i.Tree)-limit, "more attribute"))
			break
		}
		p.printf("%12s %12s %12s  %s\n", number(t.Children), number(t.Attributes), number(t.Intervals), printable(t.Attribute))
	}
	return p.err
}
