package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

const (
	publicHeading = "## The public benchmark"
	afterPublic   = "## Stores of intervals" // the next part of the page
)

// publicRows is the number of rows of each set.
const publicRows = 100_000

// ofPublic returns the runs of the public benchmark: for each set this store and the floor, and then the engines of
// Python, because these take longest and change least. Each run has the oracle, with which answers are compared.
func ofPublic() (runs []run) {
	for _, set := range []string{"random", "real", "mixed"} {
		for _, engines := range []string{
			"oracle,granary,granary-files,arrow-by-hand",
			"oracle,duckdb-memory,duckdb-parquet,datafusion,clickhouse,polars,vortex",
		} {
			part := "-" + set + "-others"
			if strings.Contains(engines, publicOurs) {
				part = "-" + set + "-own"
			}
			args := fmt.Sprintf("./polarsignals -rows %d -set %s -engines %s -json", publicRows, set, engines)
			runs = append(runs, run{name: "public", part: part, args: strings.Fields(args)})
		}
	}
	return runs
}

// public is the report on the public benchmark.
type public struct {
	Machine string            `json:"machine"`
	Rows    int               `json:"rows"`
	Keys    map[string]string `json:"keys"`
	Sets    []publicSet       `json:"sets"`
	Skipped map[string]string `json:"skipped"`
}

type publicSet struct {
	Set     string         `json:"set"`
	Engines []publicEngine `json:"engines"`
}

type publicEngine struct {
	Engine   string                  `json:"engine"`
	Version  string                  `json:"version"`
	Skipped  string                  `json:"skipped"`
	Load     float64                 `json:"load_cpu_us_per_row"`
	Memory   float64                 `json:"memory_bytes_per_row"`
	MemoryOf string                  `json:"memory_of"`
	Disk     float64                 `json:"disk_bytes_per_row"`
	Peak     float64                 `json:"peak_memory_mb"`
	Answers  map[string]publicAnswer `json:"answers"`
}

type publicAnswer struct {
	ColdWall float64 `json:"cold_wall_ms"`
	ColdCPU  float64 `json:"cold_cpu_ms"`
	Wall     float64 `json:"wall_ms"`
	CPU      float64 `json:"cpu_ms"`
	Error    string  `json:"error"`
}

// add adds the output of a run to those of other sets, and of other engines of the same set.
func (b *public) add(data []byte) error {
	var part public
	if err := json.Unmarshal(data, &part); err != nil {
		return err
	}
	if b.Skipped == nil {
		b.Skipped = map[string]string{}
	}
	maps.Copy(b.Skipped, part.Skipped)
	b.Machine, b.Rows, b.Keys = part.Machine, part.Rows, part.Keys
	for _, set := range part.Sets {
		at := slices.IndexFunc(b.Sets, func(s publicSet) bool { return s.Set == set.Set })
		if at < 0 {
			at, b.Sets = len(b.Sets), append(b.Sets, publicSet{Set: set.Set})
		}
		b.Sets[at].Engines = append(b.Sets[at].Engines, set.Engines...)
	}
	return nil
}

// publicQuestions are the names of the questions.
var publicQuestions = []string{"Q0", "Q1", "Q2", "Q3", "Q4", "Q5", "Q6", "Q7", "Q8", "Q9"}

// publicOurs is this store's name among the engines, and begins the names of its other forms.
const publicOurs = "granary"

// public writes the public benchmark: a table for each set, and where another engine is ahead.
func (p *page) public() {
	b := &p.all.Public
	p.line("")
	p.line(publicHeading)
	p.line("")
	p.line("`polarsignals` of vortex-bench, written again from its description, with %s rows: labels, a value, a time and a stack of whole", digits(float64(b.Rows)))
	p.line("locations. Q0 and Q1 are the rows of a tenth and of half of the time, Q2 and Q3 those of one of 800 commands in that half, Q4 and Q5 sums by")
	p.line("second, Q6 to Q9 distinct label sets, commands, binaries of locations and types. In set random no stack comes twice, in real they are recorded, in")
	p.line("mixed each second one is. `go doc ./polarsignals` says what differs from the original. An oracle looks at every row in each run, and all engines gave")
	p.line("its answers, compared by digest. Each engine has a process of its own, and all ran on a machine with other load.")
	p.line("Figures are CPU ms of the whole process for an answer in Arrow: the median of warm answers, in parentheses the first. Bold is the least.")
	if p.part {
		p.line("Measured on %s, %s, by `cd bench && GOWORK=off go run ./report -public` of these commands:", b.Machine, p.measured())
	}
	p.command("public")
	p.line("")
	p.publicEngines()
	for _, name := range slices.Sorted(maps.Keys(b.Skipped)) {
		p.line("- set %s was skipped: %s", name, b.Skipped[name])
	}
	for i := range b.Sets {
		p.publicSet(&b.Sets[i])
	}
	p.line("")
	for _, key := range []string{"load_cpu_us_per_row", "memory_bytes_per_row", "disk_bytes_per_row", "peak_memory_mb"} {
		p.line("- `%s`: %s", key, b.Keys[key])
	}
}

// publicEngines lists the engines.
func (p *page) publicEngines() {
	about := map[string]string{
		"granary":        "this store in memory; rows with locations whole, and below to the ids of locations",
		"granary-files":  "this store in a directory, closed and opened again with a budget of 16 GiB, all rows in files",
		publicByHand:     "plain Arrow records, one for each label set, with a loop in Go for each question; rows are slices that copy nothing",
		"duckdb-memory":  "a table in memory",
		"duckdb-parquet": "the Parquet file, as the next ones read it, in row groups of at most 100,000 rows, with snappy",
		"vortex":         "a Vortex file, read by DuckDB as a dataset of Arrow",
	}
	said := map[string]bool{}
	for _, set := range p.all.Public.Sets {
		for _, e := range set.Engines {
			line := "- **" + e.Engine + "**"
			if e.Version != "" {
				line += " " + e.Version
			}
			if text := about[e.Engine]; text != "" {
				line += ": " + text
			}
			if e.MemoryOf != "" {
				line += "; its memory is the " + e.MemoryOf
			}
			if e.Engine != "oracle" && e.Skipped == "" && !said[e.Engine] {
				p.line("%s", line)
				said[e.Engine] = true
			}
		}
	}
}

// publicSet writes the table of a set.
func (p *page) publicSet(set *publicSet) {
	p.line("")
	p.line("### %s", set.Set)
	columns := append(slices.Clone(publicQuestions), "load us/row", "memory bytes/row", "file bytes/row", "peak MB")
	p.head(append([]string{"engine"}, columns...)...)
	least := set.least()
	for _, e := range set.Engines {
		if e.Skipped != "" || e.Engine == "oracle" {
			continue
		}
		cells := []string{e.Engine}
		for _, q := range publicQuestions {
			cells = append(cells, e.cell(q, least[q]))
		}
		p.row(append(cells, or(e.Load), or(e.Memory), or(e.Disk), or(e.Peak))...)
		if _, has := e.Answers["Q0 ids"]; has {
			cells = []string{e.Engine + ", to ids"}
			for _, q := range publicQuestions {
				cells = append(cells, e.cell(q+" ids", 0))
			}
			p.row(append(cells, "", "", "", "")...)
		}
	}
	p.line("")
	for _, e := range set.Engines {
		if e.Skipped != "" {
			p.line("%s was skipped: %s", e.Engine, e.Skipped)
		}
		for _, q := range publicQuestions {
			if err := e.Answers[q].Error; err != "" {
				p.line("%s has no answer to %s: %s", e.Engine, q, err)
			}
		}
	}
	p.line("%s", set.behind())
}

// cell returns the warm time of an answer, and the first in parentheses. The least is bold.
func (e *publicEngine) cell(question string, least float64) string {
	a, has := e.Answers[question]
	if !has || a.Error != "" {
		return ""
	}
	warm := digits(a.CPU)
	if a.CPU == least {
		warm = "**" + warm + "**"
	}
	return warm + " (" + digits(a.ColdCPU) + ")"
}

// least returns the least warm time of each question.
func (s *publicSet) least() map[string]float64 {
	least := map[string]float64{}
	for _, e := range s.Engines {
		for _, q := range publicQuestions {
			a, has := e.Answers[q]
			if has && a.Error == "" && a.CPU > 0 && (least[q] == 0 || a.CPU < least[q]) {
				least[q] = a.CPU
			}
		}
	}
	return least
}

// behind says where this store, in memory, is behind the best other engine, and where ahead, and the same of Arrow by
// hand, which is no engine.
func (s *publicSet) behind() string {
	at := slices.IndexFunc(s.Engines, func(e publicEngine) bool { return e.Engine == publicOurs })
	if at < 0 {
		return ""
	}
	var sides [4][]string
	for _, q := range publicQuestions {
		mine := s.Engines[at].Answers[q].CPU
		for i, hand := range []bool{false, true} {
			if best, name := s.best(q, hand); best > 0 && mine > 0 {
				text := fmt.Sprintf("%s %s", q, ratio(best/mine))
				if !hand {
					text += " (" + name + ")"
				}
				if best < mine {
					sides[2*i] = append(sides[2*i], text)
				} else {
					sides[2*i+1] = append(sides[2*i+1], text)
				}
			}
		}
	}
	var parts []string
	for i, text := range []string{
		"In memory this store is behind the best other engine in ", "It is ahead of the best other engine in ",
		"It is behind Arrow by hand in ", "It is ahead of Arrow by hand in ",
	} {
		if len(sides[i]) > 0 {
			parts = append(parts, text+strings.Join(sides[i], ", ")+".")
		}
	}
	return strings.Join(parts, " ")
}

// publicByHand is the name of the loops over Arrow records.
const publicByHand = "arrow-by-hand"

// best returns the least warm time of another engine for a question, or that of the loops by hand.
func (s *publicSet) best(question string, hand bool) (best float64, name string) {
	for _, e := range s.Engines {
		a := e.Answers[question]
		if (e.Engine == publicByHand) != hand || strings.HasPrefix(e.Engine, publicOurs) || a.Error != "" || a.CPU == 0 {
			continue
		}
		if best == 0 || a.CPU < best {
			best, name = a.CPU, e.Engine
		}
	}
	return best, name
}

// publicPart measures the public benchmark, and replaces its part of the page.
func (o *options) publicPart(ctx context.Context, m *measurer) error {
	whole, err := os.ReadFile(o.out)
	if err != nil {
		return err
	}
	before, after, has := bytes.Cut(whole, []byte("\n"+afterPublic))
	if !has {
		return fmt.Errorf("%s has no %q: %w", o.out, afterPublic, errPage)
	}
	before, _, _ = bytes.Cut(before, []byte("\n"+publicHeading))
	all, runs := newReports(), ofPublic()
	if err := m.measure(ctx, all, runs); err != nil {
		return err
	}
	p := &page{all: all, runs: runs, part: true}
	p.public()
	p.line("")
	p.WriteString(afterPublic)
	return os.WriteFile(o.out, slices.Concat(before, []byte(p.String()), after), 0o644)
}
