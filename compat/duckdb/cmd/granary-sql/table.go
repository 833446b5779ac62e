//go:build cgo

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/granarydb/granary/compat/duckdb"
	"github.com/granarydb/granary/profile"
)

const (
	sampled  = 1000 // number of rows that determine the columns' widths
	narrow   = 12   // minimal width of a shortened column
	gap      = "  " // between columns
	ellipsis = "…"
)

// terminalWidth returns a terminal's width in characters, 0 elsewhere.
func terminalWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

// grid prints rows as a table. Columns are as wide as the first rows need, and on a terminal the table fits
// its width. If a later row has a wider value, it is cut on a terminal; elsewhere it shifts the rest of its
// line.
type grid struct {
	w       io.Writer
	most    int // characters in a line, 0 for no bound
	columns []column
	widths  []int
	waiting [][]string // until the widths are known
	rows    int64
}

func printTable(w io.Writer, most int, columns []column, rows *duckdb.Rows) error {
	g := &grid{w: w, most: most, columns: columns}
	err := each(columns, rows, func(values []any) error {
		cells := make([]string, len(values))
		for i, v := range values {
			cells[i] = printable(text(v, columns[i].typ))
		}
		return g.add(cells)
	})
	if err == nil {
		err = g.begin()
	}
	if err != nil {
		return err
	}
	many := "rows"
	if g.rows == 1 {
		many = "row"
	}
	_, err = fmt.Fprintf(w, "(%s %s)\n", profile.FormatValue(g.rows, "count"), many)
	return err
}

// add prints a row, or keeps it until begin.
func (g *grid) add(cells []string) error {
	g.rows++
	if g.widths != nil {
		return g.print(cells)
	}
	g.waiting = append(g.waiting, cells)
	if len(g.waiting) == sampled {
		return g.begin()
	}
	return nil
}

// begin computes the widths, unless they are known, and prints the waiting rows.
func (g *grid) begin() error {
	if g.widths != nil {
		return nil
	}
	header := make([]string, len(g.columns))
	for i, c := range g.columns {
		header[i] = printable(c.name)
	}
	g.widths = make([]int, len(header))
	for _, cells := range append(g.waiting, header) {
		for i, cell := range cells {
			g.widths[i] = max(g.widths[i], utf8.RuneCountInString(cell))
		}
	}
	if g.most > 0 {
		squeeze(g.widths, g.columns, g.most-len(gap)*(len(g.widths)-1))
	}
	line := make([]string, len(header))
	for i, width := range g.widths {
		line[i] = strings.Repeat("-", width)
	}
	for _, cells := range append([][]string{header, line}, g.waiting...) {
		if err := g.print(cells); err != nil {
			return err
		}
	}
	g.waiting = nil
	return nil
}

// squeeze shrinks the widest columns until all fit, or all are narrow. Numbers are never cut, because the
// rest would read as another number.
func squeeze(widths []int, columns []column, most int) {
	total := 0
	for _, width := range widths {
		total += width
	}
	for ; total > most; total-- {
		widest := -1
		for i, width := range widths {
			if !isNumber(columns[i].typ) && width > narrow && (widest < 0 || width > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return
		}
		widths[widest]--
	}
}

// print prints a line of cells.
func (g *grid) print(cells []string) error {
	var b strings.Builder
	for i, cell := range cells {
		if i > 0 {
			b.WriteString(gap)
		}
		width := g.widths[i]
		if g.most > 0 {
			cell = fit(cell, width, g.columns[i].typ)
		}
		blanks := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(cell)))
		switch {
		case isNumber(g.columns[i].typ):
			b.WriteString(blanks + cell)
		case i == len(cells)-1:
			b.WriteString(cell)
		default:
			b.WriteString(cell + blanks)
		}
	}
	_, err := fmt.Fprintln(g.w, b.String())
	return err
}

// fit shortens a text that is wider than its column. Texts lose their front, because functions, files and
// pods differ at their ends. Other values lose their end.
func fit(cell string, width int, typ string) string {
	runes := []rune(cell)
	switch {
	case len(runes) <= width || isNumber(typ):
		return cell
	case typ == "VARCHAR":
		return ellipsis + string(runes[len(runes)-width+1:])
	default:
		return string(runes[:width-1]) + ellipsis
	}
}
