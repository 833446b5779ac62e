package history_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/script"
)

// TestScripts runs testdata/script/*.txt. The scripts are readable without this file.
func TestScripts(t *testing.T) { script.Run(t, newScripted) }

// scripted is the state of a script: one history, and views of it by name. The unnamed view is
// that of the last commit.
type scripted struct {
	h     *history.History
	views map[string]*history.View
}

func newScripted(*testing.T) map[string]script.Verb {
	s := &scripted{views: map[string]*history.View{}}
	return map[string]script.Verb{
		"new": s.open, "write": s.write, "fill": s.fill, "view": s.view,
		"at": s.at, "slice": s.slice, "range": s.rangeOf,
		"lanes": s.lanes, "dump": s.dump,
	}
}

func (s *scripted) open(c *script.Command) (err error) {
	s.h, err = history.New(history.Options{Start: int64(c.Int("start", 0))})
	if err == nil {
		s.views = map[string]*history.View{"": s.h.Empty()}
	}
	return err
}

// write runs one transaction. A line is a change, "10 cpu/0 busy": from 10 on cpu/0 is
// busy; or an interval, "10..19 cpu/0 busy".
func (s *scripted) write(c *script.Command) error {
	abort, drop, end := c.Has("abort"), c.Text("drop-before", ""), c.Text("close", "")
	return s.transaction(c, abort, func(tx *history.Draft) error {
		for _, line := range c.Input {
			fields := strings.Fields(line)
			if len(fields) != 3 {
				c.Fatalf("%q is not a time, an attribute and a value", line)
			}
			if err := writeOne(c, tx, fields[0], fields[1], fields[2]); err != nil {
				return err
			}
		}
		if drop != "" {
			tx.DropBefore(number(c, drop))
		}
		if end != "" {
			return tx.Close(number(c, end))
		}
		return nil
	})
}

func writeOne(c *script.Command, tx *history.Draft, at, path, text string) error {
	a, err := tx.Attribute(strings.Split(path, "/")...)
	if err != nil {
		return err
	}
	if start, end, ok := strings.Cut(at, ".."); ok {
		return tx.Add(a, number(c, start), number(c, end), valueOf(text))
	}
	return tx.Change(number(c, at), a, valueOf(text))
}

// fill writes changes of one attribute at equal distances in one transaction. The value cycles
// from 0 to values-1.
func (s *scripted) fill(c *script.Command) error {
	path, from, every := c.Text("attribute", ""), c.Int("from", 0), c.Int("every", 1)
	changes, values := c.Int("changes", 1), c.Int("values", 2)
	return s.transaction(c, false, func(tx *history.Draft) error {
		a, err := tx.Attribute(strings.Split(path, "/")...)
		for i := 0; i < changes && err == nil; i++ {
			err = tx.Change(int64(from+i*every), a, history.Int(int64(i%values)))
		}
		return err
	})
}

// transaction commits the writes of f, or aborts them after an error.
func (s *scripted) transaction(c *script.Command, abort bool, f func(*history.Draft) error) error {
	tx, err := s.h.Begin()
	if err != nil {
		return err
	}
	if err := f(tx); err != nil || abort {
		tx.Abort()
		return err
	}
	v, err := tx.Commit()
	if err != nil {
		return err
	}
	s.views[""] = v
	c.Printf("times %d to %d\n", v.Start(), v.End())
	return nil
}

// view names the view of the last commit.
func (s *scripted) view(c *script.Command) error {
	s.views[c.Text("name", "")] = s.views[""]
	return nil
}

// of returns the view named in a command.
func (s *scripted) of(c *script.Command) *history.View {
	name := c.Text("view", "")
	if s.views[name] == nil {
		c.Fatalf("no view is called %q", name)
	}
	return s.views[name]
}

func (s *scripted) at(c *script.Command) error {
	v, t := s.of(c), int64(c.Int("t", 0))
	a, err := v.Lookup(strings.Split(c.Text("attribute", ""), "/")...)
	if err != nil {
		return err
	}
	in, err := v.At(a, t)
	if err == nil {
		c.Printf("%s\n", intervalText(in))
	}
	return err
}

// slice prints the state of all attributes with a value.
func (s *scripted) slice(c *script.Command) error {
	v := s.of(c)
	slice, err := v.Slice(int64(c.Int("t", 0)))
	if err != nil {
		return err
	}
	for a, in := range slice.All() {
		path, err := v.Path(a)
		if err != nil {
			return err
		}
		if !in.Value.IsNull() {
			c.Printf("%s %s\n", strings.Join(path, "/"), intervalText(in))
		}
	}
	return nil
}

func (s *scripted) rangeOf(c *script.Command) error {
	v := s.of(c)
	from, to := int64(c.Int("from", int(v.Start()))), int64(c.Int("to", int(v.End())))
	a, err := v.Lookup(strings.Split(c.Text("attribute", ""), "/")...)
	if err != nil {
		return err
	}
	for in, err := range v.Range(a, from, to, history.RangeOptions{}) {
		if err != nil {
			return err
		}
		c.Printf("%s\n", intervalText(in))
	}
	return nil
}

func (s *scripted) lanes(c *script.Command) error {
	for _, line := range history.DescribeLanes(s.h) {
		c.Printf("%s\n", line)
	}
	return nil
}

func (s *scripted) dump(c *script.Command) error {
	for _, line := range history.DumpTile(s.h, c.Int("lane", 0), c.Int("tile", 0)) {
		c.Printf("%s\n", line)
	}
	return nil
}

func intervalText(in history.Interval) string {
	text := strconv.FormatInt(in.Start, 10) + ".." + strconv.FormatInt(in.End, 10) + " " + in.Value.String()
	if in.Open {
		text += ", open"
	}
	return text
}

func number(c *script.Command, text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.Fatalf("%q is no time", text)
	}
	return n
}

// valueOf parses a value: null, a whole number, true or false, a number, or else text.
func valueOf(text string) history.Value {
	if text == "null" {
		return history.Value{}
	}
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return history.Int(i)
	}
	if b, err := strconv.ParseBool(text); err == nil {
		return history.Bool(b)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil {
		return history.Float(f)
	}
	return history.String(text)
}
