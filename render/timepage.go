package render

import (
	_ "embed" // for the parts of the page
	"html/template"

	"github.com/granarydb/granary/history"
)

//go:embed timepage.html
var pageHTML string

//go:embed timepage.css
var pageStyle string

//go:embed timepage.js
var pageScript string

var pageTemplate = template.Must(template.New("time page").Parse(pageHTML))

// A page's limits.
const (
	pageRows = 2000
	// pageIntervals bounds a page's intervals, at 4 to 8 bytes each before base64. A page with more intervals
	// has the shares of columns.
	pageIntervals = 1 << 20
	// pageCells bounds the columns of all rows, and pageColumns a row's columns.
	pageCells   = 1 << 19
	pageColumns = 2048
	// pageShares bounds the states of a column that have their own share.
	pageShares = 12
	// pageValues bounds the distinct values that are not bars. Further values count as one.
	pageValues = 1 << 16
)

// timePage is the template's input.
type timePage struct {
	Title, Summary, Policy string
	Style                  template.CSS
	Script                 template.JS
	Legend                 []pageKey
	Notes                  []string
	Data                   template.JS // pageData as JSON
}

// pageKey is an entry of the legend.
type pageKey struct {
	// Color is a colour of pageData.Colors as text, or "others" or "bars".
	Color, Text, Share, Title string
}

// pageData is the script's input. Times are nanoseconds. Times that can exceed 2^53, the integers of
// scripts, are decimal texts.
type pageData struct {
	// Start is the history's start, From the offset of the range from it, Span the number of instants in
	// the range.
	Start string `json:"start"`
	From  string `json:"from"`
	Span  string `json:"span"`
	// Columns is 0 if rows have their intervals. Otherwise it is the number of columns.
	Columns int `json:"columns"`
	// Values are the names of values, by code. Colors are their colours: below 12 a colour of the
	// palette, below 24 a pale one.
	Values []string `json:"values"`
	Colors []int    `json:"colors"`
	// Titles are longer texts of values, by code.
	Titles map[int]string `json:"titles"`
	Rows   []pageRow      `json:"rows"`
	// Rest is the code for states that do not have their own share in a column.
	Rest int `json:"rest"`
	// Palette has the colours on light paper, pale colours last, and the colours on dark paper.
	Palette [2][]string `json:"palette"`
}

// pageRow is a row of the graph.
type pageRow struct {
	Above string `json:"above"` // path before the name, with its last slash
	Name  string `json:"name"`
	// Range is the least and the greatest value in a row of bars; nil in other rows.
	Range []float64 `json:"range,omitempty"`
	// Attributes is the number of attributes in a folded row, or 0 in a row with one attribute. The shares of
	// a folded row are in millionths of a column's time.
	Attributes int `json:"attributes,omitempty"`
	// Data is the output of appendIntervals, appendShares or appendNumbers, as base64.
	Data string `json:"data"`
}

// pageValue is a value with the name that an attribute gives it.
type pageValue struct {
	value history.Value
	name  string
}

// pageWriter makes the data of a page.
type pageWriter struct {
	g       *timeGraph
	most    int // greatest number of intervals
	cells   int // columns of all rows
	codes   map[pageValue]int
	values  []string
	titles  map[int]string
	colors  []int
	rows    []pageRow
	columns int // 0: intervals
	short   int // occurrences of values without their own code
}
