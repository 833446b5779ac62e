package peers

import (
	"fmt"
	"maps"
)

// Check inserts the same rows into a store from open and into an oracle, and asks both every question,
// before and after Settle. The first answers that differ are an error. name is a kind's.
func Check(name, workload string, rows int64, open func() (Store, error)) (err error) {
	w, err := openSource(workload)
	if err != nil {
		return err
	}
	o, s := &Oracle{}, Store(nil)
	if s, err = open(); err != nil {
		return err
	}
	defer func() {
		if closing := s.Close(); err == nil {
			err = closing
		}
	}()
	about, err := (&loader{peer: o}).load(w, rows)
	if err != nil {
		return err
	}
	if _, err := (&loader{peer: s}).load(w, rows); err != nil {
		return err
	}
	for _, settled := range []bool{false, true} {
		if settled {
			if err := s.Settle(); err != nil {
				return err
			}
		}
		for _, q := range Questions(about) {
			if !kinds[name].asked(q) {
				continue
			}
			want, err := Answer(o, q)
			if err != nil {
				return err
			}
			got, err := Answer(s, q)
			if err != nil {
				return err
			}
			if !maps.Equal(got, want) {
				return fmt.Errorf("%s, settled %v: %d elements, want %d; the first that differ: %s", q.Name, settled, len(got), len(want), FirstDifferent(got, want))
			}
		}
	}
	return nil
}
