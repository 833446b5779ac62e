package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// claim is a claim of a paper: the ratio a/b of a figure of two stores on a set. theirs is the paper's
// number, or its word.
type claim struct {
	where, text string
	set, a, b   string
	unit        string
	of          func(treeFigures) float64
	theirs      string
	// low and high are the bounds on a/b within which the claim holds. If the paper has a number, they are
	// half and twice the number.
	low, high float64
	why       string // why the claim does not hold, or holds in another way
}

// about returns a claim with a number, which holds between half and twice the number.
func about(c claim, times float64) claim {
	c.theirs, c.low, c.high = ratio(times), times/2, times*2
	return c
}

const (
	more  = 1.05 // least ratio that counts as "more"
	alike = 1.25 // greatest ratio that counts as "the same"; its inverse is the least
	tenth = 10
)

// view returns the milliseconds of a strategy in Table III or figure 18. viewNodes returns its nodes.
func view(key string) func(treeFigures) float64      { return figure(key + "_ms") }
func viewNodes(key string) func(treeFigures) float64 { return figure(key + "_nodes") }

// claims are the claims of the papers that this part of the page can test, in the order of the papers.
var claims = []claim{
	{
		where: "S Fig. 4", text: "Blocks of 4 MB make full queries slow, beside 16 to 256 KB", set: longer[1], a: "SHT@4096K", b: "SHT", unit: "us", of: figure("full_us"),
		theirs: "much slower", low: 1.5, why: "a reader scans all records of a block that its binary search leaves",
	},
	{where: "S Fig. 4", text: "The same of the eSHT", set: longer[1], a: "eSHT@4096K", b: eSHT, unit: "us", of: figure("full_us"), theirs: "-", low: 1.5},
	{
		where: "S Fig. 5", text: "Above 10 GB, 1 MB blocks are slightly better in full queries", set: longer[2], a: "SHT@1024K", b: "SHT", unit: "us", of: figure("full_us"),
		theirs: "slightly less than ×1", high: 1, why: "ours has 0.1 GB in memory, where larger blocks save no reads",
	},
	{where: "S Fig. 6", text: "Filling an R-tree takes much longer", set: longer[1], a: "rtree", b: "SHT", unit: "ms", of: treeFigures.buildMs, theirs: "much longer", low: 2},
	{
		where: "S Fig. 7", text: "Full queries of an R-tree in memory are much faster", set: threads, a: "rtree", b: "SHT", unit: "us", of: figure("full_us"), theirs: "much less than ×1", high: 0.5,
		why: "this R-tree (tidwall) is by attribute and time, so a full query crosses all attributes",
	},
	{where: "S Fig. 7", text: "The same on a set of R's model", set: longer[1], a: "rtree", b: "SHT", unit: "us", of: figure("full_us"), theirs: "much less than ×1", high: 0.5, why: "as for many-threads"},
	{where: "S Fig. 8", text: "A spatial database needs much more disk", set: longer[1], a: "PG GiST", b: "SHT", unit: "MiB", of: treeFigures.mib, theirs: "much more", low: 2},
	{
		where: "S Fig. 8", text: "The same on many-threads, which degenerates the SHT (R 3.2)", set: threads, a: "PG GiST", b: "SHT", unit: "MiB", of: treeFigures.mib, theirs: "-", low: 2,
		why: "the SHT is a comb there; S has no such trace",
	},
	{where: "S Fig. 9", text: "Full queries of a spatial database are much slower", set: longer[1], a: "PG GiST", b: "SHT", unit: "us", of: figure("full_us"), theirs: "much slower", low: 2},
	about(claim{where: "R Table II", text: "The SHT is larger than the eSHT", set: threads, a: "SHT", b: eSHT, unit: "MiB", of: treeFigures.mib}, 86.31/21.44),
	about(claim{where: "R Table II", text: "The SHT is deeper than the eSHT", set: threads, a: "SHT", b: eSHT, unit: "levels", of: treeFigures.depth}, 45.0/3),
	about(claim{where: "R Table II", text: "R3 has the eSHT's size", set: threads, a: "R3", b: eSHT, unit: "MiB", of: treeFigures.mib}, 20.81/21.44),
	{
		where: "R Table II", text: "R2 has the eSHT's depth", set: threads, a: "R2", b: eSHT, unit: "levels", of: treeFigures.depth, theirs: "×1 (3; 3)", low: 1, high: 1,
		why: "the closing batch of the trace, all attributes at one end, adds a level to the eSHT",
	},
	about(claim{
		where: "R Table II", text: "R2 takes longer to build than the eSHT", set: threads, a: "R2", b: eSHT, unit: "ms", of: treeFigures.buildMs,
		why: "the paper's builds include the analysis of the trace, which both share",
	}, 6604.0/1762),
	about(claim{where: "R Table II", text: "R3 takes longer to build than the eSHT", set: threads, a: "R3", b: eSHT, unit: "ms", of: treeFigures.buildMs, why: "the paper's builds include the analysis of the trace, which both share"}, 8926.0/1762),
	about(claim{
		where: "R Table II", text: "The SHT takes hardly longer to build", set: threads, a: "SHT", b: eSHT, unit: "ms", of: treeFigures.buildMs,
		why: "the paper's builds include the analysis of the trace; here 2,000 more blocks of the comb are most of the time",
	}, 1925.0/1762),
	about(claim{where: "R Table III", text: "PsTree by singles: oSHT as SHT", set: threads, a: "oSHT", b: "SHT", unit: "ms", of: view("pstree_single")}, 19500.0/21210),
	about(claim{
		where: "R Table III", text: "PsTree by singles: SHT slower than eSHT", set: threads, a: "SHT", b: eSHT, unit: "ms", of: view("pstree_single"),
		why: "the nodes are as R's model says, twice as many (4.4); 22 must have another cause, such as blocks read again for each query",
	}, 21210/940.6),
	about(claim{
		where: "R Table III", text: "PsTree by singles: R2 slower than eSHT", set: threads, a: "R2", b: eSHT, unit: "ms", of: view("pstree_single"),
		why: "R2 searches a third of the nodes, as R 6.1 says it should; the table contradicts the model",
	}, 1882/940.6),
	about(claim{where: "R Table III", text: "PsTree of R3: singles slower than 2D", set: threads, a: "R3", b: "R3", unit: "ms", theirs: "-", why: "slower by more: 2D answers are not put into lists"}, 914.9/118.4),
	about(claim{
		where: "R Table III", text: "PsTree by full queries: R3 slower than eSHT", set: threads, a: "R3", b: eSHT, unit: "nodes", of: viewNodes("pstree_full"),
		why: "in nodes; a set that fits into one subtree has all of it searched",
	}, 65590.0/6168),
	about(claim{
		where: "R Table III", text: "The same in time", set: threads, a: "R3", b: eSHT, unit: "ms", of: view("pstree_full"),
		why: "records and answers, the same in each tree, take most of the time, and nodes in memory little",
	}, 65590.0/6168),
	about(claim{
		where: "R Table III", text: "Zoom by 2D: R2 faster than eSHT", set: threads, a: "R2", b: eSHT, unit: "ms", of: view("zoom_2d"),
		why: "ours draws nothing, so the difference between the trees is all there is",
	}, 3950.0/4408),
	{where: "R Fig. 14", text: "Sizes of R-SHTs are those of the raw intervals, with a slight overhead", set: million, a: "R2", b: eSHT, unit: "MiB", of: treeFigures.mib, theirs: "about ×1", low: 1 / alike, high: alike},
	{
		where: "R Fig. 15", text: "Depths of R-SHTs are close to packed trees, as the eSHT's are", set: million, a: eSHT, b: "R2", unit: "levels", of: treeFigures.depth, theirs: "close", high: 1.5,
		why: "the closing batch comes in the order of attributes with starts at random: each new leaf begins where one does, and earlier ones go up",
	},
	{
		where: "R Fig. 15", text: "The R2 too, at 4 million attributes", set: fourMillion, a: "R2", b: "R3", unit: "levels", of: treeFigures.depth, theirs: "close", high: 1.5,
		why: "half of the intervals are the closing batch: many go above the deepest node, where full nodes get siblings and roots; a subtree of R3 has room for 6.5 of the 8 million",
	},
	about(claim{where: "R Fig. 7", text: "Single queries of the eSHT are twice as fast as the SHT's", set: threads, a: "SHT", b: eSHT, unit: "us", of: figure("single_us")}, 2),
	about(claim{where: "R 4.4", text: "The same in nodes", set: threads, a: "SHT", b: eSHT, unit: "nodes", of: figure("single_nodes")}, 2),
	{where: "R Fig. 14", text: "The size of the SHT grows far beyond that of the eSHT with the attributes", set: fewer[4], a: "SHT", b: eSHT, unit: "MiB", of: treeFigures.mib, theirs: "far", low: tenth},
	{where: "R Fig. 15", text: "So does its depth", set: fewer[4], a: "SHT", b: eSHT, unit: "levels", of: treeFigures.depth, theirs: "far", low: tenth},
	{where: "R Fig. 16", text: "vR is as R2 until 2 million attributes", set: million, a: "vR", b: "R2", unit: "nodes", of: figure("single_nodes"), theirs: "×1", low: 1 / more, high: more},
	{
		where: "R Fig. 16", text: "vR is close to R3 from 4 million on", set: fourMillion, a: "vR", b: "R3", unit: "nodes", of: figure("single_nodes"), theirs: "close to ×1", low: 1 / alike, high: alike,
		why: "vR becomes R3 once the first parent of 50 subtrees is full (6.4), here after 6.5 of 8 million intervals; nodes before stay R2's",
	},
	{where: "R 8", text: "Singles of the best R-SHT are up to 1,000 times faster than the eSHT's above a million attributes", set: fourMillion, a: eSHT, b: "R3", unit: "us", of: figure("single_us"), theirs: "up to ×1,000", low: tenth},
	{where: "R 8", text: "2D queries too", set: fourMillion, a: eSHT, b: "R3", unit: "ms", of: figure("plane_ms"), theirs: "up to ×1,000", low: tenth},
	{where: "R Fig. 17", text: "Full queries: the eSHT as the SHT", set: longer[1], a: eSHT, b: "SHT", unit: "us", of: figure("full_us"), theirs: "about ×1", low: 1 / alike, high: alike, why: "the SHT has 7 levels here, and the eSHT 3"},
	{where: "R Fig. 17", text: "Full queries of R2 are significantly slower than the eSHT's", set: million, a: "R2", b: eSHT, unit: "nodes", of: figure("full_nodes"), theirs: "slower", low: 2, why: "R 6.3 adds c^(r-1) nodes to A/n: 50 to 450 for R2; R3 reads all of its 1,911"},
	{
		where: "R Fig. 17", text: "The same in time", set: million, a: "R2", b: eSHT, unit: "us", of: figure("full_us"), theirs: "slower", low: more,
		why: "a million answers to hand over are most of the time",
	},
	{where: "R Fig. 18", text: "2D is faster than singles on vR", set: threads, a: "vR", b: "vR", unit: "ms", theirs: "faster"},
	{where: "R Fig. 18", text: "2D of vR is faster than of the eSHT", set: threads, a: eSHT, b: "vR", unit: "ms", of: view("sparse_2d"), theirs: "faster", low: more},
	{where: "R Fig. 18", text: "Singles of vR are faster than of the eSHT", set: threads, a: eSHT, b: "vR", unit: "ms", of: view("sparse_single"), theirs: "faster", low: more},
	{where: "R Fig. 19", text: "The eSHT builds much faster than R-SHTs", set: million, a: "R2", b: eSHT, unit: "ms", of: treeFigures.buildMs, theirs: "much", low: 2},
}

// inside has the claims about two strategies of one tree, by their text.
var inside = map[string][2]string{
	"PsTree of R3: singles slower than 2D": {"pstree_single", "pstree_2d"},
	"2D is faster than singles on vR":      {"sparse_single", "sparse_2d"},
}

// test returns our ratio with its figures, and whether the claim holds.
func (c claim) test(sets map[string]map[string]treeFigures) (ours string, measured, holds bool) {
	of, by := c.of, c.of
	if keys, is := inside[c.text]; is {
		of, by = view(keys[0]), view(keys[1])
		c.low = max(c.low, more)
	}
	a, b := of(sets[c.set][c.a]), by(sets[c.set][c.b])
	if a == 0 || b == 0 {
		return "not measured", false, false
	}
	high := c.high
	if high == 0 {
		high = math.Inf(1)
	}
	return fmt.Sprintf("%s (%s; %s %s)", ratio(a/b), digits(a), digits(b), c.unit), true, c.low <= a/b && a/b <= high
}

// claims writes each claim with its number beside ours.
func (p *page) claims() {
	p.line("")
	p.line("### Claims")
	p.line("")
	p.line("A number of the paper is held if ours is from half of it to twice it; a word by the bound in `bench/report/papers_claims.go`.")
	p.head("where", "the paper", "its ratio", "ours", "set", "held", "why")
	held := 0
	for _, c := range claims {
		ours, measured, holds := c.test(p.all.Papers.Sets)
		word, why := "**not held**", c.why
		switch {
		case !measured:
			word, why = "not measured", ""
		case holds:
			word = "held"
			held++
			if !strings.HasPrefix(c.why, "in nodes") {
				why = ""
			}
		}
		p.row(c.where, c.text, c.theirs, ours, c.set, word, why)
	}
	p.line("")
	p.line("%d of %d are held.", held, len(claims))
	p.model()
}

// model writes the R-SHT paper's bound on the nodes of a full query beside ours, for the paper's sets.
func (p *page) model() {
	p.line("")
	p.line("### R, 4.4: the model's nodes of a full query, Q = h + Θ (1 − c⁻ʰ) / (1 − c⁻¹), Θ = (n + A) / (n + 1)")
	p.line("")
	p.line("n is the intervals in a node of the eSHT, c is 50. A single query looks at half as many on average, says the paper.")
	p.head("set", "A", "n", "model", "eSHT, full", "eSHT, single", "SHT: A/n", "SHT, full")
	for _, set := range slices.Concat(growing, fewer) {
		f, sht := p.all.Papers.Sets[set][eSHT], p.all.Papers.Sets[set]["SHT"]
		attributes, _ := ofSet(set)
		if f.Nodes == 0 {
			continue
		}
		n := float64(f.Intervals) / float64(f.Nodes)
		h := math.Log(float64(f.Nodes)) / math.Log(50)
		theta := (n + attributes) / (n + 1)
		p.row(set, digits(attributes), digits(n), digits(h+theta*(1-math.Pow(50, -h))/(1-1.0/50)),
			digits(f.median("full_nodes")), digits(f.median("single_nodes")), digits(math.Ceil(attributes/n)), or(sht.median("full_nodes")))
	}
}
