package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/history/ihs"
)

// importOptions is the flags of history import.
type importOptions struct {
	output     string
	separator  string
	unit       string
	kind       string
	start, end string
}

func newHistoryImport() *cobra.Command {
	var o importOptions
	cmd := &cobra.Command{
		Use:   "import -o SET [flags] CSV...",
		Short: "Make an interval set of CSV",
		Long: `import makes a set, SET.ihs.gz and SET.attrs.tsv.gz, of one or more files of
CSV. A first line names the columns, in any order. Rows are changes

  time,attribute,value
  2026-01-31T09:00:00Z,CPUs/0,idle
  2026-01-31T09:00:01.5Z,CPUs/0,run          idle until the instant before

and an attribute keeps its value until its next row, or to the end. Or they are
intervals, both of whose ends are included, and between which it is null:

  start,end,attribute,value
  1769850000000000000,1769850001499999999,CPUs/0,idle

Rows may be in any order. Of changes at one time, the last counts; intervals of
an attribute must not overlap. A time is a number in --unit, or a date, UTC if
no zone is named. An attribute is a path of names with / between them (or
--separator); a backslash takes the next character for itself. An empty value is
null.

An attribute has one kind of values: int if all are whole numbers, else float if
all are numbers as in JSON, else string. 007 is a string. --kind names one for
all; a column kind (int, float, string or null) for each row.

The other commands read CSV too, as it is read here without flags.`,
		Example: `  granary history import -o run states.csv
  granary history import -o app --unit ms --separator . a.csv b.csv.gz
  granary history range --csv run CPUs/0 | granary history import -o cpu0 -`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("name at least one file of CSV, or - for standard input")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return importCSV(cmd, &o, args) },
	}
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`SET` to write, with or without its suffix .ihs.gz")
	cmd.Flags().StringVar(&o.separator, "separator", "/", "`CHARACTER` between the names of a path")
	cmd.Flags().StringVar(&o.unit, "unit", "ns", "`UNIT` of times that are plain numbers: s, ms, us or ns")
	cmd.Flags().StringVar(&o.kind, "kind", "", "`KIND` of all values: int, float or string (default: what they look like)")
	cmd.Flags().StringVar(&o.start, "start", "", "`TIME` at which the set starts (default: that of the first row)")
	cmd.Flags().StringVar(&o.end, "end", "", "`TIME` at which it ends (default: that of the last row)")
	return cmd
}

// read parses the flags.
func (o *importOptions) read() (csvOptions, error) {
	out := csvOptions{kind: o.kind}
	if o.output == "" || o.output == "-" {
		return out, usageError{errors.New("say which set to write: -o SET, which is two files")}
	}
	var size int
	out.separator, size = utf8.DecodeRuneInString(o.separator)
	if size == 0 || size != len(o.separator) || out.separator == '\\' {
		return out, usageError{fmt.Errorf("--separator %q: want one character, not the backslash", o.separator)}
	}
	digits, known := map[string]int{"s": 9, "ms": 6, "us": 3, "ns": 0}[o.unit]
	if !known {
		return out, usageError{fmt.Errorf("--unit %q: want s, ms, us or ns", o.unit)}
	}
	out.unit = digits
	switch o.kind {
	case "", "int", "float", "string":
	default:
		return out, usageError{fmt.Errorf("--kind %q: want int, float or string", o.kind)}
	}
	bound := func(flag, text string) (*int64, error) {
		if text == "" {
			return nil, nil
		}
		t, err := (&csvTable{csvOptions: out}).time(text)
		if err != nil {
			return nil, usageError{fmt.Errorf("--%s: %w", flag, err)}
		}
		return &t, nil
	}
	var err error
	if out.start, err = bound("start", o.start); err == nil {
		out.end, err = bound("end", o.end)
	}
	return out, err
}

func importCSV(cmd *cobra.Command, o *importOptions, names []string) error {
	opts, err := o.read()
	if err != nil {
		return err
	}
	t := newCSVTable(opts)
	for _, name := range names {
		p := newFeedProgress(cmd.ErrOrStderr(), name)
		if err := t.readFile(cmd.Context(), p, name); err != nil {
			return err
		}
		p.end()
	}
	s, err := t.set()
	if err != nil {
		return err
	}
	if err := cmd.Context().Err(); err != nil {
		return err
	}
	output := setName(o.output)
	if err := saveSet(cmd, output, s); err != nil {
		return err
	}
	p := printer{w: cmd.OutOrStdout()}
	p.printf("%s%s: %s of %s, from %s to %s\n", output, intervalsSuffix, many(s.Len(), "interval"),
		many(len(s.Attributes), "attribute"), timeJSON(s.Header.Start), timeJSON(s.Header.End))
	return p.err
}

// saveSet writes the files of a set, each whole or not at all. The intervals come last:
// they are what is opened.
func saveSet(cmd *cobra.Command, name string, s *ihs.Set) error {
	err := writeTo(name+attributesSuffix, cmd.OutOrStdout(), zipped(func(w io.Writer) error { return ihs.WriteAttributes(w, s.Attributes) }))
	if err != nil {
		return err
	}
	p := newFeedProgress(cmd.ErrOrStderr(), name+intervalsSuffix)
	err = writeTo(name+intervalsSuffix, cmd.OutOrStdout(), zipped(func(w io.Writer) error {
		out, err := ihs.NewWriter(w, s.Header)
		if err != nil {
			return err
		}
		for i := range s.Len() {
			if i%feedBatch == 0 {
				if err := cmd.Context().Err(); err != nil {
					return err
				}
				p.show(int64(i), int64(s.Len()))
			}
			if err := out.Write(s.At(i)); err != nil {
				return err
			}
		}
		return out.Close()
	}))
	if err == nil {
		p.end()
	}
	return err
}

// zipped returns what writes the same, compressed.
func zipped(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, 64<<10)
		z := gzip.NewWriter(buffer)
		return errors.Join(write(z), z.Close(), buffer.Flush())
	}
}
