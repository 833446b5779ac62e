package main

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// labelSets is the number of label sets. It is above the number of values of each label.
const labelSets = 1000

// label describes a label: the share of label sets that have it, and its number of values.
type label struct {
	name   string
	fill   float64
	values int
}

// labels are the labels in the order of the schema.
var labels = []label{
	{"action", 0, 0},
	{"app", 0.01, 4},
	{"comm", 0.99, 800},
	{"container", 0.97, 50},
	{"cpu", 1, 32},
	{"instance", 0, 0},
	{"k8s_app", 0.01, 7},
	{"namespace", 0.97, 14},
	{"node", 1, 30},
	{"thread_name", 1, 390},
}

// absent is the number of a label without a value.
const absent = -1

// labelSet has the number of each label's value, in the order of labels.
type labelSet [10]int

// text returns the value of a label, or "" for none.
func (s *labelSet) text(of int) string {
	if s[of] == absent {
		return ""
	}
	return fmt.Sprintf("%s_%d", labels[of].name, s[of])
}

// makeLabelSets returns the label sets, sorted by the label with the fewest values first. A label is absent
// from the first sets that are made, and its values take turns in the others.
func makeLabelSets() []labelSet {
	sets := make([]labelSet, labelSets)
	for i := range sets {
		for k, l := range labels {
			without := int(math.Round((1 - l.fill) * labelSets))
			sets[i][k] = absent
			if i >= without && l.values > 0 {
				sets[i][k] = (i - without) % l.values
			}
		}
	}
	order := make([]int, len(labels))
	for k := range order {
		order[k] = k
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(labels[a].values, labels[b].values) })
	slices.SortFunc(sets, func(a, b labelSet) int {
		for _, k := range order {
			if c := cmp.Compare(a[k], b[k]); c != 0 {
				return c
			}
		}
		return 0
	})
	return sets
}
