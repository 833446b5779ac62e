package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/granarydb/granary/bench/results"
)

// again is the number of additional rounds for a ratio that fell.
const again = 5

// list prints the targets at a small size, and compares their ratios with the ratios in an older list.
func (o *options) list(ctx context.Context, m *measurer) error {
	older, err := o.older()
	if err != nil {
		return err
	}
	all := newReports()
	varying := slices.DeleteFunc(quick(), func(r run) bool { return !r.rounds })
	if err := m.measure(ctx, all, slices.DeleteFunc(quick(), func(r run) bool { return r.rounds })); err != nil {
		return err
	}
	round := func() ([]row, error) {
		err := m.measure(ctx, all, varying)
		return all.rows(), err
	}
	var lists [][]row
	for range o.rounds {
		rows, err := round()
		if err != nil {
			return err
		}
		lists = append(lists, rows)
	}
	rows := middle(lists)
	if err := printRows(rows); err != nil {
		return err
	}
	return hold(older, rows, round)
}

// older returns the list to compare ratios with, or nil if there is none.
func (o *options) older() (rows []row, err error) {
	if o.against == "" {
		return nil, nil
	}
	data, err := os.ReadFile(o.against)
	if err == nil {
		err = json.Unmarshal(data, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.against, err)
	}
	return rows, nil
}

// middle returns the medians over several lists: of figures, and of ratios that each relate one round.
func middle(lists [][]row) []row {
	rows := slices.Clone(lists[0])
	for i := range rows {
		of := func(value func(row) *float64) *float64 {
			var values []float64
			for _, list := range lists {
				if v := value(list[i]); v != nil {
					values = append(values, *v)
				}
			}
			if len(values) == 0 {
				return nil
			}
			m := results.Median(values)
			return &m
		}
		rows[i].Ours = of(func(r row) *float64 { return r.Ours })
		rows[i].Peer = of(func(r row) *float64 { return r.Peer })
		rows[i].Ratio = of(func(r row) *float64 { return r.Ratio })
	}
	return rows
}

// mostLoss is the fraction of a ratio that may be noise.
const mostLoss = 0.2

func byKey(rows []row) map[string]row {
	all := map[string]row{}
	for _, r := range rows {
		all[r.Key] = r
	}
	return all
}

// fallen returns an error for each ratio that is lower by more than mostLoss than in an older list, or
// missing, by key. It ignores targets whose recorded set is not installed.
func fallen(older, rows []row) map[string]error {
	before, fell := byKey(older), map[string]error{}
	for _, r := range rows {
		was := before[r.Key].Ratio
		switch {
		case was == nil || strings.HasPrefix(r.figure.Status, "skipped: the recorded threads are not at"):
		case r.Ratio == nil:
			fell[r.Key] = fmt.Errorf("%s: its ratio was %.3g, and is not measured", r.Key, *was)
		case *r.Ratio < *was*(1-mostLoss):
			fell[r.Key] = fmt.Errorf("%s: its ratio was %.3g, and is %.3g", r.Key, *was, *r.Ratio)
		}
	}
	return fell
}

// same compares a whole report with an older one. A ratio that fell or rose by more than mostLoss is an error.
func same(older, rows []row) error {
	before, fell := byKey(older), fallen(older, rows)
	var errs []error
	for _, r := range rows {
		err := fell[r.Key]
		if was := before[r.Key].Ratio; was != nil && r.Ratio != nil && *r.Ratio > *was*(1+mostLoss) {
			err = fmt.Errorf("%s: its ratio was %.3g, and is %.3g", r.Key, *was, *r.Ratio)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// hold compares rows with an older list. A ratio that fell is measured in more rounds, and it is enough if it
// is high in one of them, because another program on the machine can lower a ratio but nothing raises it.
func hold(older, rows []row, round func() ([]row, error)) error {
	fell := fallen(older, rows)
	for i := 0; i < again && len(fell) > 0; i++ {
		for _, err := range fell {
			fmt.Fprintf(os.Stderr, "report: %v; measured again, %d of %d\n", err, i+1, again)
		}
		rows, err := round()
		if err != nil {
			return err
		}
		still := fallen(older, rows)
		for key := range fell {
			if still[key] == nil {
				delete(fell, key)
			}
		}
	}
	var errs []error
	for _, r := range rows {
		if err := fell[r.Key]; err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
