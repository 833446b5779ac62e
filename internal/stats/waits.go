package stats

import (
	"slices"
	"strings"

	"github.com/granarydb/granary/history"
)

// IsWait reports whether an attribute waits in a state: one that importers call waiting, blocked, sleeping or parked.
func IsWait(v history.Value) bool {
	if v.Kind() != history.KindString {
		return false
	}
	text := strings.ToLower(v.Text())
	return slices.ContainsFunc([]string{"wait", "block", "sleep", "park", "monitor"}, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// LongestWait returns the nanoseconds of the longest part of a wait of an attribute in a range of instants.
func LongestWait(v *history.View, a history.Attribute, from, to int64) (longest uint64, err error) {
	for in, err := range v.Range(a, from, to, history.RangeOptions{}) {
		if err != nil {
			return 0, err
		}
		if IsWait(in.Value) {
			longest = max(longest, uint64(min(in.End, to))-uint64(max(in.Start, from))+1)
		}
	}
	return longest, nil
}
