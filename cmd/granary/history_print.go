package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"math"
	"strconv"

	"github.com/granarydb/granary/history"
)

// intervalPrinter prints intervals one by one, and holds none of them.
type intervalPrinter struct {
	view    *loadedHistory
	form    *intervalForm
	printer printer
	out     *bufio.Writer
	csv     *csv.Writer
	path    string // of the attribute that was printed last
	of      history.Attribute
	n       int
}

// newIntervalPrinter prints what stands above the intervals: title in text; in JSON, head,
// an object that will have them too.
func newIntervalPrinter(w io.Writer, l *loadedHistory, form *intervalForm, title string, head any) (*intervalPrinter, error) {
	p := &intervalPrinter{view: l, form: form, out: bufio.NewWriterSize(w, 64<<10), of: history.Root}
	p.printer.w = p.out
	switch form.format {
	case formatCSV:
		p.csv = csv.NewWriter(p.out)
		return p, p.csv.Write([]string{"start", "end", "attribute", "value", "kind"})
	case formatJSON:
		var b bytes.Buffer
		if err := printJSON(&b, head); err != nil {
			return nil, err
		}
		p.printer.printf("%s,\n \"intervals\": [", bytes.TrimSuffix(b.Bytes(), []byte("\n}\n")))
	default:
		p.printer.printf("%s\n", title)
	}
	return p, p.printer.err
}

// intervalJSON is an interval in JSON.
type intervalJSON struct {
	Attribute string `json:"attribute"`
	Start     string `json:"start"`
	End       string `json:"end"`
	Duration  uint64 `json:"duration_ns"`
	Open      bool   `json:"open"` // the recording ended before the interval did
	Kind      string `json:"kind"`
	Value     any    `json:"value"`
}

func (p *intervalPrinter) print(a history.Attribute, in history.Interval) error {
	if a != p.of {
		path, err := p.view.Path(a)
		if err != nil {
			return err
		}
		p.of, p.path = a, pathText(path)
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
			p.printer.printf(",")
		}
		p.printer.printf("\n  %s", text)
		return errors.Join(err, p.printer.err)
	}
	const row = "%-16s %12s  %-18s  %s\n"
	if p.n == 1 {
		p.printer.printf(row, "from", "for", "value", "attribute")
	}
	p.printer.printf(row, offset(p.view.View, in.Start), lasting(length(in)), fit(printable(in.Value.String()), 18), printable(p.path))
	return p.printer.err
}

// end prints what stands below.
func (p *intervalPrinter) end() error {
	most := p.form.most()
	switch {
	case p.form.format == formatCSV:
		p.csv.Flush()
		return errors.Join(p.csv.Error(), p.out.Flush())
	case p.form.format == formatJSON:
		p.printer.printf("\n ]\n}\n")
	case p.n == 0:
		p.printer.printf("There is no value (--nulls shows null too).\n")
	case most > 0 && p.n > most:
		p.printer.printf("%s not shown (-n 0 shows all)\n", many(p.n-most, "more interval"))
	}
	return errors.Join(p.printer.err, p.out.Flush())
}

// jsonOf returns an interval for JSON.
func jsonOf(path string, in history.Interval) intervalJSON {
	return intervalJSON{path, timeJSON(in.Start), timeJSON(in.End), length(in), in.Open, in.Value.Kind().String(), jsonValue(in.Value)}
}

func compactJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	out := json.NewEncoder(&b)
	out.SetEscapeHTML(false)
	err := out.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// jsonValue returns a value for JSON, which has no way to write some floats but as text.
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

// plainValue returns a value as CSV has it.
func plainValue(v history.Value) string {
	switch v.Kind() {
	case history.KindNull:
		return ""
	case history.KindString, history.KindBytes:
		return v.Text()
	}
	return v.String()
}

// length returns how long an interval holds, in nanoseconds.
func length(in history.Interval) uint64 { return uint64(in.End) - uint64(in.Start) + 1 }
