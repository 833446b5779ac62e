package stats

import (
	"iter"
	"strconv"

	"github.com/granarydb/granary/history"
)

// wakerChild is the attribute below another one that has the number of what woke it: the name of an attribute beside it.
const wakerChild = "woken by"

// Wake is the end of a wait of an attribute.
type Wake struct {
	At int64             // the first instant after the wait
	By history.Attribute // what ended it; history.Top for a timer, the network, the system, or what the history does not have
}

// Wakes yields the ends of an attribute's waits in a range of instants, in the order of time. It returns nil for an
// attribute of which the history does not tell what woke it: all but goroutines. The errors are those of the view. It
// reads the attribute's intervals in the range, and looks up each one that ends a wait.
func Wakes(v *history.View, a history.Attribute, from, to int64) iter.Seq2[Wake, error] {
	waker, err := v.LookupFrom(a, wakerChild)
	if err != nil {
		return nil
	}
	return func(yield func(Wake, error) bool) {
		parent, err := v.Parent(a)
		if err != nil {
			yield(Wake{}, err)
			return
		}
		waited := false
		for in, err := range v.Range(a, from, to, history.RangeOptions{}) {
			if err != nil {
				yield(Wake{}, err)
				return
			}
			woken := waited && !IsWait(in.Value) && !in.Value.IsNull()
			if waited = IsWait(in.Value); !woken || in.Start < from {
				continue
			}
			by, err := v.At(waker, in.Start)
			wake := Wake{At: in.Start, By: history.Top}
			if err == nil && by.Value.Kind() == history.KindInt {
				if of, err := v.LookupFrom(parent, strconv.FormatInt(by.Value.Int(), 10)); err == nil {
					wake.By = of
				}
			}
			if !yield(wake, err) || err != nil {
				return
			}
		}
	}
}
