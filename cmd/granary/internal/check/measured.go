package check

// Measured is what the runs of both sides measured of one type of values.
type Measured struct {
	Sample, Unit string
	// Kind tells types of one name apart, such as mutex and block; "" if there is one.
	Kind string
	// IsGauge says that values are of an instant, such as the heap in use. They are never divided by operations.
	IsGauge bool
	// Sides has the base and the new side.
	Sides [2]Side
}

// Side has the runs of one side.
type Side struct {
	Runs []Run
	// Callers returns the direct callers of a function in all runs. It may be nil, and is called for functions that one side
	// lacks.
	Callers func(function string) []string
}

// Run is what one run of a program measured.
type Run struct {
	// Total is the sum of the absolute values of all stacks.
	Total float64
	// Operations is the number of operations that were measured, such as the iterations of a benchmark; 0 if it is not known.
	Operations float64
	// Period is the value of one sample, for a type that is sampled at even steps of its own values, as CPU time is; 0 for others.
	Period float64
	// Functions has the costs by name.
	Functions map[string]Cost
}

// Cost is what a function costs by itself, and with all that it calls.
type Cost struct{ Self, Total float64 }

// Basis is what values are compared by.
type Basis string

// The bases of comparisons.
const (
	PerOperation Basis = "op"    // by operation: the cost of a unit of work
	PerTotal     Basis = "share" // as shares of the total of the run: runs may be of any length
	PerRun       Basis = "run"   // as they are: each run does the same work
	PerAny       Basis = "auto"  // by operation where all runs know it, gauges as they are, else as shares
)

// basis returns the basis of a type.
func (m *Measured) basis(asked Basis) Basis {
	switch {
	case asked == PerAny && m.IsGauge, asked == PerOperation && m.IsGauge:
		return PerRun
	case asked == PerOperation || asked == PerAny:
		if m.knowsOperations() {
			return PerOperation
		}
		return PerTotal
	}
	return asked
}

// knowsOperations reports whether each run knows its operations.
func (m *Measured) knowsOperations() bool {
	for _, side := range m.Sides {
		for _, r := range side.Runs {
			if r.Operations <= 0 {
				return false
			}
		}
	}
	return true
}

// divisor returns what the values of a run are divided by.
func (r *Run) divisor(by Basis) float64 {
	switch by {
	case PerOperation:
		return r.Operations
	case PerTotal:
		if r.Total > 0 {
			return r.Total
		}
	}
	return 1
}
