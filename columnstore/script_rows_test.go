package columnstore_test

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow/go/v14/arrow"
	"github.com/apache/arrow/go/v14/arrow/array"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/encoding"
	"github.com/granarydb/granary/internal/script"
	"github.com/granarydb/granary/schema"
)

// scriptRow is a row of a script: "10:00 host=a value=3".
type scriptRow struct {
	at    time.Time
	tags  map[string]string
	value int64
}

func (r *scriptRow) set(c *script.Command, key, text string) {
	if key != "value" {
		r.tags[key] = text
		return
	}
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		c.Fatalf("value=%s is no whole number", text)
	}
	r.value = value
}

func parseRow(c *script.Command, line string) scriptRow {
	fields := strings.Fields(line)
	row := scriptRow{at: clockTime(c, fields[0]), tags: map[string]string{}}
	for _, field := range fields[1:] {
		key, text, ok := strings.Cut(field, "=")
		if !ok {
			c.Fatalf("%q is not of the form key=value", field)
		}
		row.set(c, key, text)
	}
	return row
}

// batchOf returns the rows by column. A tag missing from some rows is null there.
func batchOf(rows []scriptRow) schema.Batch {
	times, values := make([]int64, len(rows)), make([]int64, len(rows))
	names := map[string]bool{}
	for i, row := range rows {
		times[i], values[i] = row.at.UnixNano(), row.value
		for name := range row.tags {
			names[name] = true
		}
	}
	b := schema.Batch{Rows: len(rows), Columns: map[string]encoding.Vector{
		"time": encoding.Int64s(times...), "value": encoding.Int64s(values...),
	}}
	for name := range names {
		v := encoding.Strings(make([]string, len(rows))...)
		v.Valid = make([]bool, len(rows))
		for i, row := range rows {
			v.Strings[i], v.Valid[i] = row.tags[name], row.tags[name] != ""
		}
		b.Columns["tag."+name] = v
	}
	return b
}

// parseWhere reads where=tag:value, or several in brackets, from=time, and to=time,
// which is not included. A term can be tag~pattern, for a whole value, or tag:null, and ! before it negates it.
func parseWhere(c *script.Command) columnstore.Expr {
	var all []columnstore.Expr
	if text := c.Text("where", ""); text != "" {
		for term := range strings.SplitSeq(text, ",") {
			all = append(all, parseTerm(c, term))
		}
	}
	if text := c.Text("from", ""); text != "" {
		all = append(all, columnstore.AtLeast("time", clockTime(c, text).UnixNano()))
	}
	if text := c.Text("to", ""); text != "" {
		all = append(all, columnstore.Less("time", clockTime(c, text).UnixNano()))
	}
	return columnstore.And(all...)
}

// parseTerm reads a term of where.
func parseTerm(c *script.Command, term string) columnstore.Expr {
	if rest, not := strings.CutPrefix(term, "!"); not {
		return columnstore.Not(parseTerm(c, rest))
	}
	if tag, pattern, ok := strings.Cut(term, "~"); ok {
		return columnstore.Match("tag."+tag, regexp.MustCompile("^(?:"+pattern+")$"))
	}
	tag, value, ok := strings.Cut(term, ":")
	if !ok {
		c.Fatalf("%q is not of the form tag:value", term)
	}
	if value == "null" {
		return columnstore.IsNull("tag." + tag)
	}
	return columnstore.Equal("tag."+tag, value)
}

// clockTime reads a time of the scripts' day: 10:00 or 10:00:05.
func clockTime(c *script.Command, text string) time.Time {
	for _, layout := range []string{"15:04", time.TimeOnly} {
		if at, err := time.Parse(layout, text); err == nil {
			return scriptDay.Add(at.Sub(at.Truncate(24 * time.Hour)))
		}
	}
	c.Fatalf("%q is no time like 10:00 or 10:00:05", text)
	return time.Time{}
}

func duration(c *script.Command, key string, without time.Duration) time.Duration {
	text := c.Text(key, "")
	if text == "" {
		return without
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		c.Fatalf("%s=%s is no duration", key, text)
	}
	return d
}

// shortTime leaves the scripts' day out of a time.
func shortTime(text string) string {
	return strings.TrimSuffix(strings.TrimPrefix(text, scriptDay.Format(time.DateOnly)+"T"), "Z")
}

// printScanned prints rows in the syntax of parseRow.
func printScanned(c *script.Command, rec arrow.Record) {
	for row := range int(rec.NumRows()) {
		var at, value, tags string
		for i, field := range rec.Schema().Fields() {
			column := rec.Column(i)
			switch {
			case field.Name == "time":
				nanos := column.(*array.Int64).Value(row)
				at = shortTime(time.Unix(0, nanos).UTC().Format(time.RFC3339Nano))
			case field.Name == "value":
				value = " value=" + column.ValueStr(row)
			case column.IsValid(row):
				tags += " " + strings.TrimPrefix(field.Name, "tag.") + "=" + column.ValueStr(row)
			}
		}
		c.Printf("%s%s%s\n", at, tags, value)
	}
}

// printGranule prints a granule by its lower bound, then its parts.
func printGranule(c *script.Command, g *columnstore.GranuleInfo) {
	from := "from the start"
	if bound := g.Lower.Values[1:]; len(bound) > 0 {
		from = "from " + strings.Join(bound, " ")
	}
	c.Printf("  granule %s: %s\n", strings.ReplaceAll(from, "tag.", ""), countOf(g.Rows))
	for _, p := range g.Parts {
		kind, ids := "fresh", "commit "+strconv.FormatUint(uint64(p.Commit), 10)
		if p.Base {
			kind, ids = "base ", "up to "+ids
		}
		rows := countOf(p.Hi - p.Lo)
		if p.Hi-p.Lo < p.PartRows {
			rows = "rows " + strconv.Itoa(p.Lo) + " to " + strconv.Itoa(p.Hi) + " of " + strconv.Itoa(p.PartRows)
		}
		c.Printf("    %s %s, %s\n", kind, rows, ids)
	}
}

func countOf(rows int) string {
	if rows == 1 {
		return "1 row"
	}
	return strconv.Itoa(rows) + " rows"
}
