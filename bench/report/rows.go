package main

import (
	"maps"
	"slices"

	"github.com/granarydb/granary/bench/targets"
)

// row compares a target with its peer.
type row struct {
	Key   string   `json:"key"`
	Ours  *float64 `json:"ours"`
	Peer  *float64 `json:"peer"`
	Store string   `json:"store,omitempty"`
	Unit  string   `json:"unit"`
	Must  float64  `json:"must"`
	Met   *bool    `json:"met"`
	// Ratio is how many times better our figure is than the peer's; nil if either is unknown or not positive.
	Ratio *float64 `json:"ratio,omitempty"`

	figure targets.Figure
}

func (r *row) relate() {
	if r.Ours == nil || r.Peer == nil || *r.Ours <= 0 || *r.Peer <= 0 {
		return
	}
	times := *r.Peer / *r.Ours
	if r.figure.Better == "higher" {
		times = 1 / times
	}
	r.Ratio = &times
}

// peer locates the figure that a target is compared with. Without a set it is a figure in the report on profile
// stores; with one, a figure of an interval store on that set. times converts the peer's unit to the target's.
type peer struct {
	store, figure string
	durable       bool
	set           string
	times         float64
}

const (
	frost        = "frostdb-parca"
	threads      = "many-threads"
	million      = "synth:1000000:4"
	eSHT         = "eSHT"
	microToNano  = 1e3
	microToMilli = 1e-3
)

// peersOf has the peer of each target that has one: FrostDB as used by Parca, or the eSHT of the papers.
var peersOf = map[string]peer{
	"insert-ids-1m":         {store: frost, figure: "all_in_ns_per_row"},
	"insert-record":         {store: frost, figure: "all_in_ns_per_row"},
	"heap-1m":               {store: frost, figure: "heap_settled_bytes_per_row"},
	"merge-all":             {store: frost, figure: "query_ms.merge-all"},
	"merge-all-arrow":       {store: frost, figure: "query_ms.merge-all"},
	"merge-type-arrow":      {store: frost, figure: "query_ms.merge-type"},
	"merge-job-arrow":       {store: frost, figure: "query_ms.merge-job"},
	"select-pod":            {store: frost, figure: "query_ms.select-pod"},
	"one-profile":           {store: frost, figure: "query_ms.one-profile"},
	"regex-pods":            {store: frost, figure: "query_ms.select-pods-wide"},
	"scan-arrow":            {store: frost, figure: "query_ms.scan-arrow"},
	"scan-arrow-dictionary": {store: frost, figure: "query_ms.scan-arrow"},
	"label-names":           {store: frost, figure: "query_ms.label-names"},
	"label-values":          {store: frost, figure: "query_ms.label-values"},
	"types":                 {store: frost, figure: "query_ms.types"},
	"log-bytes":             {store: frost, figure: "log_bytes_per_row", durable: true},
	"file-bytes-1m-ids":     {store: frost, figure: "file_bytes_per_row", durable: true},
	"hist-bytes":            {store: eSHT, figure: "bytes_interval", set: threads},
	"hist-file":             {store: eSHT, figure: "bytes_interval", set: threads},
	"hist-build":            {store: eSHT, figure: "build_m_s", set: threads},
	"hist-state":            {store: eSHT, figure: "single_us", set: threads, times: microToNano},
	"hist-state-1e6":        {store: eSHT, figure: "single_us", set: million, times: microToNano},
	"hist-slice":            {store: eSHT, figure: "full_us", set: threads, times: microToMilli},
	"hist-slice-into":       {store: eSHT, figure: "full_us", set: threads, times: microToMilli},
	"hist-sample":           {store: eSHT, figure: "plane_ms", set: threads},
	"hist-kind":             {store: eSHT, figure: "kind_ms", set: threads},
}

// find returns the peer's figure; ok is false if it was not measured.
func (p peer) find(all *reports) (value float64, ok bool) {
	if p.set != "" {
		f, ok := all.Trees.Sets[p.set][p.store].Figures[p.figure]
		return f.Median * p.times, ok
	}
	from := all.Peers
	if p.durable {
		from = all.Durable
	}
	value, ok = from.Peers[p.store].Median[p.figure]
	return value, ok
}

// rows returns all targets in their order. If there were rounds, the peers' figures and the ratios are medians
// over them.
func (all *reports) rows() []row {
	rows := all.related()
	var lists [][]row
	for _, n := range slices.Sorted(maps.Keys(all.rounds)) {
		lists = append(lists, all.rounds[n].related())
	}
	if len(lists) == 0 {
		return rows
	}
	for i, r := range middle(lists) {
		if r.Ratio != nil {
			rows[i].Peer, rows[i].Store, rows[i].Ratio = r.Peer, r.Store, r.Ratio
		}
	}
	return rows
}

// related returns all targets, each with its peer's figure from these reports alone.
func (all *reports) related() []row {
	var rows []row
	for _, key := range targets.Keys() {
		f := all.Targets.Targets[key]
		r := row{Key: key, Ours: f.Value, Unit: f.Unit, Must: f.Must, Met: f.Met, figure: f}
		if p, has := peersOf[key]; has {
			if p.times == 0 {
				p.times = 1
			}
			if value, ok := p.find(all); ok {
				r.Peer, r.Store = &value, p.store
			}
		}
		r.relate()
		rows = append(rows, r)
	}
	return rows
}
