package main

import (
	"encoding/json"
	"fmt"
	"path"
)

// kind is the meaning of a number in a report.
type kind int

const (
	cost    kind = iota + 1 // lower is better
	rate                    // higher is better
	work                    // equal in all runs
	ignored                 // a figure about the machine, with all below it
)

// workloadNames are the workloads that can be compared.
var workloadNames = []string{"fleet", "queries", "arrow", "histories", "durable"}

// figureKinds has the compared numbers in each workload's report, by the last element of their path.
var figureKinds = map[string]map[string]kind{
	"fleet": {
		"insert_codes_ns_per_row": cost, "insert_codes_maintained_ns_per_row": cost, "insert_codes_100_a_tx_ns_per_row": cost,
		"insert_lists_known_ns_per_row": cost, "insert_lists_new_all_in_ns_per_row": cost, "new_stack_of_20_us": cost,
		"allocs_per_profile": cost, "allocs_per_profile_100_a_tx": cost,
		"heap_bytes_per_row_without_dictionaries": cost, "heap_bytes_per_stack": cost, "heap_bytes_per_row": cost,
		"write_amplification": cost,
		"profiles":            work, "rows": work, "distinct_stacks": work, "distinct_locations": work, "columns": work, "series": work,
	},
	"queries": {
		"cpu_ms": cost, "alloc_bytes": cost, "match_ms": cost, "p50_us": cost, "p99_us": cost, "rows_a_second": rate, "machine": ignored,
		"groups": work, "result_bytes": work, "jobs": work, "rows": work, "profiles": work, "series": work, "stacks": work,
	},
	"arrow": {
		"cpu_ms": cost, "rows": work, "sum": work, "profiles": work, "series": work, "stacks": work,
	},
	"histories": {
		"build_m_s": rate, "add_m_s": rate, "change_m_s": rate, "bytes_interval": cost, "state_ns": cost, "slice_ms": cost,
		"slice_new_ms": cost, "cursor_ms": cost, "sweep_ms": cost, "sample_ms": cost, "sample_threads_ms": cost,
		"sample_threads_new_ms": cost, "range_us": cost, "attributes": work, "intervals": work,
	},
	"durable": {
		"log_bytes_per_row": cost, "log_bytes_per_row_without_dictionaries": cost, "file_bytes_per_row": cost,
		"insert_codes_ratio": cost, "insert_codes_maintained_ratio": cost, "replay_m_rows_per_s": rate,
		"open_killed_ms": cost, "open_closed_ms": cost, "close_ns_per_row": cost,
		"profiles": work, "rows": work, "distinct_stacks": work, "series": work,
	},
}

// targetOf has the workload figures that measure a target.
var targetOf = map[string]string{
	"fleet/heap_bytes_per_row":                       "heap-1m",
	"queries/queries/merge-all/cpu_ms":               "merge-all",
	"queries/queries/label-names/cpu_ms":             "label-names",
	"queries/queries/label-values/cpu_ms":            "label-values",
	"queries/queries/types/cpu_ms":                   "types",
	"queries/writer/phases/paced/inserts/p99_us":     "insert-p99",
	"arrow/figures/merge-dictionary/cpu_ms":          "merge-all-arrow",
	"arrow/figures/scan-native/cpu_ms":               "scan-arrow",
	"arrow/figures/scan-dictionary/cpu_ms":           "scan-arrow-dictionary",
	"durable/log_bytes_per_row_without_dictionaries": "log-bytes",
	"durable/insert_codes_ratio/median":              "log-cost",
	"durable/insert_codes_maintained_ratio/median":   "log-cost-maintained",
	"histories/sets/many-threads/bytes_interval":     "hist-bytes",
	"histories/sets/many-threads/build_m_s":          "hist-build",
	"histories/sets/many-threads/state_ns":           "hist-state",
	"histories/sets/synth:1000000:4/state_ns":        "hist-state-1e6",
	"histories/sets/many-threads/slice_new_ms":       "hist-slice",
	"histories/sets/many-threads/slice_ms":           "hist-slice-into",
	"histories/sets/many-threads/cursor_ms/16":       "hist-cursor",
	"histories/sets/many-threads/sample_ms":          "hist-sample",
	"histories/sets/many-threads/sample_threads_ms":  "hist-kind",
}

// value is a number in a report.
type value struct {
	kind   kind
	number float64
}

// values are a report's compared numbers, by path.
type values map[string]value

// readValues reads a report. A path is the workload and the keys down to the number, with an element's name
// in place of its index.
func readValues(workload string, report []byte) (values, error) {
	var tree any
	if err := json.Unmarshal(report, &tree); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	v := values{}
	v.add(figureKinds[workload], workload, 0, tree)
	if len(v) == 0 {
		return nil, fmt.Errorf("the report has no figure of workload %s", workload)
	}
	return v, nil
}

// add adds the numbers below a node. of is the nearest key's kind.
func (v values) add(kinds map[string]kind, at string, of kind, node any) {
	switch node := node.(type) {
	case map[string]any:
		for key, child := range node {
			below := of
			if k, ok := kinds[key]; ok {
				below = k
			}
			if below == ignored {
				continue
			}
			v.add(kinds, at+"/"+key, below, child)
		}
	case []any:
		for i, child := range node {
			v.add(kinds, at+"/"+elementName(i, child), of, child)
		}
	case float64:
		if of != 0 {
			v[at] = value{of, node}
		}
	}
}

// elementName returns the name of a list element, its index if it has none. A set's name is a path, whose
// last element is the same everywhere.
func elementName(i int, node any) string {
	fields, _ := node.(map[string]any)
	for _, key := range []string{"question", "query", "name", "read", "set"} {
		if name, ok := fields[key].(string); ok {
			return path.Base(name)
		}
	}
	return fmt.Sprint(i)
}
