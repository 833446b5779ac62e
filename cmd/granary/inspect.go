package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// inspectOptions is the flags of inspect.
type inspectOptions struct {
	compact, columns, asJSON bool
	limit                    limit
	granuleRows              int
}

func newInspect() *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect [flags] INPUT...",
		Short: "Show how the store keeps profiles: its index, parts and columns",
		Long: `inspect loads the profiles and shows the index of the table that they are in,
what is behind each of its entries, and what that takes in memory:

  granule   all rows from one bound of the sorting key up to the next: an entry
            of the index. One with more than --granule-rows is split in several
  bound     a sorting key, or as much of its front as tells two granules apart,
            with … where it was cut: the start of the time bucket, then types,
            labels, the number of the stack (#7), time and labels of samples
  part      sorted rows in columns. Once written it never changes
  fresh     a part as it was inserted: a profile, or what a granule has of it
  base      a part that a compaction or a split made of all that there was. The
            store does that by itself when fresh parts become many (16, and half
            as many rows as in the base); --compact does it for all
  begin     the number of the transaction that inserted the part, and the one it
  commit    got when its rows became visible: of several, the lowest and highest
  series    a combination of types and labels that all rows of a profile share
  time      that of the first row, and how far from it to the last

and with --columns, of each part, the columns that have a value:

  (series)  the number of each row's series, in place of the columns of its
            types and of the labels of profiles
  encoding  what the schema asks for
  layout    what was chosen because it is smaller:
              plain    8 bytes a row
              packed   as many bits a row as the values' range needs: 0 if all
                       are equal
              runs     equal neighbours once, with the row where they end
              blocks   packed, 128 values at a time
              rises, changes, bends
                       differences between neighbours, in blocks
              sliced   blocks, of which 64 values lie bit by bit
              sparse   a bit a row, and the values that are not 0
              lookup   times and durations of a profile once, and which of them
                       each row has

Strings, stacks and symbols are in dictionaries, which parts share. They count
in the first lines only.

` + inputsHelp,
		Example: `  granary inspect cpu.pb.gz
  granary inspect --compact --columns heaps/
  granary inspect --granule-rows 500 cpu.pb.gz      # see splits in a small file
  granary inspect --json heaps/ | jq '.tables[].granules[].parts[].columns[]
    | select(.layout=="runs") | .name' | sort | uniq -c`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inspect(cmd, o, args)
		},
	}
	cmd.Flags().BoolVar(&o.compact, "compact", false, "compact all granules first")
	cmd.Flags().BoolVar(&o.columns, "columns", false, "list the columns of each part; JSON always has them")
	cmd.Flags().Var(&wholeNumber{flag: "granule-rows", least: 1, n: &o.granuleRows, set: new(bool)}, "granule-rows", "split granules of more than `N` rows (default 65536)")
	o.limit.flags(cmd, "", 20, "show the first `N` granules")
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: sizes are bytes on the heap, bounds are in text and in hex")
	return cmd
}

func inspect(cmd *cobra.Command, o inspectOptions, args []string) error {
	ctx := cmd.Context()
	l, err := load(ctx, cmd.ErrOrStderr(), columnstore.Options{GranuleRows: o.granuleRows, Manual: true}, args)
	if err != nil {
		return err
	}
	defer l.Close()
	if o.compact {
		if err := l.store.Compact(ctx); err != nil {
			return err
		}
	}
	var found inspection
	if err := l.store.View(ctx, func(snap *columnstore.Snapshot) error {
		found, err = look(ctx, l, snap, o.limit.of(o.asJSON))
		return err
	}); err != nil {
		return err
	}
	if o.asJSON {
		err = printJSON(cmd.OutOrStdout(), &found)
	} else {
		err = found.print(cmd.OutOrStdout(), o.columns)
	}
	if err == nil && l.failed > 0 {
		err = failedError{errors.New("some inputs could not be read")}
	}
	return err
}

// inspection is what inspect found; JSON has it as it is.
type inspection struct {
	Rows       int64          `json:"rows"`
	Series     int            `json:"series"`
	Stacks     int            `json:"stacks"`
	Granules   int            `json:"granules"`
	BaseParts  int            `json:"base_parts"`
	FreshParts int            `json:"fresh_parts"`
	Bytes      inspectedBytes `json:"bytes"`
	Tables     []inspected    `json:"tables"`
}

// inspectedBytes is what is on the heap, by kind.
type inspectedBytes struct {
	Parts   int64 `json:"parts"`
	Series  int64 `json:"series"`
	Stacks  int64 `json:"stacks"`
	Symbols int64 `json:"symbols"`
	Total   int64 `json:"total"`
}

// inspected is one table.
type inspected struct {
	Name     string                    `json:"name"`
	Granules []columnstore.GranuleInfo `json:"granules"` // the first ones, if there is a limit
}

// look describes a store with one table, and its first granules in detail.
func look(ctx context.Context, l *loaded, snap *columnstore.Snapshot, limit int) (inspection, error) {
	table := l.db.Table()
	granules := []columnstore.GranuleInfo{}
	var out inspection
	for g, err := range table.Inspect(ctx, snap) {
		if err != nil {
			return out, err
		}
		out.Granules++
		out.FreshParts += g.FreshParts
		out.BaseParts += len(g.Parts) - g.FreshParts
		if limit == 0 || len(granules) < limit {
			granules = append(granules, g)
		}
	}
	stats := l.store.Stats() // nobody writes any more: the snapshot's
	out.Rows, out.Series, out.Stacks = stats.Rows, stats.Series, stats.Stacks
	out.Bytes = inspectedBytes{stats.PartBytes, stats.SeriesBytes, stats.StackBytes, stats.RecordBytes, stats.Bytes()}
	out.Tables = []inspected{{table.Name(), granules}}
	return out, nil
}

// inspectWidth is how many columns the text has at most.
const inspectWidth = 120

func (i *inspection) print(w io.Writer, columns bool) error {
	p := printer{w: w}
	table := i.Tables[0]
	p.printf("Table %s: %s, %s, %s, %s, %s (%s base, %s fresh)\n", table.Name, many(i.Rows, "row"), many(i.Series, "series"),
		many(i.Stacks, "stack"), many(i.Granules, "granule"), many(i.BaseParts+i.FreshParts, "part"), number(i.BaseParts), number(i.FreshParts))
	p.printf("Bytes: %s = index and parts %s + series %s + stacks %s + symbols %s\n", size(i.Bytes.Total),
		size(i.Bytes.Parts), size(i.Bytes.Series), size(i.Bytes.Stacks), size(i.Bytes.Symbols))
	if i.Rows == 0 {
		p.printf("There are no samples.\n")
		return p.err
	}
	var before *columnstore.GranuleInfo
	for k := range table.Granules {
		g := &table.Granules[k]
		printGranule(&p, k+1, before, g, columns)
		before = g
	}
	if left := i.Granules - len(table.Granules); left > 0 {
		p.printf("\n%s not shown (-n 0 shows all)\n", many(left, "more granule"))
	}
	return p.err
}

// endsBucket says whether a granule is the last of a bucket, whose keys end where those of
// a bucket would begin that begins a nanosecond later.
func endsBucket(g *columnstore.GranuleInfo) bool {
	const start = 16 // hexadecimal digits of a bucket's start
	if len(g.Lower.Key) < start || len(g.Upper.Key) != start {
		return false
	}
	lower, err := strconv.ParseUint(g.Lower.Key[:start], 16, 64)
	if err != nil {
		return false
	}
	upper, err := strconv.ParseUint(g.Upper.Key, 16, 64)
	return err == nil && upper == lower+1
}

// printGranule prints granule n; before is the one that was printed before it.
func printGranule(p *printer, n int, before, g *columnstore.GranuleInfo, columns bool) {
	p.printf("\nGranule %d: %s, %s, %s (%s fresh)\n", n, many(g.Rows, "row"), size(g.Bytes), many(len(g.Parts), "part"), number(g.FreshParts))
	if before != nil && before.Upper.Key == g.Lower.Key && len(g.Lower.Values) > 1 {
		p.printf("  from the end of granule %d\n", n-1) // most bounds are long, and each stands twice
	} else {
		printBound(p, "from", g.Lower.Values)
	}
	if endsBucket(g) {
		p.printf("  to   the end of the bucket\n")
	} else {
		printBound(p, "to", g.Upper.Values)
	}
	const row = "  %-5s %9s %9s %9s %9s %9s  %-20s %9s"
	p.printf("%s\n", strings.TrimRight(fmt.Sprintf(row, "part", "begin", "commit", "rows", "series", "bytes", "time", ""), " "))
	for i := range g.Parts {
		part := &g.Parts[i]
		kind, span := "fresh", ""
		if part.Base {
			kind = "base"
		}
		if d := part.MaxTime.Sub(part.MinTime); d > 0 {
			span = "+" + profile.FormatValue(int64(d), "nanoseconds")
		}
		line := fmt.Sprintf(row, kind, number(part.Begin), number(part.Commit), number(part.Hi-part.Lo), number(part.Series),
			size(part.Bytes), part.MinTime.Format(time.RFC3339), span)
		if part.Hi-part.Lo < part.PartRows { // a split divided it: other granules have the other rows
			line += fmt.Sprintf("  %d..%d of %d", part.Lo, part.Hi, part.PartRows)
		}
		p.printf("%s\n", strings.TrimRight(line, " "))
		if columns {
			printColumns(p, part)
		}
	}
}

func printColumns(p *printer, part *columnstore.PartInfo) {
	const row = "      %-44s %-9s %-14s %-6s %9s %9s %8s\n"
	p.printf(row, "column", "type", "encoding", "layout", "nulls", "bytes", "bits/row")
	for _, c := range part.Columns {
		p.printf(row, fit(printable(c.Name), 44), c.Type, c.Encoding, c.Layout, number(c.Nulls), size(c.Bytes),
			fmt.Sprintf("%.1f", 8*float64(c.Bytes)/float64(part.PartRows)))
	}
}

// printBound prints the values of a bound, as many on a line as fit.
func printBound(p *printer, word string, values []string) {
	const indent = 7
	line := fmt.Sprintf("  %-*s", indent-2, word)
	width := indent
	for i, v := range values {
		v = fit(printable(v), inspectWidth-indent)
		n := utf8.RuneCountInString(v)
		if i > 0 && width+1+n > inspectWidth {
			p.printf("%s\n", line)
			line, width = strings.Repeat(" ", indent-1), indent-1
		}
		if i > 0 {
			line += " "
			width++
		}
		line += v
		width += n
	}
	p.printf("%s\n", line)
}

// fit shortens text that is wider than a column, at its end.
func fit(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// counted is any integer that is printed.
type counted interface{ ~int | ~int64 | ~uint64 }

func size[N counted](n N) string { return profile.FormatValue(int64(n), "bytes") }

func number[N counted](n N) string { return profile.FormatValue(int64(n), "count") }

// many counts things: "1 part", "2 parts".
func many[N counted](n N, what string) string {
	if n != 1 && !strings.HasSuffix(what, "s") {
		what += "s"
	}
	return number(n) + " " + what
}
