package main

import (
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"strings"
)

// rates are the words whose rate tells a dialect from the English of the field. pebble is the
// rate per 1,000 words of comments in Pebble v2.1.7.
var rates = []struct {
	word   string
	pebble float64
}{
	{"of", 19}, {"those", 0.4}, {"what", 0.2}, {"one", 1.6}, {"because", 1.3}, {"who", 0}, {"whom", 0}, {"whose", 0.2},
}

var word = regexp.MustCompile(`[a-z']+`)

// printWords prints how often the words of rates stand in the comments of the source, per
// 1,000 words. A reader is the judge: the figures only say where to read.
func printWords(w io.Writer) error {
	files, err := goFiles()
	if err != nil {
		return err
	}
	counts, all := map[string]int{}, 0
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, group := range f.Comments {
			for _, token := range word.FindAllString(strings.ToLower(group.Text()), -1) {
				counts[token]++
				all++
			}
		}
	}
	fmt.Fprintf(w, "per 1,000 words of comments   here  Pebble\n")
	for _, r := range rates {
		fmt.Fprintf(w, "%-28s %5.1f %7.1f\n", r.word, 1000*float64(counts[r.word])/float64(all), r.pebble)
	}
	fmt.Fprintf(w, "%d words\n", all)
	return nil
}
