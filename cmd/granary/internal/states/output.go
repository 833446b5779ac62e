package states

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/export"
	"github.com/granarydb/granary/history"
)

// The values of --format.
const (
	formatText  = "text"
	formatCSV   = "csv"
	formatJSON  = "json"
	formatArrow = "arrow"
)

const arrowHelp = `

-o FILE writes the format of the suffix of FILE: .csv, .json, .txt or .arrows.
The last is a stream of Apache Arrow records for pandas, Polars, ClickHouse and
others. It has a row for each interval:

  attribute_id, attribute   a number, and the path
  start, end                Unix nanoseconds, both included
  open                      whether the recording ended before the interval
  kind                      int, float, string, bool, bytes, or null
  value_int, value_float,   the value, in the column of its kind; the other
  value_string, value_bool, columns are null. An empty string is not null
  value_bytes

  pandas      pyarrow.ipc.open_stream("states.arrows").read_pandas()
  Polars      pl.read_ipc_stream("states.arrows")
  ClickHouse  SELECT attribute, sum("end" - start + 1) AS ns
              FROM file('states.arrows', ArrowStream)
              WHERE value_int = 2 GROUP BY attribute ORDER BY ns DESC

--form selects the form of repeated strings in Arrow; see granary export --help.`

// intervalForm holds the flags for the format and the destination of intervals.
type intervalForm struct {
	json, csv bool // short for --format
	format    string
	output    string           // "" is standard output
	form      string           // form of Arrow
	memory    memory.Allocator // allocates records; nil means the Go allocator
	limit     cli.Limit
}

func (f *intervalForm) flags(cmd *cobra.Command) {
	f.form = columnstore.Dictionary.String()
	f.limit.Flags(cmd, "", 40, "show the first `N` intervals")
	f.printFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write; - is standard output")
	flags.Var(cli.NewChoice("format", []string{formatText, formatCSV, formatJSON, formatArrow}, &f.format), "format", "`FORMAT` to write: text, csv, json or arrow (default: from the suffix of FILE, or text)")
	flags.Var(cli.NewChoice("form", cli.ArrowFormNames(), &f.form), "form", "`FORM` of Arrow: dictionary, native or plain")
}

// printFlags adds the flags for the printed format.
func (f *intervalForm) printFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON: times as dates, both ends included")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print CSV that history import reads: times in Unix nanoseconds, both ends included")
}

// check sets the format and returns a usage error if the flags contradict each other. input is the file of
// the history, which the output must not replace.
func (f *intervalForm) check(cmd *cobra.Command, input string) error {
	switch {
	case f.json && f.csv:
		return cli.Usage(errors.New("choose one of --json and --csv"))
	case cmd.Flags().Changed("output") && f.output == "":
		return cli.ErrNoOutput
	case (f.json || f.csv) && f.format != "":
		return cli.Usage(errors.New("choose one of --format, --json and --csv"))
	case f.json:
		f.format = formatJSON
	case f.csv:
		f.format = formatCSV
	case f.format == "" && (f.output == "" || f.output == "-"):
		f.format = formatText
	case f.format == "":
		if err := f.fromName(); err != nil {
			return err
		}
	}
	switch {
	case f.format != formatArrow && strings.EqualFold(filepath.Ext(f.output), ".arrows"):
		return cli.Usage(fmt.Errorf("-o %s: the suffix means arrow, the flags %s", f.output, f.format))
	case f.format == formatArrow && f.output == "":
		return cli.ErrNoOutput
	case f.format != formatArrow && cmd.Flags().Changed("form"):
		return cli.Usage(errors.New("--form applies to --format arrow only"))
	}
	return spareHistory(cmd, f.output, input)
}

// fromName sets the format from the suffix of the output.
func (f *intervalForm) fromName() error {
	switch strings.ToLower(filepath.Ext(f.output)) {
	case ".arrows":
		f.format = formatArrow
	case ".csv":
		f.format = formatCSV
	case ".json":
		f.format = formatJSON
	case ".txt":
		f.format = formatText
	case ".arrow", ".feather", ".ipc":
		return cli.Usage(fmt.Errorf("-o %s: the output is an Arrow stream, not an Arrow file for random access: use the suffix .arrows, or add --format arrow", f.output))
	default:
		return cli.Usage(fmt.Errorf("-o %s: use the suffix .arrows, .csv, .json or .txt, or add --format", f.output))
	}
	return nil
}

// most returns the maximum number of intervals to write, 0 for all.
func (f *intervalForm) most() int { return f.limit.Of(f.format != formatText) }

// write calls `to` with the output.
func (f *intervalForm) write(cmd *cobra.Command, to func(io.Writer) error) error {
	if f.output == "" {
		return to(cmd.OutOrStdout())
	}
	return cli.WriteOutput(cmd, f.output, to)
}

// recordSeq is the sequence of a scan's records.
type recordSeq = iter.Seq2[arrow.Record, error]

// writeArrow writes a scan's records for attributes in a span, without null intervals if noNulls is true.
func (f *intervalForm) writeArrow(cmd *cobra.Command, l *recording, attributes []history.Attribute, of span, noNulls bool, scan func(context.Context, columnstore.HistoryScan) recordSeq) error {
	view, err := l.view(cmd.Context(), attributes, of)
	if err != nil {
		return err
	}
	q := columnstore.HistoryScan{
		View: view, Attributes: attributes, NoNulls: noNulls, Limit: f.most(), Memory: f.memory,
		Form: cli.ArrowForm(f.form),
	}
	schema, err := q.Schema()
	if err != nil {
		return err
	}
	return f.write(cmd, func(w io.Writer) error {
		begin := func(w io.Writer) (cli.RowWriter, error) { return export.NewArrowWriter(w, schema, f.memory), nil }
		return cli.WriteRecords(w, begin, scan(cmd.Context(), q), func(int64) {})
	})
}

// spareHistory returns a usage error if output would replace a file of the history.
func spareHistory(cmd *cobra.Command, output, name string) error {
	if _, set := directory(cmd); set {
		return nil // name is not a file
	}
	return spareFile(output, []string{name})
}
