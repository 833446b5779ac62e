package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/memory"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/columnstore"
)

// What --format can be, beside formatArrow.
const (
	formatText = "text"
	formatJSON = "json"
	formatCSV  = "csv"
)

const historyArrowHelp = `

-o FILE writes what the name of FILE says: .csv, .json, .txt, or .arrows, a
stream of Apache Arrow records for pandas, Polars, ClickHouse and others. That
has a row for each interval:

  attribute_id, attribute   a number, and the path
  start, end                Unix nanoseconds, both included
  open                      the recording ended before the interval did
  kind                      int, float, string, bool, bytes, or null
  value_int, value_float,   the value, in the column of its kind; the others are
  value_string, value_bool, null. An empty text is a value
  value_bytes

  pandas      pyarrow.ipc.open_stream("states.arrows").read_pandas()
  Polars      pl.read_ipc_stream("states.arrows")
  ClickHouse  SELECT attribute, sum("end" - start + 1) AS ns
              FROM file('states.arrows', ArrowStream)
              WHERE value_int = 2 GROUP BY attribute ORDER BY ns DESC

--form is how texts that repeat are written to Arrow: granary export --help.`

// intervalForm is how intervals are printed, and where to.
type intervalForm struct {
	json, csv bool // flags that are short for a format
	format    string
	output    string           // "": standard output
	form      string           // of Arrow
	memory    memory.Allocator // of records; nil means the Go allocator
	limit     limit
}

func (f *intervalForm) flags(cmd *cobra.Command) {
	f.form = columnstore.Dictionary.String()
	f.limit.flags(cmd, "", 40, "show the first `N` intervals")
	f.printFlags(cmd)
	flags := cmd.Flags()
	flags.StringVarP(&f.output, "output", "o", "", "`FILE` to write; - is standard output")
	flags.Var(&choice{"format", []string{formatText, formatCSV, formatJSON, formatArrow}, &f.format}, "format", "`FORMAT` to write: text, csv, json or arrow (default: what the name of FILE ends in, or text)")
	flags.Var(&choice{"form", formNames(), &f.form}, "form", "`FORM` of Arrow: dictionary, native or plain")
}

// printFlags adds those that choose what is printed.
func (f *intervalForm) printFlags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print JSON: times as dates, both ends included")
	cmd.Flags().BoolVar(&f.csv, "csv", false, "print CSV: times in Unix nanoseconds, both ends included; history import reads it")
}

// check says whether the flags go together, and finds out the format; input is the file
// that is asked.
func (f *intervalForm) check(cmd *cobra.Command, input string) error {
	switch {
	case f.json && f.csv:
		return usageError{errors.New("choose one of --json and --csv")}
	case cmd.Flags().Changed("output") && f.output == "":
		return errNoOutput
	case (f.json || f.csv) && f.format != "":
		return usageError{errors.New("choose one of --format, --json and --csv")}
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
		return usageError{fmt.Errorf("-o %s: the name says arrow, the flags %s", f.output, f.format)}
	case f.format == formatArrow && f.output == "":
		return errNoOutput
	case f.format != formatArrow && cmd.Flags().Changed("form"):
		return usageError{errors.New("--form is for --format arrow")}
	}
	return spareHistory(f.output, input)
}

// fromName sets the format that the name of the output says.
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
		return usageError{fmt.Errorf("-o %s: this writes the stream form of Arrow, not files for random access: name it .arrows, or say --format arrow", f.output)}
	default:
		return usageError{fmt.Errorf("-o %s: name it .arrows, .csv, .json or .txt, or say --format", f.output)}
	}
	return nil
}

// most returns how many intervals to write, 0 for all.
func (f *intervalForm) most() int { return f.limit.of(f.format != formatText) }

// write hands over where the output is to go.
func (f *intervalForm) write(cmd *cobra.Command, to func(io.Writer) error) error {
	if f.output == "" {
		return to(cmd.OutOrStdout())
	}
	return writeTo(f.output, cmd.OutOrStdout(), to)
}

// recordSeq is the records of a scan.
type recordSeq = iter.Seq2[arrow.Record, error]

// writeArrow writes the records of a scan of a history, without nulls if it is asked to.
func (f *intervalForm) writeArrow(cmd *cobra.Command, l *loadedHistory, noNulls bool, scan func(context.Context, columnstore.HistoryScan) recordSeq) error {
	q := columnstore.HistoryScan{
		View: l.View, NoNulls: noNulls, Limit: f.most(), Memory: f.memory,
		Form: forms[slices.Index(formNames(), f.form)],
	}
	schema, err := q.Schema()
	if err != nil {
		return err
	}
	return f.write(cmd, func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, exportBuffer)
		out := newArrowWriter(buffer, schema, f.memory)
		for rec, err := range scan(cmd.Context(), q) {
			if err == nil {
				err = out.write(rec)
				rec.Release()
			}
			if err != nil {
				buffer.Reset(io.Discard) // half a table must not end like a whole one
				_ = out.close()          // the first error is the one to tell
				return err
			}
		}
		return errors.Join(out.close(), buffer.Flush())
	})
}
