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
}

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

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

// command names the commands that a section is of.
func (p *page) command(names ...string) {
	p.line("")
	var of []string
	for _, r := range p.runs {
		if line := "    cd bench && GOWORK=off " + r.command(); slices.Contains(names, r.name) && !slices.Contains(of, line) {
			of = append(of, line)
		}
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

func (p *page) write(rows []row) error {
	var from []string
	for _, commit := range slices.Sorted(maps.Keys(p.all.from)) {
		from = append(from, "on "+p.all.from[commit]+" at commit "+commit)
	}
	p.line("# Benchmarks")
	p.line("")
	p.line("Written by `cd bench && GOWORK=off go run ./report` on %s. Measured %s.", p.all.Targets.Machine, strings.Join(from, ", and "))
	p.line("Each section names the commands that its figures are of. Figures are medians, and times are CPU times with all goroutines and")
	p.line("collections unless a line says wall. A ratio relates figures of one machine on one day: ×3 stands for three times as fast, or as small,")
	p.line("and below ×1 the peer is ahead. docs/decisions/0040 says why targets are missed.")
	p.targets(rows)
	p.stores("Stores of profiles", "peers", &p.all.Peers, "A fleet of a million rows, in memory where a store has no other place.")
	p.stores("Fewer rows", "small", &p.all.Small, "A tenth of the rows, beside the oracle, which looks at every row for each question.")
	p.growth()
	p.stores("Stores of profiles in directories", "durable", &p.all.Durable, "A million rows, with a log and with files.")
	if err := p.intervals(); err != nil {
		return err
	}
	p.papers()
	return nil
}

// targets writes the targets of the design.
func (p *page) targets(rows []row) {
	p.line("")
	p.line("## Targets")
	p.command("targets", "frostdb", "esht")
	p.line("")
	p.line("Peers are those that the design names. What is in memory is measured in %d rounds, between the sections below: this store, and right", pageRounds)
	p.line("after it its peers, each in a process of its own. Figures are medians of the rounds. So is a ratio, which relates figures of one round.")
	p.head("by", "target", "what", "ours", "lowest to highest", "peer", "must", "aim", "met")
	for _, r := range rows {
		f := r.figure
		if r.Ours == nil {
			p.row("", "`"+r.Key+"`", f.About, "-", "", "", digits(r.Must), digits(f.Aim), f.Status)
			continue
		}
		by, peer := "", ""
		if r.Ratio != nil {
			by, peer = ratio(*r.Ratio), digits(*r.Peer)+" "+r.Store
		}
		met := ""
		if r.Met != nil {
			met = map[bool]string{true: "yes", false: "**no**"}[*r.Met]
		}
		p.row(by, "`"+r.Key+"`", f.About, digits(*r.Ours)+" "+f.Unit, digits(*f.Low)+" to "+digits(*f.High), peer, digits(r.Must), digits(f.Aim), met)
	}
	p.line("")
	p.line("![How many times better than its peer each target is](docs/pictures/bench-ratios.svg)")
}

// ours is the name of this store among others.
const ours = "granary"

// stores writes a comparison of stores of profiles.
func (p *page) stores(title, name string, c *comparison, about string) {
	p.line("")
	p.line("## %s", title)
	p.line("")
	p.line("%s Each store has a process of its own for each repetition, and they take turns. The first number of a cell is how", about)
	p.line("many times better this store is.")
	p.command(name)
	p.line("")
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(c.Peers)), func(n string) bool { return n == ours })
	for _, n := range append([]string{ours}, others...) {
		p.line("- **%s** %s: %s; of %d", n, c.Peers[n].Module, c.Peers[n].About, c.Peers[n].Runs)
	}
	for _, n := range slices.Sorted(maps.Keys(c.Skipped)) {
		p.line("- %s was skipped: %s", n, c.Skipped[n])
	}
	for _, note := range c.Notes {
		p.line("- %s", note)
	}
	p.head(append([]string{"figure", ours}, others...)...)
	figures := map[string]bool{}
	for _, of := range c.Peers {
		for key := range of.Median {
			figures[key] = true
		}
	}
	for _, key := range slices.Sorted(maps.Keys(figures)) {
		cells := []string{"`" + key + "`"}
		mine, has := c.Peers[ours].Median[key]
		for _, n := range append([]string{ours}, others...) {
			cells = append(cells, beside(c.Peers[n].Median, key, mine, has && n != ours))
		}
		p.row(cells...)
	}
	p.line("")
	for _, key := range slices.Sorted(maps.Keys(c.Keys)) {
		p.line("- `%s`: %s", key, c.Keys[key])
	}
}

// beside returns a figure of a store with its ratio to ours, of which less is better.
func beside(of map[string]float64, key string, mine float64, other bool) string {
	value, ok := of[key]
	switch {
	case !ok:
		return ""
	case other && mine > 0 && value > 0:
		return ratio(value/mine) + " " + digits(value)
	}
	return digits(value)
}

// columns are the figures of stores of intervals in the order of a table. Of the first, more is better.
var columns = []string{"build_m_s", "bytes_interval", "restart_ms", "single_us", "full_us", "plane_ms", "kind_ms"}

// history is the name of package history among stores of intervals.
const history = "history"

// intervals writes the stores of intervals.
func (p *page) intervals() error {
	t := &p.all.Trees
	p.line("")
	p.line("## Stores of intervals")
	p.line("")
	p.line("Package history beside trees written from the papers, an R-tree and databases. The first number of a cell is how many times")
	p.line("better history is. Each answer is compared with a look at all intervals before it is timed.")
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
		p.line("")
		p.line("### %s", set)
		p.head(append([]string{"store", "nodes", "depth"}, columns...)...)
		for _, name := range slices.Sorted(maps.Keys(stores)) {
			s := stores[name]
			cells := []string{name, "", ""}
			if s.Nodes > 0 {
				cells[1], cells[2] = fmt.Sprint(s.Nodes), fmt.Sprint(s.Depth)
			}
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
					cells = append(cells, ratio(1/times)+" "+digits(f.Median))
				default:
					cells = append(cells, ratio(times)+" "+digits(f.Median))
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

// digits formats a number with three digits, and thousands apart.
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
