package states

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/timetext"
)

// intervalPrinter prints intervals one by one and keeps none of them.
type intervalPrinter struct {
	view    *recording
	form    *intervalForm
	printer cli.Printer
	out     *bufio.Writer
	csv     *csv.Writer
	path    string            // path of the last printed attribute
	of      history.Attribute // the last printed attribute
	n       int               // number of intervals so far
}

// newIntervalPrinter returns a printer and prints the part before the intervals: in text the title, in CSV
// the header, in JSON the fields of head; the intervals follow in the same object.
func newIntervalPrinter(w io.Writer, l *recording, form *intervalForm, title string, head any) (*intervalPrinter, error) {
	p := &intervalPrinter{view: l, form: form, out: bufio.NewWriterSize(w, 64<<10), of: history.Top}
	p.printer.W = p.out
	switch form.format {
	case formatCSV:
		p.csv = csv.NewWriter(p.out)
		return p, p.csv.Write([]string{"start", "end", "attribute", "value", "kind"})
	case formatJSON:
		var b bytes.Buffer
		if err := cli.PrintJSON(&b, head); err != nil {
			return nil, err
		}
		p.printer.Printf("%s,\n \"intervals\": [", bytes.TrimSuffix(b.Bytes(), []byte("\n}\n")))
	default:
		p.printer.Printf("%s\n", title)
	}
	return p, p.printer.Err
}

// intervalJSON is an interval in JSON.
type intervalJSON struct {
	Attribute string `json:"attribute"`
	Start     string `json:"start"`
	End       string `json:"end"`
	Duration  uint64 `json:"duration_ns"`
	Open      bool   `json:"open"` // the recording ended before the interval
	Kind      string `json:"kind"`
	Value     any    `json:"value"`
}

func (p *intervalPrinter) print(a history.Attribute, in history.Interval) error {
	if a != p.of {
		path, err := p.view.Path(a)
		if err != nil {
			return err
		}
		p.of, p.path = a, history.PathText(path)
	}
	p.n++
	if most := p.form.most(); most > 0 && p.n > most {
		return nil
	}
	switch p.form.format {
	case formatCSV:
		return p.csv.Write([]string{strconv.FormatInt(in.Start, 10), strconv.FormatInt(in.End, 10), p.path, plainValue(in.Value), in.Value.Kind().String()})
	case formatJSON:
		text, err := compactJSON(jsonOf(p.path, in))
		if p.n > 1 {
			p.printer.Printf(",")
		}
		p.printer.Printf("\n  %s", text)
		return errors.Join(err, p.printer.Err)
	}
	const row = "%-16s %12s  %-18s  %s\n"
	if p.n == 1 {
		p.printer.Printf(row, "from", "for", "value", "attribute")
	}
	p.printer.Printf(row, offset(p.view, in.Start), timetext.Text(length(in)), cli.Fit(cli.Printable(in.Value.String()), 18), cli.Printable(p.path))
	return p.printer.Err
}

// end prints the part after the intervals and flushes the output.
func (p *intervalPrinter) end() error {
	most := p.form.most()
	switch {
	case p.form.format == formatCSV:
		p.csv.Flush()
		return errors.Join(p.csv.Error(), p.out.Flush())
	case p.form.format == formatJSON:
		p.printer.Printf("\n ]\n}\n")
	case p.n == 0:
		p.printer.Printf("There is no value (--nulls shows null too).\n")
	case most > 0 && p.n > most:
		p.printer.NotShown(p.n-most, "interval")
	}
	return errors.Join(p.printer.Err, p.out.Flush())
}

// jsonOf returns the JSON form of an interval.
func jsonOf(path string, in history.Interval) intervalJSON {
	return intervalJSON{path, cli.TimeJSON(in.Start), cli.TimeJSON(in.End), length(in), in.Open, in.Value.Kind().String(), jsonValue(in.Value)}
}

func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// jsonValue returns the JSON form of a value. NaN and infinities become strings, because JSON has no numbers
// for them.
func jsonValue(v history.Value) any {
	switch v.Kind() {
	case history.KindBool:
		return v.Bool()
	case history.KindInt:
		return v.Int()
	case history.KindFloat:
		if f := v.Float(); !math.IsNaN(f) && !math.IsInf(f, 0) {
			return f
		}
		return v.String()
	case history.KindString, history.KindBytes:
		return v.Text()
	}
	return nil
}

// plainValue returns the CSV form of a value.
func plainValue(v history.Value) string {
	switch v.Kind() {
	case history.KindNull:
		return ""
	case history.KindString, history.KindBytes:
		return v.Text()
	}
	return v.String()
}

// length returns the duration of an interval in nanoseconds.
func length(in history.Interval) uint64 { return uint64(in.End) - uint64(in.Start) + 1 }
