package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
)

// report is the report of all sets.
type report struct {
	Machine string            `json:"machine"`
	Rows    int               `json:"rows"`
	Repeat  int               `json:"repeat"`
	Keys    map[string]string `json:"keys"`
	Sets    []setReport       `json:"sets"`
	Skipped map[string]string `json:"skipped"` // sets, and why
}

// setReport is the report of a set.
type setReport struct {
	Set     string    `json:"set"`
	Engines []*result `json:"engines"`
}

// keys explains the figures.
var keys = map[string]string{
	"answers":              "by question; Q0 ids to Q3 ids are rows with the ids of locations instead of whole ones",
	"cold_cpu_ms":          "CPU time of the process, user and system, for the first answer, in Arrow; files are in the system's cache",
	"cpu_ms":               "the same of later answers, the median",
	"cold_wall_ms":         "wall time of the first answer",
	"wall_ms":              "wall time of later answers, the median",
	"digest":               "sums, counts and hashes over all that the answer has, equal for equal answers in any order",
	"load_cpu_us_per_row":  "CPU time to take the rows in; of this store from locations in memory to compacted rows, of others from the Parquet file",
	"load_wall_us_per_row": "wall time of the same",
	"memory_bytes_per_row": "memory that the rows take once loaded, counted as memory_of says",
	"disk_bytes_per_row":   "bytes of the files with the rows",
	"peak_memory_mb":       "the most memory that the process had",
}

// check returns an error if two engines give different answers to a question.
func (r *report) check() error {
	var differ []error
	for _, set := range r.Sets {
		differ = append(differ, set.check())
	}
	return errors.Join(differ...)
}

func (s *setReport) check() error {
	var differ []error
	for _, q := range questions {
		digests := map[string]string{}
		for _, e := range s.Engines {
			if a := e.Answers[q.name]; a != nil && a.Digest != "" {
				digests[e.Engine] = a.Digest
			}
		}
		if len(slices.Compact(slices.Sorted(maps.Values(digests)))) > 1 {
			differ = append(differ, fmt.Errorf("set %s, %s: answers differ: %v", s.Set, q.name, digests))
		}
	}
	return errors.Join(differ...)
}

// print writes the set as a table: CPU times of warm answers, and the first ones below.
func (s *setReport) print(to io.Writer) {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\t", s.Set)
	for _, q := range questions {
		fmt.Fprintf(w, "%s\t", q.name)
	}
	fmt.Fprint(w, "load us/row\tbytes/row\tfile\tpeak MB\t\n")
	for _, e := range s.Engines {
		if e.Skipped != "" || e.Engine == "oracle" {
			continue
		}
		fmt.Fprintf(w, "%s\t", e.Engine)
		e.cells(w, "", func(a *answer) float64 { return a.CPU })
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t\n", digits(e.Load), digits(e.Memory), digits(e.Disk), digits(e.Peak))
		if e.Answers["Q0 ids"] != nil {
			fmt.Fprint(w, "to ids\t")
			e.cells(w, " ids", func(a *answer) float64 { return a.CPU })
			fmt.Fprint(w, "\t\t\t\t\n")
		}
		fmt.Fprint(w, "cold\t")
		e.cells(w, "", func(a *answer) float64 { return a.ColdCPU })
		fmt.Fprint(w, "\t\t\t\t\n")
	}
	_ = w.Flush()
	fmt.Fprintln(to, "CPU ms of a warm answer, of one to ids, and of the first one (cold).")
	for _, e := range s.Engines {
		if e.Skipped != "" {
			fmt.Fprintf(to, "%s is skipped: %s\n", e.Engine, e.Skipped)
		}
		for _, name := range slices.Sorted(maps.Keys(e.Answers)) {
			if a := e.Answers[name]; a.Error != "" {
				fmt.Fprintf(to, "%s, %s: %s\n", e.Engine, name, a.Error)
			}
		}
	}
	fmt.Fprintln(to)
}

// cells writes a figure of each question, of the answers with a suffix.
func (r *result) cells(w io.Writer, suffix string, of func(*answer) float64) {
	for _, q := range questions {
		a := r.Answers[q.name+suffix]
		if a == nil || a.Error != "" {
			fmt.Fprint(w, "\t")
			continue
		}
		fmt.Fprintf(w, "%s\t", digits(of(a)))
	}
}

// digits formats a figure with three digits, and 0 as nothing.
func digits(v float64) string {
	switch {
	case v == 0:
		return ""
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.3g", v)
}
