package render

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"

	"github.com/granarydb/granary/history"
)

// TimePage draws the states of attributes in [from, to] as a time graph in a standalone HTML page, which can
// be zoomed and moved with a pointer or keys. Rows, names and colours are as in a TimeGraph. opts.Rows is
// 2000 if it is zero. opts.Width is ignored, because the graph is as wide as its window.
//
// The page has each interval of its rows, clipped to the range, if there are at most 1,048,576. A column of
// pixels shows the fraction of its time in each state, or, for numbers, their least, mean and greatest. If
// there are more intervals, the page has the shares of evenly spaced columns instead, at most 2,048, exact to
// the nanosecond for the twelve longest states of each column; it says that zooming in does not show more.
//
// The page loads nothing, and its Content-Security-Policy forbids loading. The same view and options give the
// same bytes. The page is built in memory and written with a single Write. The errors are those of TimeGraph.
// The cost is the cost of a TimeGraph, and another walk through the intervals of the rows.
func TimePage(w io.Writer, v *history.View, attributes []history.Attribute, from, to int64, opts TimeOptions) error {
	opts.Rows = cmp.Or(opts.Rows, pageRows)
	opts.Width = 0
	g, err := newTimeGraph(v, attributes, from, to, opts, min(pageColumns/2, pageCells/max(1, opts.Rows)))
	if err != nil {
		return err
	}
	p := pageWriter{g: g, most: pageIntervals, cells: pageCells, codes: map[pageValue]int{}, titles: map[int]string{}}
	return p.write(w)
}

// write writes the page.
func (p *pageWriter) write(w io.Writer) error {
	if err := p.embed(); err != nil {
		return err
	}
	var out bytes.Buffer
	page, err := p.page()
	if err == nil {
		err = pageTemplate.Execute(&out, page)
	}
	if err != nil {
		return fmt.Errorf("render: time page: %w", err)
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("render: write time page: %w", err)
	}
	return nil
}

// embed makes the rows.
func (p *pageWriter) embed() error {
	g := p.g
	for _, v := range g.colors.legend { // shares are stacked in the order of codes
		p.codeIn(&graphRow{attribute: v.first}, v.value)
	}
	if g.isFolded() {
		p.columns = len(g.rows[0].columns.parts)
		for i := range g.rows {
			p.addFolded(&g.rows[i])
		}
		return nil
	}
	intervals := 0
	for i := range g.rows {
		r := &g.rows[i]
		if err := g.err(); err != nil {
			return err
		}
		for in, err := range g.view.Range(r.attribute, g.from, g.to, history.RangeOptions{}) {
			if err != nil {
				return err
			}
			intervals++
			if n, ok := number(in.Value); ok && r.bars {
				r.least, r.most = min(r.least, n), max(r.most, n)
			}
		}
	}
	if intervals > p.most {
		p.columns = max(64, min(pageColumns, p.cells/len(g.rows)))
		if span := uint64(g.to) - uint64(g.from); span < uint64(p.columns) {
			p.columns = int(span) + 1
		}
	}
	for i := range g.rows {
		if err := g.err(); err != nil {
			return err
		}
		if err := p.addRow(&g.rows[i]); err != nil {
			return err
		}
	}
	return nil
}

func (p *pageWriter) addRow(r *graphRow) (err error) {
	above, name := p.g.path(r.attribute)
	row := pageRow{Above: clean(lastOf(above, timeTitle)), Name: clean(firstOf(name, timeTitle))}
	if r.bars {
		row.Range = []float64{r.least, r.most}
	}
	var data []byte
	switch {
	case p.columns == 0:
		data, err = p.appendIntervals(nil, r)
	case r.bars:
		data, err = p.appendNumbers(nil, r)
	default:
		data, err = p.appendShares(nil, r)
	}
	row.Data = base64.StdEncoding.EncodeToString(data)
	p.rows = append(p.rows, row)
	return err
}

// addFolded adds a row with several attributes.
func (p *pageWriter) addFolded(r *graphRow) {
	above, name := p.g.label(r)
	row := pageRow{Above: clean(lastOf(above, timeTitle)), Name: clean(firstOf(name, timeTitle)), Attributes: len(r.folded)}
	var out shareWriter
	for _, parts := range r.columns.parts {
		var shares []share
		for _, c := range parts {
			s := share{code: restCode, instants: uint64(math.Round(c.share * 1e6))}
			if c.state != restState {
				s.code = p.codeIn(r, r.columns.states[c.state])
			}
			if s.instants > 0 || len(parts) == 1 {
				shares = append(shares, s)
			}
		}
		out.column(shares)
	}
	out.end()
	row.Data = base64.StdEncoding.EncodeToString(out.data)
	p.rows = append(p.rows, row)
}

// numberName replaces the name in a pageValue for numbers of bars, because the page needs only the number.
const numberName = "\x00number"

// codeIn returns the code of a row's value, from 1 on. 0 is null.
func (p *pageWriter) codeIn(r *graphRow, v history.Value) int {
	if v.IsNull() {
		return 0
	}
	key := pageValue{value: v}
	switch {
	case r.bars:
		key.name = numberName
	case p.g.opts.Name != nil:
		key.name = p.g.opts.Name(r.attribute, v)
	}
	if code, known := p.codes[key]; known {
		return code
	}
	if len(p.values) >= pageValues && !r.bars {
		p.short++
		return restCode
	}
	name := v.String()
	if !r.bars {
		name = firstOf(p.g.name(r.attribute, v), timeTitle)
		if title := p.g.title(r.attribute, v); title != name {
			p.titles[len(p.values)+1] = clean(title)
		}
	}
	p.values, p.colors = append(p.values, clean(name)), append(p.colors, p.color(v))
	p.codes[key] = len(p.values)
	return len(p.values)
}

// color returns a value's colour in pageData.Colors.
func (p *pageWriter) color(v history.Value) int {
	if slot, strong := p.g.colors.slots[v]; strong {
		return slot
	}
	return timeColors + colorSlot(v)
}

// page returns the template's input.
func (p *pageWriter) page() (*timePage, error) {
	g := p.g
	out := &timePage{
		Title: clean(g.opts.Title), Summary: g.summary(plural(g.all, "interval")), Style: template.CSS(pageStyle), Script: template.JS(pageScript),
		Policy: fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", pageHash(pageScript), pageHash(pageStyle)),
		Notes:  p.notes(),
	}
	data := pageData{
		Start: strconv.FormatInt(g.view.Start(), 10), From: strconv.FormatUint(uint64(g.from)-uint64(g.view.Start()), 10),
		Span: pageSpan(g.from, g.to), Columns: p.columns, Values: p.values, Colors: p.colors, Titles: p.titles, Rows: p.rows, Rest: restCode,
	}
	for _, e := range g.legend() {
		key := pageKey{Text: clean(e.text), Share: e.share, Title: clean(e.title), Color: "others"}
		switch e.class[0] {
		case 'c':
			key.Color = e.class[1:]
		case 'b':
			key.Color = "bars"
		}
		out.Legend = append(out.Legend, key)
	}
	light, dark := &data.Palette[0], &data.Palette[1]
	for _, c := range timePalette {
		*light, *dark = append(*light, c.strong), append(*dark, c.strongDark)
	}
	for _, c := range timePalette {
		*light, *dark = append(*light, c.pale), append(*dark, c.paleDark)
	}
	text, err := json.Marshal(data) // Marshal escapes <, > and &, so the data cannot end the script
	out.Data = template.JS(text)
	return out, err
}

// pageHash returns the source expression in a policy that permits one text.
func pageHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// pageSpan returns the number of instants of a range.
func pageSpan(from, to int64) string {
	if span := uint64(to) - uint64(from); span < ^uint64(0) {
		return strconv.FormatUint(span+1, 10)
	}
	return "18446744073709551616"
}

// notes returns a line for each kind of omission.
func (p *pageWriter) notes() (notes []string) {
	g := p.g
	if g.isFolded() {
		return append(g.footnotes(), "Zooming in shows no more columns: a page of a shorter range does.")
	}
	if p.columns > 0 {
		each := (uint64(g.to) - uint64(g.from)) / uint64(p.columns)
		notes = append(notes, fmt.Sprintf("%s are too many for a page. It has the shares of %s, %s each: zooming in shows no more. A shorter range or fewer attributes have all.",
			plural(g.all, "interval"), plural(p.columns, "column"), roundly(each)))
	}
	if g.asked > len(g.rows) {
		notes = append(notes, fmt.Sprintf("%s left out: they change less in the range.", plural(g.asked-len(g.rows), "attribute")))
	}
	if p.short > 0 {
		notes = append(notes, fmt.Sprintf("There are more than %s values: others have no name of their own.", thousands(pageValues)))
	}
	return notes
}
