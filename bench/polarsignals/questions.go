package main

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// question is a question of the benchmark. Each selects the one type of all rows, except the last, which
// lists the types.
type question struct {
	name  string
	about string
	to    int64 // the last time that it selects
	comm  string
	rows  bool // it answers with rows
}

const second = 1_000_000_000

// questions are the questions in order. Their first time is 0.
var questions = []question{
	{name: "Q0", about: "rows of 50 s: locations, value, period, time, comm", to: 50 * second, rows: true},
	{name: "Q1", about: "the same of 250 s", to: 250 * second, rows: true},
	{name: "Q2", about: "Q1 of one comm", to: 250 * second, comm: "comm_0", rows: true},
	{name: "Q3", about: "Q2 by a regular expression", to: 250 * second, comm: "comm_0", rows: true},
	{name: "Q4", about: "sums of values and durations by second", to: 250 * second},
	{name: "Q5", about: "the same by second and comm", to: 250 * second},
	{name: "Q6", about: "distinct label sets", to: 250 * second},
	{name: "Q7", about: "distinct values of comm", to: 250 * second},
	{name: "Q8", about: "distinct mapping files of locations", to: 250 * second},
	{name: "Q9", about: "distinct types", to: 250 * second},
}

// rowsDigest sums up rows with whole locations, in any order. The sums wrap around.
type rowsDigest struct {
	rows, locations, lines         uint64
	values, times, periods         uint64
	addresses, numbers, startLines uint64
	links                          uint64 // products of what belongs together
	texts                          map[string]*[6]uint64
}

// The columns of texts.
const (
	textComm = iota
	textMapping
	textBuildID
	textFunction
	textSystemName
	textFile
)

// text counts a text in a column, n times.
func (d *rowsDigest) text(column int, text string, n uint64) {
	if d.texts == nil {
		d.texts = map[string]*[6]uint64{}
	}
	counts := d.texts[text]
	if counts == nil {
		counts = new([6]uint64)
		d.texts[text] = counts
	}
	counts[column] += n
}

// row counts a row without its locations.
func (d *rowsDigest) row(time, value, period int64, comm string) {
	d.rows++
	d.times, d.values, d.periods = d.times+uint64(time), d.values+uint64(value), d.periods+uint64(period)
	d.text(textComm, comm, 1)
}

// location counts a location of a row, without its texts.
func (d *rowsDigest) location(time int64, address uint64) {
	d.locations++
	d.addresses += address
	d.links += uint64(time) * address
}

// line counts a line of a location, without its texts but with their bytes.
func (d *rowsDigest) line(address uint64, number, start int64, function, system, file int) {
	d.lines++
	d.numbers, d.startLines = d.numbers+uint64(number), d.startLines+uint64(start)
	d.links += address * uint64(number+3*start+5*int64(function)+7*int64(system)+11*int64(file))
}

func (d *rowsDigest) String() string {
	var lines []string
	for text, counts := range d.texts {
		for column, n := range counts {
			if n > 0 {
				lines = append(lines, fmt.Sprintf("%d\t%s\t%d", column, text, n))
			}
		}
	}
	return fmt.Sprintf("rows=%d locations=%d lines=%d sums=%d,%d,%d,%d,%d,%d links=%d texts=%s", d.rows, d.locations, d.lines,
		d.values, d.times, d.periods, d.addresses, d.numbers, d.startLines, d.links, linesDigest(lines))
}

// linesDigest returns the digest of lines in any order.
func linesDigest(lines []string) string {
	slices.Sort(lines)
	return fmt.Sprintf("%d:%x", len(lines), sha256.Sum256([]byte(strings.Join(lines, "\n"))))[:24]
}

// selects reports whether a question selects a row.
func (q *question) selects(time int64, comm string) bool {
	return time <= q.to && (q.comm == "" || comm == q.comm)
}

// bucket returns the distinct part of a sum: its second, and of Q5 the comm.
func (q *question) bucket(at int64, comm string) string {
	if q.name == "Q4" {
		return strconv.FormatInt(at, 10)
	}
	return strconv.FormatInt(at, 10) + "\t" + comm
}

// line returns the line of a group: its distinct part, and the sums of values and durations if the question
// asks for sums.
func (q *question) line(part string, sums *[2]int64) string {
	if q.name != "Q4" && q.name != "Q5" {
		return part
	}
	return fmt.Sprintf("%s\t%d\t%d", part, sums[0], sums[1])
}
