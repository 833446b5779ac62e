package check

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/granarydb/granary/profile/tree"
)

// How a function moved.
const (
	movedRenamed  = "renamed" // it has another name
	movedInlined  = "inlined" // its cost is in its caller
	movedCutOut   = "cut out" // its cost was in its caller
	leastLeft     = 0.05      // of a function that is gone: the share of its cost that the other side may have
	likeCost      = 0.10      // difference of costs of a renamed function whose name says nothing
	likeNamedCost = 2         // factor between costs of a renamed function with the last part of the name
	leastTaken    = 0.5       // share of the cost of an inlined function that its caller must have taken
	leastSamples  = 20        // of a function that is gone or new: fewer can be missing by chance
)

// Move is a function that moved, as a report tells it.
type Move struct {
	From string `json:"from"`
	To   string `json:"to"`
	How  string `json:"how"`
}

// change is a function and the means of its costs on each side.
type change struct {
	name string
	cost [2]Cost
}

// join finds the functions that moved and gives both sides one name for each, so that a quantity compares the new cost with the old
// one instead of telling of a function that is gone and one that is new. A pair that is wrong hides nothing: the sum of its costs
// is tested as any other. small is the least share of a function that matters.
func join(m *Measured, by Basis, small float64) map[string]Move {
	costs := m.means(by)
	whole := max(m.meanTotal(0, by), m.meanTotal(1, by))
	var only [2][]change // functions that the other side lacks
	for name, c := range costs {
		for s := range only {
			if c[s].Total >= small*whole && c[1-s].Total <= leastLeft*c[s].Total && m.Sides[s].hasAlways(name) {
				only[s] = append(only[s], change{name, c})
			}
		}
	}
	for s := range only {
		slices.SortFunc(only[s], func(a, b change) int {
			return cmp.Or(cmp.Compare(b.cost[s].Total, a.cost[s].Total), cmp.Compare(a.name, b.name))
		})
	}
	moves := map[string]Move{}
	left := map[string]bool{}
	for _, isNamed := range []bool{true, false} { // names are the better witness
		for _, gone := range only[0] {
			i := slices.IndexFunc(only[1], func(c change) bool { return !left[c.name] && isRenamed(gone, c, isNamed) })
			if i < 0 || left[gone.name] {
				continue
			}
			to := only[1][i].name
			left[gone.name], left[to] = true, true
			moves[to] = Move{gone.name, to, movedRenamed}
			m.Sides[0].merge(gone.name, to, true)
		}
	}
	for s, list := range only {
		for _, c := range list {
			if !left[c.name] {
				m.joinCaller(c, s, costs, moves)
			}
		}
	}
	return moves
}

// isRenamed reports whether a function that is gone and a new one can be the same.
func isRenamed(gone, found change, isNamed bool) bool {
	self, total := ratio(found.cost[1].Self, gone.cost[0].Self), ratio(found.cost[1].Total, gone.cost[0].Total)
	if isNamed {
		return lastPart(gone.name) == lastPart(found.name) && total <= likeNamedCost
	}
	return packageOf(gone.name) == packageOf(found.name) && self <= 1+likeCost && total <= 1+likeCost
}

// hasAlways reports whether each run has a function, and all together more of its samples than chance explains.
func (s *Side) hasAlways(name string) bool {
	samples, isSampled := 0.0, false
	for _, r := range s.Runs {
		c, there := r.Functions[name]
		if !there {
			return false
		}
		if r.Period > 0 {
			isSampled = true
			samples += c.Total / r.Period
		}
	}
	return !isSampled || samples >= leastSamples
}

// ratio returns the greater of two costs divided by the lesser.
func ratio(a, b float64) float64 {
	if a == b {
		return 1
	}
	if least := min(a, b); least > 0 {
		return max(a, b) / least
	}
	return math.Inf(1)
}

// lastPart returns the name of a function or method without its package and receiver.
func lastPart(name string) string {
	if i := strings.IndexByte(name, '['); i > 0 {
		name = name[:i]
	}
	return name[strings.LastIndexAny(name, ".:")+1:]
}

// packageOf returns the package in a function's name, or a name that has none.
func packageOf(name string) string { return cmp.Or(tree.PackageOf(name, ""), name) }

// joinCaller adds a function that side s alone has to a caller on that side whose own cost differs by as much on the other: it was
// inlined, or cut out.
func (m *Measured) joinCaller(c change, s int, costs map[string][2]Cost, moves map[string]Move) {
	if m.Sides[s].Callers == nil || c.cost[s].Self <= 0 {
		return
	}
	for _, caller := range m.Sides[s].Callers(c.name) {
		caller = stableName(caller)
		of, there := costs[caller]
		if !there || of[1-s].Self-of[s].Self < leastTaken*c.cost[s].Self || moves[caller].To != "" {
			continue
		}
		move := Move{c.name, caller, movedInlined}
		if s == 1 {
			move = Move{caller, c.name, movedCutOut}
		}
		moves[caller] = move
		m.Sides[s].merge(c.name, caller, false)
		return
	}
}

// merge adds the cost of a function by itself, and if it is another name also that with callees, to another function.
func (s *Side) merge(from, to string, isName bool) {
	for _, r := range s.Runs {
		of, there := r.Functions[from]
		if !there {
			continue
		}
		sum := r.Functions[to]
		sum.Self += of.Self
		if isName {
			sum.Total += of.Total
		}
		r.Functions[to] = sum
		delete(r.Functions, from)
	}
}

// means returns the means of the costs of functions on each side.
func (m *Measured) means(by Basis) map[string][2]Cost {
	all := map[string][2]Cost{}
	for s, side := range m.Sides {
		for _, r := range side.Runs {
			d := r.divisor(by) * float64(len(side.Runs))
			for _, name := range slices.Sorted(maps.Keys(r.Functions)) { // sums of fractions depend on the order (C3)
				c, sum := r.Functions[name], all[name]
				sum[s].Self += c.Self / d
				sum[s].Total += c.Total / d
				all[name] = sum
			}
		}
	}
	return all
}

// meanTotal returns the mean of the totals of a side.
func (m *Measured) meanTotal(s int, by Basis) (mean float64) {
	runs := m.Sides[s].Runs
	for _, r := range runs {
		mean += r.Total / r.divisor(by) / float64(len(runs))
	}
	return mean
}
