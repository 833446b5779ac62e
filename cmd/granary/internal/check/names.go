package check

import (
	"regexp"
	"strings"
)

// closure is a part of a name with a number that the compiler counts up in the function around it: a closure, a wrapper of go
// or defer, or the body of a range over a function.
var closure = regexp.MustCompile(`(\.|-)(func|gowrap|deferwrap|range)\d+((?:\.\d+)*)`)

// stableName returns a function's name without the type arguments of a generic function, which differ between its instances:
// slices.Sort[...] for slices.Sort[go.shape.[]string,go.shape.string]. Brackets at the start of a name, as of a binary, and empty
// ones, as of a C++ operator, stay.
func stableName(name string) string {
	var out strings.Builder
	depth, kept := 0, 0 // kept is where the text begins that is not in out
	for i := range len(name) {
		switch name[i] {
		case '[':
			if depth++; depth == 1 && i > 0 && !strings.HasPrefix(name[i:], "[]") {
				out.WriteString(name[kept:i])
				out.WriteString("[...]")
				kept = -1
			}
		case ']':
			if depth = max(0, depth-1); depth == 0 && kept < 0 {
				kept = i + 1
			}
		}
	}
	if kept < 0 { // a bracket is left open
		return name
	}
	out.WriteString(name[kept:])
	return out.String()
}

// family returns the name that all closures of one function share: main.f.func* for main.f.func2, and whether it is one.
func family(name string) (string, bool) {
	all := closure.ReplaceAllString(name, "$1$2*")
	return all, all != name
}

// rename gives functions their stable names, and the closures of a function one name if a side has one of them that the other
// lacks: a closure that is added or removed shifts the numbers of those behind it, so that they say nothing. Of closures whose
// numbers are the same on both sides each is compared by itself. small is the share of a total below which a side may miss a
// closure by chance.
func rename(m *Measured, small float64) {
	for s := range m.Sides {
		for r := range m.Sides[s].Runs {
			m.Sides[s].Runs[r].rename(stableName)
		}
	}
	shares := m.shares()
	shifted := map[string]bool{}
	for name, share := range shares {
		if all, is := family(name); is && (share[0] == 0 || share[1] == 0) && max(share[0], share[1]) >= small {
			shifted[all] = true
		}
	}
	if len(shifted) == 0 {
		return
	}
	for s := range m.Sides {
		for r := range m.Sides[s].Runs {
			m.Sides[s].Runs[r].rename(func(name string) string {
				if all, is := family(name); is && shifted[all] {
					return all
				}
				return name
			})
		}
	}
}

// shares returns the means of the shares that functions have with what they call, on each side.
func (m *Measured) shares() map[string][2]float64 {
	all := map[string][2]float64{}
	for s, side := range m.Sides {
		for _, r := range side.Runs {
			for name, c := range r.Functions {
				share := all[name]
				share[s] += c.Total / r.divisor(PerTotal) / float64(len(side.Runs))
				all[name] = share
			}
		}
	}
	return all
}

// rename gives functions other names. The costs of functions that get the same name are added up; a cost with callees is then at most
// the total of the run.
func (r *Run) rename(to func(string) string) {
	renamed := make(map[string]Cost, len(r.Functions))
	for name, c := range r.Functions {
		name = to(name)
		sum := renamed[name]
		sum.Self += c.Self
		sum.Total = min(sum.Total+c.Total, max(r.Total, c.Total))
		renamed[name] = sum
	}
	r.Functions = renamed
}
