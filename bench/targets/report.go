package targets

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/granarydb/granary/bench/results"
)

// Figure is a target and its measurement.
type Figure struct {
	About  string  `json:"about"`
	Unit   string  `json:"unit"`
	Must   float64 `json:"must"`
	Aim    float64 `json:"aim"`
	Better string  `json:"better"` // "lower" or "higher"
	Status string  `json:"status"` // "measured", or "skipped: " and the reason

	// The fields below are set if the target was measured.
	Value *float64 `json:"value,omitempty"` // the median
	Low   *float64 `json:"low,omitempty"`
	High  *float64 `json:"high,omitempty"`
	Runs  int      `json:"runs,omitempty"`
	Rows  int64    `json:"rows,omitempty"` // in the fleet
	// Met is set if the input had the must's size.
	Met    *bool              `json:"met,omitempty"`
	Detail map[string]float64 `json:"detail,omitempty"` // medians of parts
}

// compare sets whether the value meets the must.
func (f *Figure) compare() {
	met := *f.Value <= f.Must
	if f.Better == "higher" {
		met = *f.Value >= f.Must
	}
	f.Met = &met
}

// Report has all targets by key.
type Report struct {
	Machine string            `json:"machine"`
	Targets map[string]Figure `json:"targets"`
}

// Middle returns the report of several processes. A target's value is the median over the processes that
// measured it, and its range covers all of them. Its detail comes from the first. If none measured a
// target, it has the status from the first process whose run included it. The machine is the last
// process's.
func Middle(reports ...Report) Report {
	all := Report{Targets: map[string]Figure{}}
	for _, t := range table {
		var figures []Figure
		for _, r := range reports {
			all.Machine = r.Machine
			if f, ok := r.Targets[t.key]; ok {
				figures = append(figures, f)
			}
		}
		if len(figures) > 0 {
			all.Targets[t.key] = middle(figures)
		}
	}
	return all
}

func middle(figures []Figure) Figure {
	var values []float64
	all := figures[0]
	for _, f := range figures {
		switch {
		case f.Value == nil:
			if strings.Contains(all.Status, notAmong) {
				all = f
			}
			continue
		case len(values) == 0:
			all = f
			all.Runs = 0
		}
		values = append(values, *f.Value)
		low, high := min(*all.Low, *f.Low), max(*all.High, *f.High)
		all.Low, all.High, all.Runs = &low, &high, all.Runs+f.Runs
	}
	if len(values) == 0 {
		return all
	}
	value := results.Median(values)
	all.Value = &value
	if all.Met != nil {
		all.compare()
	}
	return all
}

// notAmong is in the reason for a target that a run did not include.
const notAmong = "is not among -"

// collector takes measurements by key.
type collector struct {
	samples map[string][]float64
	rows    map[string]int64
	skipped map[string]string
	details map[string]map[string]float64
	full    bool // the input has the musts' size
}

func newCollector(full bool) *collector {
	return &collector{
		samples: map[string][]float64{}, rows: map[string]int64{}, skipped: map[string]string{},
		details: map[string]map[string]float64{}, full: full,
	}
}

// add adds a target's samples. rows is 0 for targets without a fleet.
func (c *collector) add(key string, rows int64, samples ...float64) {
	c.samples[key], c.rows[key] = append(c.samples[key], samples...), rows
}

func (c *collector) skip(reason string, keys ...string) {
	for _, key := range keys {
		c.skipped[key] = reason
	}
}

// figures returns all targets in the table. A target without samples and without a reason is an error.
func (c *collector) figures() (map[string]Figure, error) {
	all := map[string]Figure{}
	for _, t := range table {
		f := Figure{About: t.about, Unit: t.unit, Must: t.must, Aim: t.aim, Better: "lower", Detail: c.details[t.key]}
		if t.higher {
			f.Better = "higher"
		}
		samples, reason := c.samples[t.key], c.skipped[t.key]
		switch {
		case reason != "":
			f.Status = "skipped: " + reason
		case len(samples) == 0:
			return nil, fmt.Errorf("target %s has no measurement", t.key)
		default:
			spread := results.SpreadOf(samples)
			f.Status, f.Value, f.Low, f.High = "measured", &spread.Median, &spread.Low, &spread.High
			f.Runs, f.Rows = len(samples), c.rows[t.key]
			if c.full {
				f.compare()
			}
		}
		all[t.key] = f
	}
	return all, nil
}

// WriteTable writes the targets as text, one a line, in the table's order.
func (r *Report) WriteTable(w io.Writer) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "target\tvalue\tlow\thigh\tmust\taim\tunit\t")
	for _, t := range table {
		f := r.Targets[t.key]
		if f.Value == nil {
			fmt.Fprintf(out, "%s\t-\t\t\t%v\t%v\t%s\t%s\n", t.key, f.Must, f.Aim, f.Unit, f.Status)
			continue
		}
		verdict := ""
		if f.Met != nil && !*f.Met {
			verdict = "short of its must"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%v\t%v\t%s\t%s\n", t.key, digits(*f.Value), digits(*f.Low), digits(*f.High), f.Must, f.Aim, f.Unit, verdict)
	}
	return out.Flush()
}

// digits formats a value with three significant digits.
func digits(v float64) string {
	if cmp.Compare(v, 1000) >= 0 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
