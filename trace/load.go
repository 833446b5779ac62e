package trace

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/granarydb/granary/internal/ihs"
)

// Stage is a part of Load's work.
type Stage string

const (
	// Reading is the stage that reads files.
	Reading Stage = "reading"
	// Building is the stage that builds a history from a set in memory.
	Building Stage = "building"
)

// LoadOptions are Load's settings. The zero value has no standard input and reports no progress.
type LoadOptions struct {
	// Stdin is the CSV for the name "-". nil is an empty file.
	Stdin io.Reader
	// Progress, if not nil, is called now and then with the finished part of a stage. A stage begins
	// with a call where done is 0. The calls come from Load's goroutine.
	Progress func(stage Stage, done, total int64)
}

// stage returns Progress for one stage, after reporting its start.
func (o LoadOptions) stage(s Stage) func(done, total int64) {
	if o.Progress == nil {
		return func(int64, int64) {}
	}
	o.Progress(s, 0, 1)
	return func(done, total int64) { o.Progress(s, done, total) }
}

// Load reads the named recording (see the package comment) into a history. Errors name the file; errors in
// contents are ihs.ErrFormat, ihs.ErrLimit and any from CSV. Interval sets in files and computed sets are
// streamed, without a copy in memory besides the history; CSV is held in memory.
func Load(ctx context.Context, name string, opts LoadOptions) (r *Recording, err error) {
	err = opts.open(ctx, name, func(in input, progress func(done, total int64)) (err error) {
		r, err = build(ctx, in, progress)
		return err
	})
	return r, err
}

// LoadInto reads the named recording as Load does, into a target, and returns the number of intervals.
// After an error the target has the committed intervals, and may be in a transaction, which its owner ends.
func LoadInto(ctx context.Context, name string, opts LoadOptions, to Target) (intervals int, err error) {
	err = opts.open(ctx, name, func(in input, progress func(done, total int64)) error {
		r, err := feed(ctx, in, progress, to)
		if err == nil {
			intervals = r.Intervals
		}
		return err
	})
	return intervals, err
}

// nameInput adds the input's name to an error without one.
func nameInput(name string, err error) error {
	if name == "-" {
		name = "standard input"
	}
	if text := err.Error(); strings.Contains(text, name+":") || strings.Contains(text, ihs.BaseName(name)+".") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// open opens the named recording and calls take with it. Its errors name the input.
func (o LoadOptions) open(ctx context.Context, name string, take func(in input, progress func(done, total int64)) error) error {
	if err := o.openInput(ctx, name, take); err != nil {
		return nameInput(name, err)
	}
	return nil
}

func (o LoadOptions) openInput(ctx context.Context, name string, take func(in input, progress func(done, total int64)) error) error {
	made, err := ihs.ParseSynth(name)
	switch {
	case err != nil:
		return err
	case made != nil:
		h, err := made.Header(ihs.Limits{})
		if err != nil {
			return err
		}
		return take(streamOf(h, made.Names(), made.Next()), o.stage(Building))
	}
	progress := o.stage(Reading)
	if IsCSV(name) {
		s, err := o.readCSV(ctx, name, progress)
		if err != nil {
			return err
		}
		return take(inputOf(s), o.stage(Building))
	}
	name = ihs.BaseName(name)
	return ihs.ReadFile(name+ihs.IntervalsSuffix, func(z io.Reader) error {
		r, err := ihs.NewReader(z, ihs.Limits{})
		if err != nil {
			return err
		}
		var attributes []ihs.Attribute
		err = ihs.ReadFile(name+ihs.AttributesSuffix, func(z io.Reader) (err error) {
			attributes, err = ihs.ReadAttributes(z, r.Header().Keys, ihs.Limits{})
			return err
		})
		if err != nil {
			return nameInput(name+ihs.AttributesSuffix, err)
		}
		return take(streamOf(r.Header(), attributes, r.Next), progress)
	})
}

// IsCSV reports whether Load reads CSV from the input of a name.
func IsCSV(name string) bool {
	lower := strings.ToLower(name)
	return name == "-" || strings.HasSuffix(lower, ".csv") || strings.HasSuffix(lower, ".csv.gz")
}

// readCSV reads a file that becomes a set in memory.
func (o LoadOptions) readCSV(ctx context.Context, name string, progress func(done, total int64)) (*ihs.Set, error) {
	t := NewCSV(CSVOptions{})
	var err error
	switch {
	case name != "-":
		err = t.ReadFile(ctx, name, progress)
	case o.Stdin != nil:
		err = t.Read(ctx, "standard input", o.Stdin)
	default:
		err = t.Read(ctx, "standard input", strings.NewReader(""))
	}
	if err != nil {
		return nil, err
	}
	return t.Set()
}
