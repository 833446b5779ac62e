package main

import (
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// page writes Markdown.
type page struct {
	strings.Builder
	all  *reports
	runs []run
	said map[string]bool // lines written by say
	part bool            // only a part of the page is written, which says when it was measured
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// say writes a line, unless the page already has it.
func (p *page) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.said[text] {
		return
	}
	if p.said == nil {
		p.said = map[string]bool{}
	}
	p.said[text] = true
	p.line("%s", text)
}

// row writes a row of a table.
func (p *page) row(cells ...string) {
	for i, c := range cells {
		cells[i] = strings.ReplaceAll(c, "|", `\|`)
	}
	p.line("| %s |", strings.Join(cells, " | "))
}

// head writes the first rows of a table.
func (p *page) head(names ...string) {
	p.line("")
	p.row(names...)
	p.line("%s", strings.Repeat("|---", len(names))+"|")
}

// command writes the commands whose reports a section shows. Runs that differ only in their sets are one
// command with all sets, because each store has a process of its own on each set.
func (p *page) command(names ...string) {
	p.line("")
	var of []string
	for _, r := range p.runs {
		line := "    " + r.command()
		if !slices.Contains(names, r.name) || slices.Contains(of, line) {
			continue
		}
		command, set, has := strings.Cut(line, " -sets ")
		if i := slices.IndexFunc(of, func(l string) bool { return strings.HasPrefix(l, command+" -sets ") }); has && i >= 0 {
			of[i] += "," + set
			continue
		}
		of = append(of, line)
	}
	p.line("%s", strings.Join(of, "\n"))
}

// write writes the page and its pictures.
func (o *options) write(all *reports, rows []row, runs []run) error {
	at := func(name string) string { return filepath.Join(o.pictures, name) }
	if err := drawRatios(rows, at("bench-ratios.svg")); err != nil {
		return err
	}
	if err := all.drawGrowth(at("bench-growth.svg")); err != nil {
		return err
	}
	if err := all.Trees.draw(at("bench-intervals.svg")); err != nil {
		return err
	}
	if err := o.drawPapers(all); err != nil {
		return err
	}
	p := &page{all: all, runs: runs}
	if err := p.write(rows); err != nil {
		return err
	}
	return os.WriteFile(o.out, []byte(p.String()), 0o644)
}

// commit returns the commit of the checkout.
func commit() string {
	out, err := exec.Command("git", "describe", "--always", "--dirty").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// measured says when, and at which commits, the reports were measured.
func (p *page) measured() string {
	var from []string
	for _, commit := range slices.Sorted(maps.Keys(p.all.from)) {
		from = append(from, "on "+p.all.from[commit]+" at commit "+commit)
	}
	return strings.Join(from, ", and ")
}

func (p *page) write(rows []row) error {
	p.line("# Benchmarks")
	p.line("")
	p.line("Written by `cd bench && GOWORK=off go run ./report` on %s. Measured %s.", p.all.Targets.Machine, p.measured())
	p.line("Each section begins with its commands, to be run in folder `bench` with GOWORK=off. Figures are medians, times are CPU times with all")
	p.line("goroutines and collections unless a line says wall. A ratio relates figures of one machine on one day: ×3 stands for three times as")
	p.line("fast, or as small; below ×1 the peer is ahead. [Decision 0040](docs/decisions/0040-answers-as-arrow.md) says why targets are missed.")
	p.targets(rows)
	p.stores("Stores of profiles", "peers", &p.all.Peers, "A fleet of a million rows, in memory where a store has no other place.")
	p.growth()
	p.stores("Stores of profiles in directories", "durable", &p.all.Durable, "A million rows, with a log and with files.")
	p.public()
	if err := p.intervals(); err != nil {
		return err
	}
	p.papers()
	return nil
}

// targets writes the targets, each with its limit and its peer.
func (p *page) targets(rows []row) {
	p.line("")
	p.line("## Targets")
	p.command("targets", "frostdb", "esht")
	p.line("")
	p.line("The peer is FrostDB as Parca uses it, or of histories the tree of the eSHT paper. Figures in memory are medians of %d rounds: this store, and", pageRounds)
	p.line("right after it its peers, each in a process of its own. A ratio is the median of the rounds' ratios.")
	p.line("A target that does not say missed is met.")
	p.head("target", "what", "ours, range", "peer, ratio", "must")
	for _, r := range rows {
		f := r.figure
		if r.Ours == nil {
			p.row("`"+r.Key+"`", f.About, "-", "", digits(r.Must)+", "+f.Status)
			continue
		}
		peer, must := "", digits(r.Must)
		if r.Ratio != nil {
			peer = digits(*r.Peer) + ", " + ratio(*r.Ratio)
		}
		if r.Met != nil && !*r.Met {
			must += ", **missed**"
		}
		own := digits(*r.Ours) + " " + f.Unit
		if low, high := digits(*f.Low), digits(*f.High); low != high {
			own += ", " + low + "–" + high
		}
		p.row("`"+r.Key+"`", f.About, own, peer, must)
	}
	p.line("")
	p.line("![How many times better than its peer each target is](docs/pictures/bench-ratios.svg)")
}

// ours is this store's name among others.
const ours = "granary"

// unshown are figures of profile stores without a row, because another row shows the same for each store. A
// peer is ahead in none of them except the time to settle, which a store without maintenance does not spend.
var unshown = []string{
	"alloc_bytes_per_row", "allocs_per_row", "heap_inserted_bytes_per_row", "peak_heap_bytes_per_row", "settle_ns_per_row",
	"insert_logged_us_per_call", "insert_ns_per_row", "open_log_wall_ms", "peak_rss_bytes_per_row", "query_ms.types",
	"query_ms.label-values-job", "query_ms.merge-pod", "query_ms.merge-pods", "query_ms.merge-profile", "query_ms.select-pod-wide",
	"query_ms.series-job", "query_ms.series-type", "query_ms.totals-type",
}

// stores writes a comparison of profile stores.
func (p *page) stores(title, name string, c *comparison, about string) {
	p.line("")
	p.line("## %s", title)
	p.line("")
	p.line("%s", about)
	p.say("A cell of another store is such a ratio. Behind a name is the number of repetitions.")
	p.command(name)
	p.line("")
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Peers)), func(n string) bool { return n == ours })
	for _, n := range append([]string{ours}, others...) {
		p.say("- **%s** %s: %s", n, c.Peers[n].Module, c.Peers[n].About)
	}
	for _, n := range slices.Sorted(maps.Keys(c.Skipped)) {
		p.line("- %s was skipped: %s", n, c.Skipped[n])
	}
	for _, note := range c.Notes {
		p.say("- %s", note)
	}
	heads := []string{"figure"}
	for _, n := range append([]string{ours}, others...) {
		heads = append(heads, fmt.Sprintf("%s (%d)", n, c.Peers[n].Runs))
	}
	p.head(heads...)
	figures := map[string]bool{}
	for _, of := range c.Peers {
		for key := range of.Median {
			figures[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(figures)) {
		if slices.Contains(unshown, key) {
			continue
		}
		cells := []string{"`" + key + "`"}
		mine, has := c.Peers[ours].Median[key]
		for _, n := range append([]string{ours}, others...) {
			cells = append(cells, beside(c.Peers[n].Median, key, mine, has && n != ours))
		}
		p.row(cells...)
	}
	p.line("")
	for _, key := range slices.Sorted(maps.Keys(c.Keys)) {
		if slices.Contains(unshown, key) {
			continue
		}
		p.say("- `%s`: %s", key, c.Keys[key])
	}
}

// beside returns the ratio of a store's figure to ours, for figures of which less is better, or the figure if
// there is no ratio.
func beside(of map[string]float64, key string, mine float64, other bool) string {
	value, ok := of[key]
	switch {
	case !ok:
		return ""
	case other && mine > 0 && value > 0:
		return ratio(value / mine)
	}
	return digits(value)
}

// columns are the figures of interval stores, in the order of the table. Of the first figure more is better,
// of the others less.
var columns = []string{"build_m_s", "bytes_interval", "restart_ms", "single_us", "full_us", "plane_ms", "kind_ms"}

// history is the name of package history among interval stores.
const history = "history"

// intervals writes the comparison of interval stores.
func (p *page) intervals() error {
	t := &p.all.Trees
	p.line("")
	p.line("## Stores of intervals")
	p.line("")
	p.line("Package history beside trees written from the papers, an R-tree and databases. A cell of another store says how many times better")
	p.line("history is. Each answer is compared with a look at all intervals before it is timed. The largest sets have a table; the picture has all.")
	p.command("trees")
	if t.Skipped != "" {
		p.line("")
		p.line("%s.", t.Skipped)
	}
	p.line("")
	p.line("![Queries of stores of intervals](docs/pictures/bench-intervals.svg)")
	for _, set := range slices.Sorted(maps.Keys(t.Sets)) {
		stores := t.Sets[set]
		mine, ok := stores[history]
		if !ok {
			return fmt.Errorf("set %s lacks %s", set, history)
		}
		if set != threads && set != million {
			continue
		}
		p.line("")
		p.line("### %s", set)
		p.head(append([]string{"store"}, columns...)...)
		for _, name := range slices.Sorted(maps.Keys(stores)) {
			s := stores[name]
			cells := []string{name}
			for i, key := range columns {
				f, ok := s.Figures[key]
				switch times := f.Median / mine.Figures[key].Median; {
				case !ok && s.Stopped:
					cells = append(cells, "too large")
				case !ok:
					cells = append(cells, "")
				case name == history:
					cells = append(cells, digits(f.Median))
				case i == 0:
					cells = append(cells, ratio(1/times))
				default:
					cells = append(cells, ratio(times))
				}
			}
			p.row(cells...)
		}
	}
	p.line("")
	for _, key := range columns {
		p.line("- `%s`: %s", key, t.Keys[key])
	}
	return nil
}

// ratio formats a ratio.
func ratio(times float64) string { return "×" + digits(times) }

// digits formats a number with three significant digits, and separates thousands.
func digits(v float64) string {
	if math.Abs(v) < 999.5 {
		return fmt.Sprintf("%.3g", v)
	}
	text := fmt.Sprintf("%.0f", v)
	for at := len(text) - 3; at > 0 && text[at-1] != '-'; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
