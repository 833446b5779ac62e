package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// paperFigure is a figure of the papers, again: a measure of each store against an axis of the sets.
type paperFigure struct {
	file, title, y string
	x              string // the axis
	sets           []string
	at             func(set string) float64 // on the axis
	of             func(treeFigures) float64
}

// ofSet returns the attributes of a made set and the changes of each.
func ofSet(set string) (attributes, changes float64) {
	if _, err := fmt.Sscanf(set, "synth:%f:%f", &attributes, &changes); err != nil {
		return 0, 0
	}
	return attributes, changes
}

// growing are the sets that grow in attributes, and longer those that grow in intervals.
var (
	growing = []string{"synth:100:10000", "synth:1000:1000", "synth:10000:100", "synth:100000:10", million}
	longer  = []string{"synth:1000:100", "synth:1000:1000", "synth:1000:2000"}
)

// paperFigures has six figures for each of the two papers. Their numbers in the papers, and which of the
// measures has which, are not known here.
var paperFigures = slices.Concat(
	paperPlots("paper-sht", "intervals, of 1,000 attributes", longer, func(set string) float64 { a, n := ofSet(set); return a * n }),
	paperPlots("paper-rsht", "attributes, of a million intervals (five at the right end)", growing, func(set string) float64 { a, _ := ofSet(set); return a }),
)

func paperPlots(name, x string, sets []string, at func(string) float64) (all []paperFigure) {
	for _, m := range []struct {
		name, title, y string
		of             func(treeFigures) float64
	}{
		{"build", "build", "ms", treeFigures.buildMs},
		{"size", "size", "MiB", treeFigures.mib},
		{"restart", "restart", "ms", func(f treeFigures) float64 { return f.median("restart_ms") }},
		{"single", "the state of an attribute", "us", func(f treeFigures) float64 { return f.median("single_us") }},
		{"full", "the states of all attributes", "us", func(f treeFigures) float64 { return f.median("full_us") }},
		{"plane", "100 attributes at 2,000 times", "ms", func(f treeFigures) float64 { return f.median("plane_ms") }},
	} {
		all = append(all, paperFigure{file: name + "-" + m.name + ".svg", title: m.title, y: m.y, x: x, sets: sets, at: at, of: m.of})
	}
	return all
}

// buildMs returns the time of a build in milliseconds.
func (f treeFigures) buildMs() float64 {
	if f.median("build_m_s") == 0 {
		return 0
	}
	return float64(f.Intervals) / 1e3 / f.median("build_m_s")
}

// mib returns the size in MiB, 0 of a store that was stopped.
func (f treeFigures) mib() float64 {
	if f.Stopped {
		return 0
	}
	return f.median("bytes_interval") * float64(f.Intervals) / (1 << 20)
}

// theirs are the papers' figures of the trace many-threads, as far as they are known here: of 741,492 intervals and
// 50,598 attributes, in Java, on a processor of 2012. 0 is unknown.
var theirs = map[string]struct {
	buildMs, mib, depth            float64
	treeSingles, treePlane, zoomMs float64
}{
	"SHT":  {mib: 86.31, depth: 45},
	"oSHT": {mib: 21.87, depth: 3},
	"eSHT": {buildMs: 1762, mib: 21.44, depth: 3, treeSingles: 941, treePlane: 227, zoomMs: 4408},
	"R2":   {zoomMs: 3950},
	"R3":   {mib: 20.81, treePlane: 118},
	"vR":   {buildMs: 6546, mib: 21.00, treeSingles: 1969, treePlane: 136, zoomMs: 4041},
}

// treeNames are the trees in the order of the papers, then this store.
var treeNames = []string{"SHT", "oSHT", "eSHT", "R2", "R3", "R4", "vR", history}

// known formats a figure of a paper.
func known(v float64) string {
	if v == 0 {
		return "not known here"
	}
	return digits(v)
}

// papers writes the tables and figures of the papers, with theirs beside ours.
func (p *page) papers() {
	p.line("")
	p.line("## The papers again")
	p.line("")
	p.line("The state history tree (SHT, 2013), and the enhanced and the R-SHT (eSHT, R2 to R4 and vR, 2018), written here from what is known of")
	p.line("them, beside package history. The papers' own figures of many-threads are in Java on a processor of 2012; they are of 741,492")
	p.line("intervals and 50,598 attributes, ours of the 821,120 and 58,428 that the state system of today makes of the same trace. Their texts")
	p.line("are no part of this project: a figure that was not noted down is not known here.")
	p.tableTwo()
	p.tableThree()
	p.ahead()
	p.claims()
	for i, f := range paperFigures {
		if i == 0 {
			p.line("")
			p.line("### Against the number of intervals, as in figures 4 to 9 of the first paper")
			p.line("")
			p.line("The R-tree and PostgreSQL with GiST stand for the R-tree and PostGIS of the paper. Values of the paper: not known here.")
		} else if f.x != paperFigures[i-1].x {
			p.line("")
			p.line("### Against the number of attributes, as in figures 14 to 19 of the second paper")
			p.line("")
			p.line("Values of the paper: not known here, but for those of the claims above.")
		}
		p.line("")
		p.line("![%s, %s, against %s](docs/pictures/%s)", f.title, f.y, f.x, f.file)
	}
}

// tableTwo writes Table II: build, depth and size.
func (p *page) tableTwo() {
	p.line("")
	p.line("### Table II: build, size and depth, many-threads")
	p.head("tree", "build, ms", "the paper's", "size, MiB", "the paper's", "nodes", "depth", "the paper's")
	for _, name := range treeNames {
		f, ok := p.all.Trees.Sets[threads][name]
		if !ok {
			continue
		}
		t, nodes, depth, paper := theirs[name], "", "", "-"
		if f.Nodes > 0 {
			nodes, depth, paper = digits(float64(f.Nodes)), fmt.Sprint(f.Depth), known(t.depth)
		}
		if name == history {
			p.row(name, digits(f.buildMs()), "-", digits(f.mib()), "-", nodes, depth, "-")
			continue
		}
		p.row(name, digits(f.buildMs()), known(t.buildMs), digits(f.mib()), known(t.mib), nodes, depth, paper)
	}
}

// tableThree writes Table III: queries by kind.
func (p *page) tableThree() {
	p.line("")
	p.line("### Table III: queries, many-threads")
	p.line("")
	p.line("The paper's queries are those of two views, of whose work they include a part: a tree of processes, by single queries or by one 2D query,")
	p.line("and a zoom. Ours are bare: one state, all states, 100 attributes at 2,000 times, and the states of all threads at the same times.")
	p.head("tree", "single, us", "full, us", "100 × 2,000, ms", "threads × 2,000, ms", "the paper's tree, singles, ms", "the paper's tree, 2D, ms", "the paper's zoom, 2D, ms")
	for _, name := range treeNames {
		f, ok := p.all.Trees.Sets[threads][name]
		if !ok {
			continue
		}
		t := theirs[name]
		cells := []string{name, digits(f.median("single_us")), digits(f.median("full_us")), digits(f.median("plane_ms")), digits(f.median("kind_ms"))}
		if name == history {
			p.row(append(cells, "-", "-", "-")...)
			continue
		}
		p.row(append(cells, known(t.treeSingles), known(t.treePlane), known(t.zoomMs))...)
	}
}

// whyAhead says why a tree can be ahead in a column.
var whyAhead = map[string]string{
	"build_m_s":      "a tree appends a record to a node, and history sorts each tile by attribute and packs it",
	"bytes_interval": "names are in the image of history, and trees have none",
	"restart_ms":     "a tree reads the few nodes of its first question, and an image is read and checked as a whole (history/paged reads tiles when they are asked)",
	"single_us":      "not expected",
	"full_us":        "a tree hands decoded intervals of one path to a function, and history makes a slice in new memory from tiles of each lane; into older memory or with kept slices it takes less (hist-slice-into, hist-cursor)",
	"plane_ms":       "each of few attributes with many intervals fills many tiles of its lane, all of which the instants touch",
	"kind_ms":        "attributes with few intervals fill a lane a tile or two, so nearly every tile is opened for few answers",
}

// ahead writes where a tree is better than history, and why.
func (p *page) ahead() {
	p.line("")
	p.line("### Where a tree is ahead of history")
	better := map[string][]string{}
	for _, set := range slices.Sorted(maps.Keys(p.all.Trees.Sets)) {
		of := p.all.Trees.Sets[set]
		for _, key := range columns {
			for _, name := range treeNames[:len(treeNames)-1] {
				mine, f := of[history].median(key), of[name]
				if f.Stopped || f.median(key) == 0 || mine == 0 {
					continue
				}
				times := f.median(key) / mine
				if key == columns[0] {
					times = 1 / times
				}
				if times < 1 {
					better[key] = append(better[key], fmt.Sprintf("%s %s %s", set, name, ratio(times)))
				}
			}
		}
	}
	p.line("")
	for _, key := range columns {
		if better[key] == nil {
			p.line("- `%s`: in no set.", key)
			continue
		}
		p.line("- `%s`: %s. Why: %s.", key, strings.Join(better[key], ", "), whyAhead[key])
	}
}

// claim is a claim of a paper, with how to test it: ours returns figures in words, and whether they agree.
type claim struct {
	text string
	ours func(sets map[string]map[string]treeFigures) (figures string, holds bool)
}

// times returns a sentence about the ratio of a figure of two stores on a set, and the ratio.
func times(sets map[string]map[string]treeFigures, set, of, by string, figure func(treeFigures) float64) (string, float64) {
	a, b := figure(sets[set][of]), figure(sets[set][by])
	if a == 0 || b == 0 {
		return set + ": not measured", 0
	}
	return fmt.Sprintf("%s: %s", set, ratio(a/b)), a / b
}

// claims are those of the papers that are known here.
var claims = []claim{
	{"The eSHT is much smaller than the SHT on many threads (86.31 against 21.44 MiB, 4.0 times).", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "SHT", "eSHT", treeFigures.mib)
		return text, r > 2
	}},
	{"The eSHT is much less deep than the SHT on many threads (3 against 45).", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "SHT", "eSHT", func(f treeFigures) float64 { return float64(f.Depth) })
		return text, r > 5
	}},
	{"The eSHT answers twice as fast as the SHT.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "SHT", "eSHT", func(f treeFigures) float64 { return f.median("single_us") })
		return text + " in single queries", r >= 2
	}},
	{"vR takes 3.7 times as long to build as the eSHT.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "vR", "eSHT", treeFigures.buildMs)
		return text, r > 1
	}},
	{"vR is as small as the eSHT (21.00 against 21.44 MiB).", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "vR", "eSHT", treeFigures.mib)
		return text, r > 0 && r < 1.05
	}},
	{"Single queries of vR are up to 1,000 times as fast as those of the eSHT at a million attributes.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, million, "eSHT", "vR", func(f treeFigures) float64 { return f.median("single_us") })
		return text, r >= 100
	}},
	{"2D queries of vR are up to 1,000 times as fast as those of the eSHT at a million attributes.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, million, "eSHT", "vR", func(f treeFigures) float64 { return f.median("plane_ms") })
		return text, r >= 100
	}},
	{"Full queries of vR are slower than those of the eSHT.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "vR", "eSHT", func(f treeFigures) float64 { return f.median("full_us") })
		return text, r > 1
	}},
	{"The SHT, which never balances, builds faster than an R-tree.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "rtree", "SHT", treeFigures.buildMs)
		return text, r > 1
	}},
	{"The SHT builds faster than a database with a spatial index.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "PG GiST", "SHT", treeFigures.buildMs)
		return text, r > 1
	}},
	{"The SHT takes less space than a database with a spatial index.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "PG GiST", "SHT", treeFigures.mib)
		return text, r > 1
	}},
	{"The SHT answers full queries faster than a database with a spatial index.", func(sets map[string]map[string]treeFigures) (string, bool) {
		text, r := times(sets, threads, "PG GiST", "SHT", func(f treeFigures) float64 { return f.median("full_us") })
		return text, r > 1
	}},
}

// claims writes whether the claims hold here.
func (p *page) claims() {
	p.line("")
	p.line("### Claims")
	p.head("the paper", "here", "held")
	for _, c := range claims {
		text, holds := c.ours(p.all.Trees.Sets)
		held := map[bool]string{true: "yes", false: "**no**"}[holds]
		if strings.HasSuffix(text, "not measured") {
			held = "not measured"
		}
		p.row(c.text, text, held)
	}
}

// partials writes the table of partial histories.
func (p *page) partials() {
	p.line("")
	p.line("## Partial histories")
	p.line("")
	p.line("The note on partial histories keeps what crosses a checkpoint every n events, and replays the events between two. It claims files")
	p.line("1,000 times smaller, and queries 1.2 to 1.5 times slower. [0034](docs/decisions/0034-partial-histories.md) says where each holds. The")
	p.line("values of its four plots are not known here.")
	p.command("partials")
	p.line("")
	p.line("![Bytes and times against the distance of checkpoints](docs/pictures/partial.svg)")
	p.line("")
	p.line("%s", strings.TrimSpace(p.all.Partials))
}
