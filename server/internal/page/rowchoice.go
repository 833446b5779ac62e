package page

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/granarydb/granary/history"
	"github.com/granarydb/granary/internal/stats"
	"github.com/granarydb/granary/server/internal/fault"
)

// Bounds on the choice of rows of a pixels query.
const (
	mostFind      = 200        // bytes of a text to find
	mostWaited    = 50_000_000 // intervals that are read for the longest waits
	mostNameBytes = 200
)

// nameChildren are the attributes below a goroutine or a thread that have its name.
var nameChildren = []string{"function", "Exec_name"}

// asides are the attributes below a goroutine or a thread that say which one it is and what woke it. They are no rows of their own.
var asides = append([]string{"goid", "label", "woken by", "PPID", "Prio"}, nameChildren...)

// rowChoice says which attributes are rows, and in which order.
type rowChoice struct {
	find  string // in paths and names, in lower case
	waits bool   // the longest wait first, and not the most changes
	under bool   // the attributes below each follow it
}

// rowChoice returns the parameters find, sort and under.
func (q *pageQuestion) rowChoice() rowChoice {
	c := rowChoice{find: strings.ToLower(q.of.Get("find")), under: q.flag("under")}
	if len(c.find) > mostFind {
		q.refuse(fault.TooCostly("a text of %d bytes in parameter find, at most %d", len(c.find), mostFind))
	}
	switch sort := q.of.Get("sort"); sort {
	case "", "changes":
	case "waits":
		c.waits = true
	default:
		q.refuse(fault.Invalid("parameter sort: want changes or waits, not %s", fault.Quoted(sort)))
	}
	return c
}

// nameOf returns the name of a goroutine or a thread in a range, "" for other attributes. Where the numbers of attributes are those
// of places, it begins with that of the goroutine.
func nameOf(v *history.View, a history.Attribute, in span) string {
	number := ""
	if goid := firstBelow(v, a, "goid", in); goid.Kind() == history.KindInt {
		number = fmt.Sprintf("goroutine %d", goid.Int())
	}
	for _, child := range nameChildren {
		if name := firstBelow(v, a, child, in); name.Kind() == history.KindString {
			text := name.Text()
			return strings.TrimLeft(number+" "+strings.ToValidUTF8(text[:min(len(text), mostNameBytes)], ""), " ")
		}
	}
	return number
}

// firstBelow returns the first value in a range of an attribute below another one, null if there is none.
func firstBelow(v *history.View, a history.Attribute, child string, in span) history.Value {
	of, err := v.LookupFrom(a, child)
	if err != nil {
		return history.Value{}
	}
	found, ok, err := v.NextNonNull(of, in.from)
	if err != nil || !ok || found.Start > in.to {
		return history.Value{}
	}
	return found.Value
}

// choose returns the attributes that are rows, in their order.
func (m *pixelMaker) choose(ctx context.Context, c rowChoice, all []activity) ([]activity, error) {
	v := m.pyramid.View()
	all = slices.DeleteFunc(all, func(a activity) bool {
		if a.time == 0 || c.find == "" || ctx.Err() != nil {
			return a.time == 0
		}
		return !strings.Contains(strings.ToLower(pathText(v.Names, a.attribute)), c.find) && !strings.Contains(strings.ToLower(nameOf(v, a.attribute, m.in)), c.find)
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if c.waits {
		if err := m.waits(ctx, all); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(all, func(a, b activity) int {
		return cmp.Or(cmp.Compare(m.waited[b.attribute], m.waited[a.attribute]), cmp.Compare(b.intervals, a.intervals), cmp.Compare(a.attribute, b.attribute))
	})
	return all, nil
}

// waits finds the longest wait of each attribute in the range.
func (m *pixelMaker) waits(ctx context.Context, all []activity) error {
	intervals := uint64(0)
	for _, a := range all {
		intervals += a.intervals
	}
	if intervals > mostWaited {
		return fault.TooCostly("the longest waits of %d intervals, at most %d: ask about a shorter time", intervals, mostWaited)
	}
	m.waited = make(map[history.Attribute]uint64, len(all))
	for _, a := range all {
		if err := ctx.Err(); err != nil {
			return err
		}
		longest, err := stats.LongestWait(m.pyramid.View(), a.attribute, m.in.from, m.in.to)
		if err != nil {
			return err
		}
		m.waited[a.attribute] = longest
	}
	return nil
}

// below returns the attributes below another one with a value in the range, parents first, without asides.
func (m *pixelMaker) below(a history.Attribute) (out []activity, err error) {
	v := m.pyramid.View()
	for _, child := range slices.Collect(v.Descendants(a)) {
		name, err := v.Name(child)
		if err != nil {
			return nil, err
		}
		if slices.Contains(asides, name) {
			continue
		}
		found, err := m.pyramid.MeasuresInto(nil, []history.Attribute{child}, m.in.from, m.in.to, 1)
		if err != nil {
			return nil, err
		}
		if one := found.Attribute(0)[0]; one.Time > 0 {
			out = append(out, activity{child, one.Intervals, one.Time})
		}
		if len(out) == mostPixelRows {
			break
		}
	}
	return out, nil
}
