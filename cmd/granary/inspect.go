package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// inspectOptions holds the flags of inspect.
type inspectOptions struct {
	inputFlags
	compact, columns, asJSON bool
	limit                    cli.Limit
	granuleRows              int
}

func newInspect() *cobra.Command {
	var o inspectOptions
	cmd := &cobra.Command{
		Use:   "inspect [flags] INPUT...",
		Short: "Show how the store keeps profiles: its index, parts and columns",
		Long: `inspect loads the profiles and shows the index of their table, the parts behind
each entry of the index, and the memory that they take:

  granule   an entry of the index: all rows from one bound of the sorting key up
            to the next. A granule of more than --granule-rows rows is split
  bound     a prefix of a sorting key, long enough to tell two granules apart; …
            marks the cut. Its fields are the start of the time bucket, types,
            labels, the number of the stack (#7), time and labels of samples
  part      sorted rows in columns. A part is immutable
  fresh     a part as it was inserted: a profile, or a granule's share of it
  base      a part that a compaction or a split merged from a granule's parts.
            The store compacts a granule of 16 fresh parts with as many rows as
            the base, or of 256 fresh parts; --compact compacts all granules
  begin     the number of the transaction that inserted the part, and the number
  commit    of its commit, which made the rows visible. If the part has rows of
            several transactions, begin is the lowest and commit the highest
  series    a combination of types and labels that all rows of a profile share
  time      the time of the first row, and the distance to that of the last row

With --columns it lists the columns of each part that have a value:

  (series)  the number of each row's series. It replaces the columns of types
            and of the profiles' labels
  encoding  the encoding in the schema
  layout    the smallest layout for the column's values:
              plain    8 bytes a row
              packed   as many bits a row as the range of values needs, 0 if all
                       values are equal
              runs     each run of equal values once, with the row of its end
              blocks   packed in blocks of 128 values
              rises, changes, bends
                       differences between neighbours, in blocks
              sliced   blocks in which 64 values are stored bit by bit
              sparse   a bit a row, and the values other than 0
              lookup   the times and durations of a profile once, and for each
                       row the number of its entry

Strings, stacks and symbols are in dictionaries that the parts share. Only the
first lines count them.

With --db the bytes include histories. The line of the disk has the bytes of the
log and of the files in the directory.

` + askedHelp,
		Example: `  granary demo --span 2m --profiles gen       # profiles for the lines below
  granary inspect gen
  granary inspect --compact --columns gen
  granary inspect --granule-rows 500 gen      # see splits of few rows
  granary inspect --compact --json gen | jq '.tables[].granules[].parts[]
    | .columns[] | select(.layout=="runs") | .name' | sort | uniq -c`,
		Args: inputs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return inspect(cmd, o, args)
		},
	}
	cmd.Flags().BoolVar(&o.compact, "compact", false, "compact all granules first")
	cmd.Flags().BoolVar(&o.columns, "columns", false, "list the columns of each part; JSON always includes them")
	cmd.Flags().Var(cli.NewWholeNumber("granule-rows", 1, &o.granuleRows), "granule-rows", "split granules of more than `N` rows (default 65536)")
	o.limit.Flags(cmd, "", 20, "show the first `N` granules")
	o.storeFlags(cmd)
	o.dbFlag(cmd)
	cmd.Flags().BoolVar(&o.asJSON, "json", false, "print JSON: sizes are bytes on the heap, bounds are text and hexadecimal")
	return cmd
}

func inspect(cmd *cobra.Command, o inspectOptions, args []string) (err error) {
	ctx := cmd.Context()
	source, err := o.source()
	if err != nil {
		return err
	}
	l, err := load(ctx, cmd.ErrOrStderr(), columnstore.Options{GranuleRows: o.granuleRows, Manual: true}, source, args)
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, source.explain(l.Close())) }()
	if o.compact {
		if err := l.store.Compact(ctx); err != nil {
			return err
		}
	}
	var found inspection
	if err := l.store.View(ctx, func(snap *columnstore.Snapshot) error {
		found, err = look(ctx, l, snap, o.limit.Of(o.asJSON))
		return err
	}); err != nil {
		return source.explainDamage(err)
	}
	err = cli.PrintAnswer(cmd.OutOrStdout(), o.asJSON, &found, func(p *cli.Printer) { found.print(p, o.columns) })
	return cmp.Or(err, l.failure())
}

// inspection is the answer of inspect, and its JSON form.
type inspection struct {
	Rows       int64          `json:"rows"`
	Series     int            `json:"series"`
	Stacks     int            `json:"stacks"`
	Granules   int            `json:"granules"`
	BaseParts  int            `json:"base_parts"`
	FreshParts int            `json:"fresh_parts"`
	Bytes      inspectedBytes `json:"bytes"`
	Disk       *inspectedDisk `json:"disk,omitempty"` // with --db
	Tables     []inspected    `json:"tables"`
}

// inspectedBytes is the number of bytes on the heap, by kind.
type inspectedBytes struct {
	Parts     int64 `json:"parts"`
	Series    int64 `json:"series"`
	Stacks    int64 `json:"stacks"`
	Symbols   int64 `json:"symbols"`
	Histories int64 `json:"histories,omitempty"` // with --db
	Cache     int64 `json:"cache,omitempty"`     // with --db: contents of files that were read
	Total     int64 `json:"total"`
}

// inspectedDisk is the number of bytes in the directory of --db.
type inspectedDisk struct {
	Log       int64 `json:"log"`
	Files     int   `json:"files"`
	FileBytes int64 `json:"file_bytes"`
}

// inspected is the description of one table.
type inspected struct {
	Name     string                    `json:"name"`
	Granules []columnstore.GranuleInfo `json:"granules"` // the first granules, up to the limit
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
	own, stats := l.db.Table().Stats(), l.store.Stats() // no writer is active, so they match the snapshot
	out.Rows, out.Series, out.Stacks = own.Rows, own.Series, own.Stacks
	out.Bytes = inspectedBytes{
		Parts: stats.PartBytes, Series: stats.SeriesBytes, Stacks: stats.StackBytes, Symbols: stats.RecordBytes,
		Histories: stats.HistoryBytes, Cache: stats.CacheBytes, Total: stats.Bytes(), // nothing is pending
	}
	if l.source.db != "" {
		out.Disk = &inspectedDisk{Log: stats.LogBytes, Files: stats.Files, FileBytes: stats.FileBytes}
	}
	out.Tables = []inspected{{table.Name(), granules}}
	return out, nil
}

// inspectWidth is the maximum width of the text, in columns.
const inspectWidth = 120

func (i *inspection) print(p *cli.Printer, columns bool) {
	table := i.Tables[0]
	stacks := ""
	if i.Stacks > 0 || i.Disk == nil { // dictionaries that are only in files are not counted
		stacks = cli.Many(i.Stacks, "stack") + ", "
	}
	p.Printf("Table %s: %s, %s, %s%s, %s (%s base, %s fresh)\n", table.Name, cli.Many(i.Rows, "row"), cli.Many(i.Series, "series"),
		stacks, cli.Many(i.Granules, "granule"), cli.Many(i.BaseParts+i.FreshParts, "part"), cli.Number(i.BaseParts), cli.Number(i.FreshParts))
	i.Bytes.print(p)
	if d := i.Disk; d != nil {
		p.Printf("Disk: log %s, %s of %s\n", cli.Size(d.Log), cli.Many(d.Files, "file"), cli.Size(d.FileBytes))
	}
	if i.Rows == 0 {
		p.Printf("%s\n", noSamples)
		return
	}
	var before *columnstore.GranuleInfo
	for k := range table.Granules {
		g := &table.Granules[k]
		printGranule(p, k+1, before, g, columns)
		before = g
	}
	if left := i.Granules - len(table.Granules); left > 0 {
		p.Printf("\n")
		p.NotShown(left, "granule")
	}
}

// print prints the bytes as a sum.
func (b *inspectedBytes) print(p *cli.Printer) {
	p.Printf("Bytes: %s = index and parts %s + series %s + stacks %s + symbols %s", cli.Size(b.Total),
		cli.Size(b.Parts), cli.Size(b.Series), cli.Size(b.Stacks), cli.Size(b.Symbols))
	if b.Histories > 0 {
		p.Printf(" + histories %s", cli.Size(b.Histories))
	}
	if b.Cache > 0 {
		p.Printf(" + cache of files %s", cli.Size(b.Cache))
	}
	p.Printf("\n")
}

// endsBucket reports whether a granule is the last in its bucket. The upper bound of such a granule is the
// bucket's start plus one nanosecond.
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

// printGranule prints granule n. before is the granule printed before it, or nil.
func printGranule(p *cli.Printer, n int, before, g *columnstore.GranuleInfo, columns bool) {
	p.Printf("\nGranule %d: %s, %s, %s (%s fresh)\n", n, cli.Many(g.Rows, "row"), cli.Size(g.Bytes), cli.Many(len(g.Parts), "part"), cli.Number(g.FreshParts))
	if before != nil && before.Upper.Key == g.Lower.Key && len(g.Lower.Values) > 1 {
		p.Printf("  from the end of granule %d\n", n-1) // bounds are long, and neighbours have one in common
	} else {
		printBound(p, "from", g.Lower.Values)
	}
	if endsBucket(g) {
		p.Printf("  to   the end of the bucket\n")
	} else {
		printBound(p, "to", g.Upper.Values)
	}
	const row = "  %-5s %9s %9s %9s %9s %9s  %-20s %9s"
	p.Printf("%s\n", strings.TrimRight(fmt.Sprintf(row, "part", "begin", "commit", "rows", "series", "bytes", "time", ""), " "))
	for i := range g.Parts {
		part := &g.Parts[i]
		kind, span := "fresh", ""
		if part.Base {
			kind = "base"
		}
		if d := part.MaxTime.Sub(part.MinTime); d > 0 {
			span = "+" + profile.FormatValue(int64(d), "nanoseconds")
		}
		line := fmt.Sprintf(row, kind, cli.Number(part.Begin), cli.Number(part.Commit), cli.Number(part.Hi-part.Lo), cli.Number(part.Series),
			cli.Size(part.Bytes), part.MinTime.Format(time.RFC3339), span)
		if part.Hi-part.Lo < part.PartRows { // a split divided the part, and other granules have the other rows
			line += fmt.Sprintf("  %d..%d of %d", part.Lo, part.Hi, part.PartRows)
		}
		p.Printf("%s\n", strings.TrimRight(line, " "))
		if columns {
			printColumns(p, part)
		}
	}
}

func printColumns(p *cli.Printer, part *columnstore.PartInfo) {
	const row = "      %-44s %-9s %-14s %-6s %9s %9s %8s\n"
	p.Printf(row, "column", "type", "encoding", "layout", "nulls", "bytes", "bits/row")
	for _, c := range part.Columns {
		p.Printf(row, cli.Fit(cli.Printable(c.Name), 44), c.Type, c.Encoding, c.Layout, cli.Number(c.Nulls), cli.Size(c.Bytes),
			fmt.Sprintf("%.1f", 8*float64(c.Bytes)/float64(part.PartRows)))
	}
}

// printBound prints a bound's values, wrapped at inspectWidth.
func printBound(p *cli.Printer, word string, values []string) {
	const indent = 7
	line := fmt.Sprintf("  %-*s", indent-2, word)
	width := indent
	for i, v := range values {
		v = cli.Fit(cli.Printable(v), inspectWidth-indent)
		n := utf8.RuneCountInString(v)
		if i > 0 && width+1+n > inspectWidth {
			p.Printf("%s\n", line)
			line, width = strings.Repeat(" ", indent-1), indent-1
		}
		if i > 0 {
			line += " "
			width++
		}
		line += v
		width += n
	}
	p.Printf("%s\n", line)
}
