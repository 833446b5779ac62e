package main

import "strings"

// oracle answers all questions in one look at every row, as digests by the question's name.
func oracle(s *source) (map[string]string, error) {
	o := oracleAnswers{s: s}
	for i := range questions {
		o.questions = append(o.questions, &oracleAnswer{question: &questions[i], sums: map[string]*[2]int64{}, counts: map[textCount]uint64{}})
	}
	if err := s.each(o.add); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for _, a := range o.questions {
		answers[a.name] = a.digest(s)
	}
	return answers, nil
}

type oracleAnswers struct {
	s         *source
	questions []*oracleAnswer
}

// oracleAnswer is the answer to a question so far.
type oracleAnswer struct {
	*question
	rows   rowsDigest
	sums   map[string]*[2]int64 // values and durations, by the distinct part of an answer
	counts map[textCount]uint64
}

// textCount is a text in a column of rowsDigest, by its index.
type textCount struct {
	column int
	text   uint32
}

func (o *oracleAnswers) add(r *rows) error {
	comm := r.labels.text(2)
	for i, time := range r.times {
		for _, a := range o.questions {
			switch {
			case !a.selects(time, comm):
			case a.question.rows:
				a.rows.row(time, r.values[i], period, comm)
				for _, at := range r.stacks[i] {
					a.location(r, time, at)
				}
			default:
				a.group(r, i, comm)
			}
		}
	}
	return nil
}

// location counts a location of a row.
func (a *oracleAnswer) location(r *rows, time int64, at uint32) {
	l := &r.flat.Locations[at]
	a.rows.location(time, l.Address)
	m := &r.flat.Mappings[l.Mapping]
	a.counts[textCount{textMapping, m.File}]++
	a.counts[textCount{textBuildID, m.BuildID}]++
	texts := r.flat.Strings
	for _, line := range r.flat.LinesOf(at) {
		f := &r.flat.Functions[line.Function]
		a.rows.line(l.Address, line.Line, f.StartLine, len(texts[f.Name]), len(texts[f.SystemName]), len(texts[f.File]))
		a.counts[textCount{textFunction, f.Name}]++
		a.counts[textCount{textSystemName, f.SystemName}]++
		a.counts[textCount{textFile, f.File}]++
	}
}

// group adds row i to an answer that is not made of rows.
func (a *oracleAnswer) group(r *rows, i int, comm string) {
	add := func(part string) {
		sums := a.sums[part]
		if sums == nil {
			sums = new([2]int64)
			a.sums[part] = sums
		}
		sums[0], sums[1] = sums[0]+r.values[i], sums[1]+duration
	}
	switch a.name {
	case "Q4", "Q5":
		add(a.bucket(r.times[i]/second, comm))
	case "Q6":
		var texts []string
		for k := range labels {
			texts = append(texts, r.labels.text(k))
		}
		add(strings.Join(texts, "\t"))
	case "Q7":
		if comm != "" {
			add(comm)
		}
	case "Q8":
		for _, at := range r.stacks[i] {
			add(r.flat.Strings[r.flat.Mappings[r.flat.Locations[at].Mapping].File])
		}
	case "Q9":
		add(strings.Join([]string{producer, sampleType, sampleUnit, periodType, periodUnit, temporality}, "\t"))
	}
}

func (a *oracleAnswer) digest(s *source) string {
	if a.question.rows {
		for of, n := range a.counts {
			a.rows.text(of.column, s.base.Strings[of.text], n)
		}
		return a.rows.String()
	}
	var lines []string
	for part, sums := range a.sums {
		lines = append(lines, a.line(part, sums))
	}
	return linesDigest(lines)
}
