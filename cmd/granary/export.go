package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
)

// What --format and --stacks can be.
const (
	formatParquet = "parquet"
	formatArrow   = "arrow"
	stacksNames   = "names"
	stacksIDs     = "ids"
)

// exportBuffer is how much is written to a file at once: writers of Arrow pad every
// buffer by itself.
const exportBuffer = 256 << 10

// exporter is export as its flags ask for it.
type exporter struct {
	selection
	output, format string
	form, stacks   string
	demo           time.Duration    // of the demo's fleet, 0 for inputs
	memory         memory.Allocator // of records; nil means the Go allocator
}

// rowWriter writes records as a file of some format. close ends the file, and must be
// called after an error too.
type rowWriter interface {
	write(rec arrow.Record) error
	close() error
}

func newExport() *cobra.Command { return newExporter().command() }

func newExporter() *exporter {
	return &exporter{form: columnstore.Dictionary.String(), stacks: stacksNames}
}

func (e *exporter) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export -o FILE [flags] INPUT...",
		Short: "Write rows for pandas, Polars, DuckDB and others",
		Long: `export writes profiles as a table for other tools: a Parquet file or a stream of
Apache Arrow records, as the name of FILE says: .parquet or .arrows. A row is
one value of one sample:

  sample_type, sample_unit   what was measured: cpu, nanoseconds
  value                      how much of it
  stacktrace                 the functions, from the one that ran up to main;
                             with --stacks ids the ids of their locations
  timestamp, duration        of the profile: UTC, and nanoseconds
  period, period_type, ...   how it was sampled
  labels.NAME                labels of the profile; labels.file is the input
  pprof_labels.NAME          labels of the sample that are text
  pprof_num_labels.NAME[U]   those that are numbers, in the unit U
  trace_id, span_id          of the sample: 16 bytes, and a number, of labels
                             of 32 and 16 digits of lower case hexadecimal;
                             written otherwise they are text labels

A label that a row does not have is null, never an empty text. Rows come in the
order of the store: time bucket, type, labels, stack, time. Files are compressed
and written record by record: beside the store, any number of rows takes the
same memory.

--form is how values that repeat are written to Arrow. dictionary: once a
record, which all of the tools below read but pandas. plain: in every row, which
all read; several times the size. native: as the store has them, labels in runs
(run-end encoding), for pyarrow, DataFusion and Go; Polars and ClickHouse refuse
that, and DuckDB takes wrong values from it without an error.

` + inputsHelp,
		Example: `  granary export -o rows.parquet profiles/
  granary export -o hour.parquet --from -1h --sample-index cpu profiles/
  granary export -o rows.arrows --selector '{thread="main"}' cpu.pb.gz
  granary export -o demo.parquet --demo 5m        # no data needed

  pandas      pd.read_parquet("rows.parquet"), or with --form plain
              pyarrow.ipc.open_stream("rows.arrows").read_pandas()
  Polars      pl.scan_parquet("rows.parquet"), pl.read_ipc_stream("rows.arrows")
  DuckDB      SELECT stacktrace[1] AS function, sum(value) AS cpu
              FROM 'rows.parquet' WHERE sample_type = 'cpu'
              GROUP BY ALL ORDER BY cpu DESC LIMIT 10
  DataFusion  CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION 'rows.parquet'
  ClickHouse  FROM file('rows.parquet'), FROM file('rows.arrows', ArrowStream)`,
		Args: func(cmd *cobra.Command, args []string) error {
			if e.demo == 0 {
				return inputs(cmd, args)
			}
			if len(args) > 0 {
				return usageError{fmt.Errorf("--demo has its own profiles: leave out %q or --demo", args[0])}
			}
			return nil
		},
		RunE: e.run,
	}
	e.flags(cmd)
	return cmd
}

func (e *exporter) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&e.output, "output", "o", "", "`FILE` to write; - is standard output")
	f.Var(&choice{"format", []string{formatParquet, formatArrow}, &e.format}, "format", "`FORMAT` to write: parquet or arrow (default: what the name of FILE ends in)")
	f.Var(&choice{"form", formNames(), &e.form}, "form", "`FORM` of Arrow: dictionary, native or plain")
	f.Var(&choice{"stacks", []string{stacksNames, stacksIDs}, &e.stacks}, "stacks", "what stacks are lists `OF`: names of functions, or ids of locations")
	f.Var(spanValue{"demo", &e.demo}, "demo", "instead of inputs, `TIME` of the fleet that granary demo replays, such as 5m or 1h")
	e.selection.flags(cmd, "all")
}

var forms = []columnstore.Form{columnstore.Dictionary, columnstore.Native, columnstore.Plain}

func formNames() []string {
	var names []string
	for _, form := range forms {
		names = append(names, form.String())
	}
	return names
}

func (e *exporter) run(cmd *cobra.Command, args []string) error {
	if e.output == "" {
		return errNoOutput
	}
	if err := e.findFormat(cmd.Flags().Changed("form")); err != nil {
		return err
	}
	if err := spareProfiles(e.output, args); err != nil {
		return err
	}
	write := func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
		return e.write(ctx, cmd, db, snap, q)
	}
	if e.demo > 0 {
		return withDemo(cmd, e.selection, e.demo, write)
	}
	return withInputs(cmd, e.selection, args, write)
}

// findFormat sets the format that the name of the output says, if no flag does.
func (e *exporter) findFormat(hasForm bool) error {
	if e.format == "" {
		switch ending := strings.ToLower(filepath.Ext(e.output)); {
		case ending == ".parquet":
			e.format = formatParquet
		case ending == ".arrows":
			e.format = formatArrow
		case e.output == "-":
			return usageError{errors.New("-o -: say --format parquet or --format arrow")}
		case ending == ".arrow" || ending == ".feather" || ending == ".ipc":
			return usageError{fmt.Errorf("-o %s: export writes the stream form of Arrow, not files for random access: name it .arrows, or say --format arrow", e.output)}
		default:
			return usageError{fmt.Errorf("-o %s: name it .parquet or .arrows, or say --format", e.output)}
		}
	}
	if hasForm && e.format != formatArrow {
		return usageError{errors.New("--form is for --format arrow: Parquet has dictionaries of its own")}
	}
	return nil
}

// write writes the rows that a query chooses.
func (e *exporter) write(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
	opts := columnstore.ScanOptions{Ordered: true, Memory: e.memory, Form: forms[slices.Index(formNames(), e.form)]}
	if e.stacks == stacksNames {
		opts.Elements = profile.FunctionNames
	}
	opts.Where = q.Expr()
	if e.sampleIndex != "" {
		t, err := findType(ctx, db, snap, q, e.sampleIndex)
		if err != nil {
			return err
		}
		opts.Where = q.Expr(t)
	}
	schema, err := db.Table().RecordSchema(snap, opts)
	if err != nil {
		return err
	}
	total, err := countRows(ctx, db, snap, opts.Where)
	if err != nil {
		return err
	}
	bar := newLateProgress(cmd.ErrOrStderr(), "exporting")
	rows := int64(0)
	err = writeTo(e.output, cmd.OutOrStdout(), func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, exportBuffer)
		out := e.newWriter(buffer, schema)
		for rec, err := range db.Table().Scan(ctx, snap, opts) {
			if err == nil {
				err = out.write(rec)
				rows += rec.NumRows()
				bar.show(rows, total)
				rec.Release()
			}
			if err != nil {
				buffer.Reset(io.Discard) // half a table must not end like a whole one
				_ = out.close()          // the first error is the one to tell
				return err
			}
		}
		if err := out.close(); err != nil {
			return err
		}
		return buffer.Flush()
	})
	bar.end()
	if err != nil || rows > 0 {
		return err
	}
	return noteNoSamples(ctx, cmd, db, snap, q)
}

func (e *exporter) newWriter(w io.Writer, schema *arrow.Schema) rowWriter {
	if e.format == formatParquet {
		return newParquetWriter(w, schema)
	}
	return newArrowWriter(w, schema, e.memory)
}

// countRows returns how many rows there are for which where holds.
func countRows(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, where columnstore.Expr) (int64, error) {
	groups, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{Where: where})
	if err != nil || len(groups.Counts) == 0 {
		return 0, err
	}
	return groups.Counts[0], nil
}

// choice is the value of a flag that is one of a few words.
type choice struct {
	flag string
	of   []string
	to   *string
}

// String, Set and Type make it a flag's value.
func (c *choice) String() string {
	if c.to == nil {
		return ""
	}
	return *c.to
}

// Set takes what was given.
func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		last := len(c.of) - 1
		return usageError{fmt.Errorf("--%s %q: want %s or %s", c.flag, text, strings.Join(c.of[:last], ", "), c.of[last])}
	}
	*c.to = text
	return nil
}

// Type names the kind of value.
func (c *choice) Type() string { return "string" }

// lateProgress is a bar that shows once work turns out to be long.
type lateProgress struct {
	*progress
	done, total int64
}

func newLateProgress(w io.Writer, what string) *lateProgress {
	p := &lateProgress{progress: newProgress(w, what)}
	p.last = p.start
	return p
}

func (p *lateProgress) show(done, total int64) {
	p.done, p.total = done, total
	p.progress.show(done, total)
}

// end ends the bar, or its line where the work was not done.
func (p *lateProgress) end() {
	switch {
	case p.last.Equal(p.start):
	case p.done == p.total:
		p.progress.end()
	case p.terminal:
		fmt.Fprintln(p.w)
	}
}
