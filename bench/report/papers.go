package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const papersHeading = "## The papers again"

// buildMs returns the time of a build in milliseconds.
func (f treeFigures) buildMs() float64 {
	if f.median("build_m_s") == 0 {
		return 0
	}
	return float64(f.Intervals) / 1e3 / f.median("build_m_s")
}

// mib returns the size in MiB, or 0 for a store that was stopped.
func (f treeFigures) mib() float64 {
	if f.Stopped {
		return 0
	}
	return f.median("bytes_interval") * float64(f.Intervals) / (1 << 20)
}

func (f treeFigures) depth() float64 {
	if f.Stopped {
		return 0
	}
	return float64(f.Depth)
}

// figure returns a figure by its key.
func figure(key string) func(treeFigures) float64 {
	return func(f treeFigures) float64 { return f.median(key) }
}

// tableII is the paper's table of many-threads: 741,492 intervals, 50,598 attributes, 18.62 MiB of intervals.
var tableII = map[string]struct{ buildMs, deviation, depth, mib float64 }{
	"SHT": {1925, 353.1, 45, 86.31}, "oSHT": {1812, 332.9, 3, 21.87}, "eSHT": {1762, 345.4, 3, 21.44},
	"R2": {6604, 727.9, 3, 20.87}, "R3": {8926, 1485, 3, 20.81}, "vR": {6546, 387.4, 3, 21},
}

// views are the strategies of Table III, with the keys of our figures.
var views = []struct{ key, name string }{
	{"pstree_full", "PsTree, full"},
	{"pstree_single", "PsTree, single"},
	{"pstree_2d", "PsTree, 2D"},
	{"zoom_full", "Zoom, full"},
	{"zoom_single", "Zoom, single"},
	{"zoom_2d", "Zoom, 2D"},
}

// tableIII has the paper's milliseconds in the order of views. It has no 2D queries for the SHT and the oSHT.
var tableIII = map[string][6]float64{
	"SHT": {5360, 21210, 0, 29880, 15300, 0}, "oSHT": {6536, 19500, 0, 26860, 15000, 0},
	"eSHT": {6168, 940.6, 226.8, 30310, 6894, 4408}, "R2": {19220, 1882, 136.3, 42310, 7861, 3950},
	"R3": {65590, 914.9, 118.4, 267000, 6995, 4422}, "vR": {17100, 1969, 135.7, 40970, 8183, 4041},
}

// or formats a figure, or returns a dash for 0.
func or(v float64) string {
	if v == 0 {
		return "-"
	}
	return digits(v)
}

// papers writes the papers' and the note's tables and figures, with their numbers beside ours.
func (p *page) papers() {
	p.line("")
	p.line(papersHeading)
	p.line("")
	p.line("The state history tree (S: SHT, 2013), its successors (R: eSHT, R2 to R4 and vR, 2018) and the note on partial histories (N), written")
	p.line("here as the papers have them (`bench/trees/sht/doc.go` has the rules by section), beside package history. Theirs run in Java, on")
	p.line("processors of 2008 to 2012; ours are CPU times on %s. So what can agree is how the trees compare, and the", p.all.Papers.Machine)
	p.line("nodes that a question looks at, R's own measure (4.4). Questions are for a random attribute at a random instant, and answers are")
	p.line("counted. Blocks are in memory.")
	p.line("")
	p.line("Written by `cd bench && GOWORK=off go run ./report -papers`, of these commands:")
	p.command("papers")
	if p.all.Papers.Skipped != "" {
		p.line("")
		p.line("%s.", p.all.Papers.Skipped)
	}
	p.claims()
	p.tableTwo()
	p.tableThree()
	p.sparse()
	p.keyRanges()
	p.line("")
	p.line("### The papers' plots")
	p.line("")
	p.line("R's traces (Table I) go from 160 to 3,447,088 threads, 7,266 to 58,640,566 events and 600 KB to 1.8 GB; the last has 4.5 million")
	p.line("attributes. Ours are sets of R's model (4.4, figure 6) with a million intervals or more, up to four million attributes. From 3,000")
	p.line("attributes on each interval outlasts a leaf, so the SHT is the comb of R's figure 3, and its nodes grow by the square of the")
	p.line("intervals: it and the oSHT have sets of 300,000 intervals. S's traces of 10 to 550 GB are not at hand: ours grow to 4 million.")
	for _, f := range paperFigures {
		name, _, _ := strings.Cut(f.title, ":") // the picture has its title
		p.line("")
		p.line("![%s](docs/pictures/%s)", name, f.file)
	}
	p.ahead()
	p.partials()
}

// tableTwo writes Table II: build, depth and size, and the same without the attributes that the paper did not
// have.
func (p *page) tableTwo() {
	p.line("")
	p.line("### R, Table II: build, depth and size of many-threads")
	p.line("")
	p.line("The paper's set has 741,492 intervals of 50,598 attributes. Today's state system makes 821,120 and 58,428 of the same trace, because it")
	p.line("adds an attribute PID to each thread; without these (the second number of a cell) 796,759 and 50,065.")
	p.head("tree", "paper: build, ms", "× eSHT", "build, ms", "× eSHT", "paper: depth", "depth", "paper: MiB", "MiB", "nodes")
	sets := p.all.Papers.Sets
	for _, name := range treeNames {
		t, f, g := tableII[name], sets[threads][name], sets[withoutPID][name]
		if f.Intervals == 0 {
			continue
		}
		both := func(of func(treeFigures) float64) string {
			return strings.TrimSuffix(or(of(f))+" / "+or(of(g)), " / -")
		}
		theirs := []string{"-", "-"}
		if t.buildMs > 0 {
			theirs = []string{digits(t.buildMs) + " ± " + digits(t.deviation), digits(t.buildMs / tableII[eSHT].buildMs)}
		}
		p.row(name, theirs[0], theirs[1], both(treeFigures.buildMs), digits(f.buildMs()/sets[threads][eSHT].buildMs()), or(t.depth), both(treeFigures.depth),
			or(t.mib), both(treeFigures.mib), or(float64(f.Nodes)))
	}
}

// tableThree writes Table III: the queries of two views.
func (p *page) tableThree() {
	p.line("")
	p.line("### R, Table III: the queries of the Control Flow View, many-threads")
	p.line("")
	p.line("PsTree wants PPID and Exec_name of each thread: by a full query for each of 1,000 pixels, by single queries in the middle, or by one 2D")
	p.line("query. Zoom shows the states of 50 threads in 1,000 pixels, the whole time, ten times half of it, and ten scrolls: by a full query for")
	p.line("each pixel, by single queries that go on behind each answer, or by a 2D query for each view. The paper gives neither pixels nor threads,")
	p.line("and its times include drawing. A cell has the paper's ms, ours, and the nodes searched.")
	head := []string{"tree"}
	for _, v := range views {
		head = append(head, v.name)
	}
	p.head(head...)
	for _, name := range paperTrees {
		cells := []string{name}
		f := p.all.Papers.Sets[threads][name]
		for i, v := range views {
			cells = append(cells, fmt.Sprintf("%s; %s; %s", or(tableIII[name][i]), or(f.median(v.key+"_ms")), or(f.median(v.key+"_nodes"))))
		}
		p.row(cells...)
	}
}

// sparse writes figure 18.
func (p *page) sparse() {
	p.line("")
	p.line("### R, figure 18: 100 attributes at 2,000 instants as single, full and 2D queries")
	p.line("")
	p.line("A cell has ms and nodes searched. The paper leaves out the full queries of vR.")
	p.head("set", "eSHT, single", "eSHT, full", "eSHT, 2D", "vR, single", "vR, full", "vR, 2D")
	for _, set := range append([]string{threads}, growing[:sparseSets]...) {
		cells := []string{set}
		for _, name := range []string{eSHT, "vR"} {
			for _, key := range []string{"sparse_single", "sparse_full", "sparse_2d"} {
				f := p.all.Papers.Sets[set][name]
				cells = append(cells, or(f.median(key+"_ms"))+"; "+or(f.median(key+"_nodes")))
			}
		}
		p.row(cells...)
	}
}

// keyRanges writes figure 8, a histogram.
func (p *page) keyRanges() {
	p.line("")
	p.line("### R, figure 8: nodes by the share of all attributes between their least and their greatest, synth:10000:100")
	p.line("")
	p.line("The paper's histogram of the eSHT of 10,000 threads leans to the full range, so keys in headers do little there.")
	p.head("tree", "nodes to 10 %, to 20 %, up to 100 %")
	for _, name := range treeNames {
		f := p.all.Papers.Sets["synth:10000:100"][name]
		if f.Ranges == nil {
			continue
		}
		var nodes []string
		for _, n := range f.Ranges {
			nodes = append(nodes, fmt.Sprint(n))
		}
		p.row(name, strings.Join(nodes, ", "))
	}
}

// whyAhead explains, for a column, why a tree can be ahead.
var whyAhead = map[string]string{
	"build_m_s": "a history puts each interval beside those of its attribute, a tree behind the one before. With very many attributes " +
		"nearly all miss the cache. On many-threads 63 % of a build is placing (`go test ./history -run '^$' -bench Build -cpuprofile FILE`). " +
		"It is the price of questions about an attribute, and of a tenth of the bytes",
	"bytes_interval": "names are in the image of history, and trees have none",
	"restart_ms":     "a tree reads the few nodes of its first question; an image is read and checked as a whole (histories in files read single tiles)",
	"single_us":      "not expected",
	"full_us": "a tile has ends alone, for a seventh of the bytes, so an interval begins where the one before it ended; a tree hands records over as they " +
		"are. Into older memory history is ahead on many-threads (target `hist-slice-into`)",
	"plane_ms": "each of few attributes with many intervals fills many tiles of its lane, all of which the instants touch",
	"kind_ms":  "attributes with few intervals fill a lane a tile or two, so nearly every tile is opened for few answers",
}

// ahead writes the figures in which the best tree of a set is better than history, and explains them.
func (p *page) ahead() {
	p.line("")
	p.line("### Where a tree is ahead of history")
	p.line("")
	p.line("The tree that is furthest ahead in a set, and how many times.")
	p.line("")
	sets := p.all.Papers.Sets
	for _, key := range columns {
		var better []string
		for _, set := range slices.Sorted(maps.Keys(sets)) {
			best, most := "", 1.0
			for _, name := range treeNames[:len(treeNames)-1] {
				mine, f := sets[set][history].median(key), sets[set][name]
				if f.Stopped || f.median(key) == 0 || mine == 0 {
					continue
				}
				r := mine / f.median(key)
				if key == columns[0] {
					r = 1 / r
				}
				if r > most {
					best, most = name, r
				}
			}
			if best != "" {
				better = append(better, fmt.Sprintf("%s %s %s", set, best, ratio(most)))
			}
		}
		if better == nil {
			p.line("- `%s`: in no set.", key)
			continue
		}
		p.line("- `%s`: %s. Why: %s.", key, strings.Join(better, ", "), whyAhead[key])
	}
	ns := func(store string) string {
		var of []string
		for _, set := range []string{threads, million, fourMillion} {
			v := sets[set][store].median("build_m_s")
			if v > 0 {
				v = 1e3 / v
			}
			of = append(of, or(v))
		}
		return strings.Join(of, ", ")
	}
	p.line("")
	p.line("On %s, %s and %s a history is built in %s ns an interval, and the eSHT in %s.", threads, million, fourMillion, ns(history), ns(eSHT))
}

// partials writes the table of partial histories.
func (p *page) partials() {
	p.line("")
	p.line("## Partial histories")
	p.line("")
	p.line("The note keeps what crosses a checkpoint every n events, and replays the events between two. It claims files 1,000 times smaller,")
	p.line("queries 1.2 to 1.5 times slower, and a build that is a bit faster, alike for all n, as one thread reads and another writes. Here one")
	p.line("thread builds. [0034](docs/decisions/0034-partial-histories.md) says where each claim holds.")
	p.command("partials")
	p.line("")
	p.line("![Bytes and times against the distance of checkpoints](docs/pictures/partial.svg)")
	p.line("")
	p.line("%s", strings.TrimSpace(p.all.Partials))
}
