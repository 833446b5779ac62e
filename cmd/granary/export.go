package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/cmd/granary/parquet"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/profile"
)

// The values of --format and --stacks.
const (
	formatParquet = "parquet"
	formatArrow   = "arrow"
	stacksNames   = "names"
	stacksIDs     = "ids"
)

// exporter is the command export with the values of its flags.
type exporter struct {
	selection
	output, format string
	form, stacks   string
	demo           time.Duration    // span of the demo's fleet to replay, or 0 to read inputs
	memory         memory.Allocator // allocates records; nil means the Go allocator
}

func newExport() *cobra.Command { return newExporter().command() }

func newExporter() *exporter {
	return &exporter{form: columnstore.Dictionary.String(), stacks: stacksNames}
}

func (e *exporter) command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export -o FILE [flags] INPUT...",
		Short: "Write rows for pandas, Polars, DuckDB and others",
		Long: `export writes profiles as a table for other tools: a Parquet file if the name of
FILE ends in .parquet, a stream of Apache Arrow records if it ends in .arrows. A
row is one value of one sample:

  sample_type, sample_unit   the measured quantity: cpu, nanoseconds
  value                      the value in that unit
  stacktrace                 the functions of the stack, from the leaf to main;
                             with --stacks ids, the ids of their locations
  timestamp, duration        of the profile: UTC, and nanoseconds
  period, period_type, ...   the sampling period of the profile
  labels.NAME                labels of the profile; labels.file is the input
  pprof_labels.NAME          text labels of the sample
  pprof_num_labels.NAME[U]   numeric labels of the sample, in the unit U
  trace_id, span_id          of the sample: 16 bytes, and a number. They come
                             from labels of 32 and of 16 lower case hexadecimal
                             digits; other values of these labels stay text

A label that a row does not have is null, never an empty string. Rows are in the
order of the store: time bucket, type, labels, stack, time. The file is
compressed and written record by record, so the memory beside the store does not
depend on the number of rows.

--form selects the form of repeated values in Arrow. dictionary: once per
record; every tool below except pandas reads it. plain: in every row; every tool
reads it, at several times the size. native: the form in the store, with
run-end encoded labels, for pyarrow, DataFusion and Go. Polars and ClickHouse
refuse native; DuckDB reads wrong values from it without an error.

` + askedHelp,
		Example: `  granary export -o demo.parquet --demo 5m    # rows alone; or with profiles:
  granary demo --span 2m --profiles gen
  granary export -o rows.parquet gen
  granary export -o hour.parquet --from latest-1h --sample-index cpu gen
  granary export -o rows.arrows --selector '{job="pebble"}' gen

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
			if len(e.db) > 0 {
				return cli.Usage(errors.New("--demo and --db: choose one"))
			}
			if len(args) > 0 {
				return cli.Usage(fmt.Errorf("--demo uses its own profiles: leave out %q or --demo", args[0]))
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
	f.Var(cli.NewChoice("format", []string{formatParquet, formatArrow}, &e.format), "format", "`FORMAT` to write: parquet or arrow (default: from the suffix of FILE)")
	f.Var(cli.NewChoice("form", cli.ArrowFormNames(), &e.form), "form", "`FORM` of Arrow: dictionary, native or plain")
	f.Var(cli.NewChoice("stacks", []string{stacksNames, stacksIDs}, &e.stacks), "stacks", "write stacks as lists `OF` names of functions or ids of locations: names or ids")
	f.Var(newDemoSpan("demo", &e.demo), "demo", "instead of inputs, export a `DURATION` of the fleet that granary demo replays, such as 5m or 1h")
	e.selection.flags(cmd, "all")
}

func (e *exporter) run(cmd *cobra.Command, args []string) error {
	if e.output == "" {
		return cli.ErrNoOutput
	}
	if err := e.findFormat(cmd.Flags().Changed("form")); err != nil {
		return err
	}
	if err := spareProfiles(e.output, args); err != nil {
		return err
	}
	write := func(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
		err := e.write(ctx, cmd, db, snap, q)
		if err == nil {
			e.noteTotals(cmd, e.note.types...)
		}
		return err
	}
	if e.demo > 0 {
		return withDemo(cmd, e.selection, e.demo, write)
	}
	return withInputs(cmd, e.selection, args, write)
}

// findFormat sets the format from the output's suffix, unless a flag has set it.
func (e *exporter) findFormat(hasForm bool) error {
	if e.format == "" {
		switch ending := strings.ToLower(filepath.Ext(e.output)); {
		case ending == ".parquet":
			e.format = formatParquet
		case ending == ".arrows":
			e.format = formatArrow
		case e.output == "-":
			return cli.Usage(errors.New("-o - needs a format: add --format parquet or --format arrow"))
		case ending == ".arrow" || ending == ".feather" || ending == ".ipc":
			return cli.Usage(fmt.Errorf("-o %s: export writes Arrow streams, not Arrow files for random access: use the suffix .arrows, or add --format arrow", e.output))
		default:
			return cli.Usage(fmt.Errorf("-o %s: use the suffix .parquet or .arrows, or add --format", e.output))
		}
	}
	if hasForm && e.format != formatArrow {
		return cli.Usage(errors.New("--form applies to --format arrow only: Parquet has its own dictionaries"))
	}
	return nil
}

// write writes the rows that a query selects.
func (e *exporter) write(ctx context.Context, cmd *cobra.Command, db *profile.DB, snap *columnstore.Snapshot, q profile.Query) error {
	opts := columnstore.ScanOptions{Ordered: true, Memory: e.memory, Form: cli.ArrowForm(e.form)}
	opts.OwnDictionaries = e.format == formatParquet // its writer converts the whole dictionary of each record
	if e.stacks == stacksNames {
		opts.Elements = profile.FunctionNames
	}
	var only []profile.Type
	if e.sampleIndex != "" {
		t, err := findType(ctx, db, snap, q, e.sampleIndex)
		if err != nil {
			return err
		}
		only = append(only, t)
	}
	opts.Where = q.Expr(only...)
	schema, err := db.Table().RecordSchema(snap, opts)
	if err != nil {
		return err
	}
	total, err := countRows(ctx, db, snap, opts.Where)
	if err != nil {
		return err
	}
	bar := cli.NewLateProgress(cmd.ErrOrStderr(), "exporting")
	rows := int64(0)
	err = cli.WriteTo(e.output, cmd.OutOrStdout(), func(w io.Writer) error {
		begin := func(w io.Writer) (cli.RowWriter, error) { return e.newWriter(w, schema) }
		return cli.WriteRecords(w, begin, db.Table().Scan(ctx, snap, opts), func(n int64) {
			rows += n
			bar.Show(rows, total)
		})
	})
	bar.End()
	if err != nil {
		return err
	}
	cli.NoteWritten(cmd, e.output)
	if rows > 0 {
		return nil
	}
	return e.noteEmpty(ctx, cmd, db, snap, q, false, only...)
}

func (e *exporter) newWriter(w io.Writer, schema *arrow.Schema) (cli.RowWriter, error) {
	if e.format == formatParquet {
		return parquet.NewFileWriter(w, schema)
	}
	return export.NewArrowWriter(w, schema, e.memory), nil
}

// countRows returns the number of rows that where accepts.
func countRows(ctx context.Context, db *profile.DB, snap *columnstore.Snapshot, where columnstore.Expr) (int64, error) {
	groups, err := db.Table().Aggregate(ctx, snap, columnstore.AggregateOptions{Where: where})
	if err != nil || len(groups.Counts) == 0 {
		return 0, err
	}
	return groups.Counts[0], nil
}
