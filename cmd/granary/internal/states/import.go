package states

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/internal/ihs"
	"github.com/granarydb/granary/trace"
)

// importOptions holds the flags of history import.
type importOptions struct {
	output     string
	separator  string
	unit       string
	kind       string
	start, end string
	ends       string
	skipBad    bool
	partial    bool
	every      int // rows between two states that are stored
	join       bool
}

// importHelp is the long help of import.
const importHelp = `import converts recordings. The name of the output selects what it writes.

-o RUN.history writes a history file: one file of blocks, which the other
commands answer from without reading all of it. A history may be larger than
memory, both here and there. Several files must be CSV. FILE is one of:

  a set, CSV, a synthetic history, another history file
  a Go execution trace, with what its goroutines, processors and collector did,
  its tasks, regions, logs and metrics, and which goroutine woke which
  a trace of Chrome in JSON, as Chromium, Node and PyTorch write it, or of
  Perfetto in protobuf, with the slices of its threads
  spans of OpenTelemetry (OTLP) in JSON or protobuf, with those of each service
  a recording of Java (JFR), with the waits of threads, and collections

Sets are streamed, and take memory for the names of attributes and for 20 bytes
of index a tile. CSV is sorted in memory first, at 38 bytes a row, slices at up
to 80, and spans at 250. What is left out is counted on standard error.

FILE may also be the events of the Linux kernel as text, with what its threads,
CPUs and interrupts did: what perf script, perf sched script, trace-cmd report,
ftrace, systrace or babeltrace2 print, as in perf script --ns > sched.txt. The
directory of a trace of LTTng is read with babeltrace2. Events without a state
are left out, and counted.

-o SET, any other name, converts CSV to a set, the files SET.ihs.gz and
SET.attrs.tsv.gz.

The output appears under its name when it is whole. After an error or an
interrupt an older one is as it was, and nothing else is left. A process that
is killed leaves a file with the name of the output and eight digits more.

The first line of CSV names the columns, in any order. Rows are either changes,

  time,attribute,value
  2026-01-31T09:00:00Z,CPUs/0,idle
  2026-01-31T09:00:01.5Z,CPUs/0,run

in which an attribute keeps its value until its next row or the end (CPUs/0 is
idle until the instant before the second row); or intervals, which include both
ends, with null between them:

  start,end,attribute,value
  1769850000000000000,1769850001499999999,CPUs/0,idle

Rows may be in any order. The last of several changes at one time applies.
Intervals of an attribute must not overlap. A time is a number in --unit, or a
date, which is UTC if it has no zone. An attribute is a path of names separated
by / (or --separator); a backslash escapes the next character. An empty value is
null.

With --ends exclusive an interval ends before its end, as the spans of tracers
do: [1,5) and [5,9) touch. --skip-bad leaves out each row that cannot be read or
overlaps another, and tells how many.

All values of an attribute have one kind: int if all are whole numbers, else
float if all are numbers as in JSON, else string. 007 is a string, and so is a
whole number that both would round. --kind sets the kind of all values; a column
kind (int, float, string or null) sets it for each row. These flags are for CSV
alone.

The other history commands read CSV too, as import does without flags.

--partial -o RUN.history keeps a part: the states at every 10,000th row
(--every), and between these only where the CSV has the rows. The other history
commands read these again when a question needs them, so the CSV must stay as
and where it is, or move together with RUN.history. It is one file of changes,
not compressed, in the order of time. Without --kind or a column kind each
value is an int, a float or a string by itself, and those of an attribute must
be of one kind. It is for long recordings of which few moments are asked for.

--join -o ALL.history names history files that the other history commands ask as
one: those of several programs about one time, whole or in part. They stay where
they are, or move together. Their first and last instants must be equal (--start
and --end set those of CSV), and one of them alone may have states of an
attribute.`

func newImport() *cobra.Command {
	o := importOptions{every: 10_000, unit: "ns", ends: "inclusive"}
	cmd := &cobra.Command{
		Use:   "import -o OUTPUT [flags] FILE...",
		Short: "Convert CSV to an interval set, or any recording to a history file",
		Long:  importHelp,
		Example: `  granary history import -o run states.csv
  granary history import -o run.history run
  granary history import -o app.history --unit ms --separator . a.csv b.csv.gz
  granary history import -o app.history trace.out
  granary history import -o node.history node_trace.1.log
  granary history import -o app.history app.pftrace
  granary history import -o shop.history spans.jsonl
  granary history import -o java.history app.jfr
  granary history import -o sched.history sched.txt
  granary history range --csv run CPUs/0 | granary history import -o cpu0 -
  granary history import --partial -o a.history --separator . a.csv
  granary history import -o b.history --separator . b.csv.gz
  granary history import --join -o both.history a.history b.history`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usage(errors.New("name at least one CSV file or other recording, or - for standard input"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return importAny(cmd, &o, args) },
	}
	o.flags(cmd)
	strictFlag(cmd)
	return cmd
}

func (o *importOptions) flags(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.partial, "partial", false, "keep a part of a CSV of changes, and read the rest of it again for questions")
	cmd.Flags().Var(cli.NewWholeNumber("every", 1, &o.every), "every", "with --partial, keep the states at each `N`th row")
	cmd.Flags().BoolVar(&o.join, "join", false, "name history files that are asked as one")
	cmd.Flags().StringVarP(&o.output, "output", "o", "", "`OUTPUT` to write: a file that ends in .history, or the name of a set, with or without its suffix .ihs.gz")
	cmd.Flags().StringVar(&o.separator, "separator", "/", "`CHARACTER` between the names of a path")
	cmd.Flags().Var(cli.NewChoice("unit", []string{"s", "ms", "us", "ns"}, &o.unit), "unit", "`UNIT` of times that are plain numbers: s, ms, us or ns")
	cmd.Flags().StringVar(&o.kind, "kind", "", "`KIND` of all values: int, float or string (default: from the values)")
	cmd.Flags().Var(cli.NewChoice("ends", []string{"inclusive", "exclusive"}, &o.ends), "ends", "the end of an interval is `KIND`: inclusive, its last instant, or exclusive, the first one after it")
	cmd.Flags().BoolVar(&o.skipBad, "skip-bad", false, "leave out rows that cannot be read or overlap others, and count them")
	cmd.Flags().StringVar(&o.start, "start", "", "`TIME` at which the set starts (default: the time of the first row)")
	cmd.Flags().StringVar(&o.end, "end", "", "`TIME` at which the set ends (default: the time of the last row)")
}

// read parses the flags.
func (o *importOptions) read() (trace.CSVOptions, error) {
	out := trace.CSVOptions{Kind: o.kind, ExclusiveEnds: o.ends == "exclusive"}
	if o.output == "" || o.output == "-" {
		return out, cli.Usage(errors.New("no output: add -o FILE.history, or -o SET, the common name of the two files of a set"))
	}
	var size int
	out.Separator, size = utf8.DecodeRuneInString(o.separator)
	if size == 0 || size != len(o.separator) || out.Separator == '\\' {
		return out, cli.Usage(fmt.Errorf("--separator %q: want one character, not the backslash", o.separator))
	}
	out.Unit = map[string]int{"s": 9, "ms": 6, "us": 3, "ns": 0}[o.unit]
	switch o.kind {
	case "", "int", "float", "string":
	default:
		return out, cli.Usage(fmt.Errorf("--kind %q: want int, float or string", o.kind))
	}
	bound := func(flag, text string) (*int64, error) {
		if text == "" {
			return nil, nil
		}
		t, err := out.ParseTime(text)
		if err != nil {
			return nil, cli.Usage(fmt.Errorf("--%s: %w", flag, err))
		}
		return &t, nil
	}
	var err error
	if out.Start, err = bound("start", o.start); err == nil {
		out.End, err = bound("end", o.end)
	}
	return out, err
}

func importAny(cmd *cobra.Command, o *importOptions, names []string) error {
	opts, err := o.read()
	if err != nil {
		return err
	}
	if done, err := importOther(cmd, o, opts, names); done || err != nil {
		return err
	}
	toFile := hasFileSuffix(o.output)
	once, err := openOnce(cmd, names)
	if err != nil {
		return err
	}
	defer once.close()
	for _, name := range names {
		switch s := once[name]; {
		case s != nil && s.format == nil, s == nil && isCSVName(name):
			continue
		case !toFile:
			return cli.Usage(fmt.Errorf("%s: a set is made of CSV: add -o FILE.history for a history file", name))
		case len(names) > 1:
			return cli.Usage(fmt.Errorf("%s: several files must be CSV", name))
		}
		if i := slices.IndexFunc(csvFlags, cmd.Flags().Changed); i >= 0 {
			return cli.Usage(fmt.Errorf("--%s is for CSV, and %s is another recording", csvFlags[i], name))
		}
		return importFile(cmd, o.output, name, once[name])
	}
	if toFile {
		if err := spareFile(o.output, names); err != nil {
			return err
		}
	}
	s, err := readCSV(cmd, opts, names, once)
	if err != nil {
		return err
	}
	if toFile {
		err = writeFile(cmd, o.output, func(ctx context.Context, show showStage, to trace.Target) (int, error) {
			return trace.SetInto(ctx, s, func(done, total int64) { show(trace.Building, done, total) }, to)
		})
	} else {
		err = saveSetAs(cmd, ihs.BaseName(o.output), s)
	}
	if err != nil {
		return err
	}
	if hint := unitHint(s.Header.Start, s.Header.End); hint != "" && !cmd.Flags().Changed("unit") {
		fmt.Fprintln(cmd.ErrOrStderr(), "granary: "+hint)
	}
	return nil
}

// importOther handles --partial and --join, and reports whether either is set.
func importOther(cmd *cobra.Command, o *importOptions, opts trace.CSVOptions, names []string) (done bool, err error) {
	switch {
	case cmd.Flags().Changed("every") && !o.partial:
		return false, cli.Usage(errors.New("--every is for --partial"))
	case !o.partial && !o.join:
		return false, nil
	case o.partial && o.join:
		return false, cli.Usage(errors.New("--partial and --join: choose one; --join takes the files of --partial"))
	case !hasFileSuffix(o.output):
		return false, cli.Usage(fmt.Errorf("-o %s: --partial and --join write a file that ends in %s", o.output, fileSuffix))
	}
	if err := spareFile(o.output, names); err != nil {
		return false, err
	}
	if o.join {
		if i := slices.IndexFunc(csvFlags, cmd.Flags().Changed); i >= 0 {
			return false, cli.Usage(fmt.Errorf("--%s is for CSV, and --join names history files", csvFlags[i]))
		}
		if len(names) > maxMembers {
			return false, cli.Usage(fmt.Errorf("--join takes at most %d history files, not %d", maxMembers, len(names)))
		}
		return true, importJoined(cmd, o.output, names)
	}
	if i := slices.IndexFunc([]string{"ends", "skip-bad"}, cmd.Flags().Changed); i >= 0 {
		return false, cli.Usage(fmt.Errorf("--%s is not for --partial", []string{"ends", "skip-bad"}[i]))
	}
	if len(names) != 1 || isOnce(names[0]) || !isCSVName(names[0]) || isPacked(names[0]) {
		return false, cli.Usage(fmt.Errorf("--partial takes one file of CSV that is not compressed, since questions read parts of it again, not %s", strings.Join(names, " ")))
	}
	return true, importPart(cmd, o, opts, names[0])
}

// isPacked reports whether a file's name is that of a compressed one.
func isPacked(name string) bool {
	suffix := strings.ToLower(filepath.Ext(name))
	return suffix == ".gz" || suffix == ".zst"
}

// csvFlags are the flags that apply only to CSV.
var csvFlags = []string{"separator", "unit", "kind", "start", "end", "ends", "skip-bad"}

// isCSVName reports whether a file is read as CSV: any file except history files, recordings of tracers, sets
// and synthetic histories.
func isCSVName(name string) bool {
	if isHistoryFile(name) || isTrace(name) || strings.HasPrefix(name, "synth:") {
		return false
	}
	if _, err := os.Stat(name); err == nil {
		return !strings.HasSuffix(name, ihs.IntervalsSuffix) && !strings.HasSuffix(name, ihs.AttributesSuffix)
	}
	_, err := os.Stat(ihs.BaseName(name) + ihs.IntervalsSuffix)
	return err != nil
}

// onceOpen are the open streams of standard input and of URLs, by name.
type onceOpen map[string]*stream

func openOnce(cmd *cobra.Command, names []string) (onceOpen, error) {
	once := onceOpen{}
	for _, name := range names {
		if !isOnce(name) || once[name] != nil {
			continue
		}
		s, err := openStream(cmd, name)
		if err != nil {
			once.close()
			return nil, err
		}
		once[name] = s
	}
	return once, nil
}

func (o onceOpen) close() {
	for _, s := range o {
		_ = s.Close() // nothing was written
	}
}

// readCSV makes a set of CSV, and shows the progress.
func readCSV(cmd *cobra.Command, opts trace.CSVOptions, names []string, once onceOpen) (s *ihs.Set, err error) {
	var bad badRows
	if skip, _ := cmd.Flags().GetBool("skip-bad"); skip {
		opts.SkipBad = bad.add
	}
	t := trace.NewCSV(opts)
	for _, name := range names {
		if err := addCSV(cmd, t, name, once[name]); err != nil {
			return nil, err
		}
	}
	if s, err = t.Set(); err == nil {
		err = cmd.Context().Err()
	}
	if bad.n > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "granary: %s left out, the first of them: %v\n", cli.Many(bad.n, "row"), bad.first)
	}
	return s, explainRow(err)
}

// badRows are the rows that --skip-bad leaves out.
type badRows struct {
	n     int
	first error
}

func (b *badRows) add(err error) {
	if b.n++; b.n == 1 {
		b.first = err
	}
}

// explainRow names the flags that help with the error of a row.
func explainRow(err error) error {
	if errors.Is(err, trace.ErrTouch) {
		return fmt.Errorf("%w: granary history import --ends exclusive reads ends as the first instant after", err)
	}
	return err
}

// addCSV adds the rows of a file. in is the stream, if it is open.
func addCSV(cmd *cobra.Command, t *trace.CSV, name string, in *stream) (err error) {
	if in == nil {
		if in, err = openStream(cmd, name); err != nil {
			return err
		}
		defer func() { _ = in.Close() }()
	}
	p := cli.NewSlowProgress(cmd.ErrOrStderr(), in.name)
	in.show = func(_ trace.Stage, done, total int64) { p.Show(done, total) }
	if err := in.addTo(cmd.Context(), t); err != nil {
		return err
	}
	p.Done()
	return nil
}

// saveSetAs writes the files of a set, and prints a summary.
func saveSetAs(cmd *cobra.Command, output string, s *ihs.Set) error {
	if err := saveSet(cmd, output, s); err != nil {
		return err
	}
	p := cli.Printer{W: cmd.OutOrStdout()}
	p.Printf("%s%s: %s of %s, from %s to %s\n", output, ihs.IntervalsSuffix, cli.Many(s.Len(), "interval"),
		cli.Many(len(s.Attributes), "attribute"), cli.TimeJSON(s.Header.Start), cli.TimeJSON(s.Header.End))
	return p.Err
}

// unitHint returns a hint for times that were read as nanoseconds but would be dates from 1980 to 2100 in a
// larger unit. It returns "" for other times, such as times that count from 0.
func unitHint(start, end int64) string {
	date := func(year int) int64 { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).UnixNano() }
	for _, unit := range []struct {
		flag, name string
		size       int64
	}{{"s", "seconds", 1e9}, {"ms", "milliseconds", 1e6}, {"us", "microseconds", 1e3}} {
		if start >= date(1980)/unit.size && end < date(2100)/unit.size {
			return fmt.Sprintf("the times were read as nanoseconds, which are of 1970: if they are %s, from %s on, add --unit %s; --unit ns omits this hint",
				unit.name, cli.TimeJSON(start*unit.size), unit.flag)
		}
	}
	return ""
}

// saveSet writes the files of a set, each completely or not at all. It writes the file of intervals last,
// because readers open it first.
func saveSet(cmd *cobra.Command, name string, s *ihs.Set) error {
	err := cli.WriteTo(name+ihs.AttributesSuffix, cmd.OutOrStdout(), zipped(func(w io.Writer) error { return ihs.WriteAttributes(w, s.Attributes) }))
	if err != nil {
		return err
	}
	p := cli.NewSlowProgress(cmd.ErrOrStderr(), name+ihs.IntervalsSuffix)
	err = cli.WriteOutput(cmd, name+ihs.IntervalsSuffix, zipped(func(w io.Writer) error {
		return s.Write(w, func(done int) error {
			p.Show(int64(done), int64(s.Len()))
			return cmd.Context().Err()
		})
	}))
	if err == nil {
		p.Done()
	}
	return err
}

// zipped returns a function that writes the output of write with gzip.
func zipped(write func(io.Writer) error) func(io.Writer) error {
	return func(w io.Writer) error {
		buffer := bufio.NewWriterSize(w, 64<<10)
		z := gzip.NewWriter(buffer)
		return errors.Join(write(z), z.Close(), buffer.Flush())
	}
}
