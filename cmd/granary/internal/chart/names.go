package chart

import (
	"slices"
	"strconv"
)

// Names returns the names of lines for a legend: the values of their labels, at most `width` runes together.
// Each line has the same number of values. Names cuts long values, and keeps the names of different lines
// different.
func Names(lines [][]string, width int) []string {
	if len(lines) == 0 {
		return nil
	}
	columns := make([][]string, len(lines[0])) // for each label
	lengths := make([]int, len(columns))
	for _, values := range lines {
		for i, value := range values {
			columns[i] = append(columns[i], value)
			lengths[i] = max(lengths[i], len([]rune(value)))
		}
	}
	const between = ", "
	widths := shares(lengths, width-len(between)*(len(columns)-1))
	names := make([]string, len(lines))
	for i, values := range columns {
		for line, value := range cut(values, widths[i]) {
			if i > 0 {
				names[line] += between
			}
			names[line] += value
		}
	}
	return names
}

// shares divides a width between columns equally, except that a column that needs less leaves the rest to the
// others. A column has at least three runes.
func shares(lengths []int, width int) []int {
	order := make([]int, len(lengths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return lengths[a] - lengths[b] })
	out := make([]int, len(lengths))
	for k, i := range order {
		out[i] = max(3, min(lengths[i], width/(len(order)-k)))
		width -= out[i]
	}
	return out
}

// cut shortens texts to a width so that different texts stay different. It tries to cut their fronts, because
// the ends of file names and pod names differ most often; then to show them from the first difference; then
// to cut their middles. If each of these makes two texts equal, it numbers the texts.
func cut(texts []string, width int) []string {
	var long [][]rune
	for _, text := range texts {
		if runes := []rune(text); len(runes) > width {
			long = append(long, runes)
		}
	}
	from := commonFront(long)
	for _, shorten := range []func(text []rune) string{
		func(text []rune) string { return "…" + string(text[len(text)-width+1:]) },
		func(text []rune) string { return window(text, from, width) },
		func(text []rune) string {
			return string(text[:width/2]) + "…" + string(text[len(text)-(width-width/2-1):])
		},
	} {
		out := slices.Clone(texts)
		for i, text := range texts {
			if runes := []rune(text); len(runes) > width {
				out[i] = shorten(runes)
			}
		}
		if distinct(out) == distinct(texts) {
			return out
		}
	}
	return numbered(texts, width)
}

// window returns a part of a text that begins at `from`, or before it if the width has room.
func window(text []rune, from, width int) string {
	from = min(from, len(text)-width+1)
	if from <= 1 {
		return string(text[:width-1]) + "…"
	}
	if to := from + width - 2; to < len(text)-1 {
		return "…" + string(text[from:to]) + "…"
	}
	return "…" + string(text[len(text)-width+1:])
}

// commonFront returns the length, in runes, of the texts' common prefix.
func commonFront(texts [][]rune) int {
	n := 0
	for ; len(texts) > 0; n++ {
		for _, text := range texts {
			if n == len(text) || text[n] != texts[0][n] {
				return n
			}
		}
	}
	return n
}

func distinct(texts []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(texts))))
}

// numbered cuts the ends of texts, and appends a number instead.
func numbered(texts []string, width int) []string {
	out, taken := slices.Clone(texts), map[string]string{} // taken maps a name to its text
	for _, text := range texts {
		if len([]rune(text)) <= width {
			taken[text] = text
		}
	}
	for i, text := range texts {
		runes := []rune(text)
		for n := 1; len(runes) > width; n++ {
			number := "…" + strconv.Itoa(n)
			name := string(runes[:max(0, width-len([]rune(number)))]) + number
			if of, known := taken[name]; !known || of == text {
				out[i], taken[name] = name, text
				break
			}
		}
	}
	return out
}
