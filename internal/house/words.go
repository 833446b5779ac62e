package main

import (
	"cmp"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// rates are the words whose rate distinguishes these comments from plain English. pebble is the rate per
// 1,000 words of comments in Pebble v2.1.7.
var rates = []struct {
	word   string
	pebble float64
}{
	{"of", 19}, {"those", 0.4}, {"what", 0.2}, {"one", 1.6}, {"because", 1.3}, {"who", 0}, {"whom", 0}, {"whose", 0.2},
}

var word = regexp.MustCompile(`[a-z']+`)

// printWords prints the rates of words in the comments of each package, per 1,000 words. The figures only say
// which comments to read first.
func printWords(w io.Writer) error {
	files, err := goFiles()
	if err != nil {
		return err
	}
	rooms := map[string]map[string]int{"in all": {}}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		room := path.Dir(name)
		if rooms[room] == nil {
			rooms[room] = map[string]int{}
		}
		for _, group := range f.Comments {
			for _, token := range word.FindAllString(strings.ToLower(group.Text()), -1) {
				for _, counts := range []map[string]int{rooms[room], rooms["in all"]} {
					counts[token]++
					counts[""]++
				}
			}
		}
	}
	printRates(w, rooms)
	return nil
}

// printRates prints a line for each package, the package with the most comments first.
func printRates(w io.Writer, rooms map[string]map[string]int) {
	fmt.Fprint(w, "  words")
	for _, r := range rates {
		fmt.Fprintf(w, " %7s", r.word)
	}
	fmt.Fprint(w, "  room\n       ")
	for _, r := range rates {
		fmt.Fprintf(w, " %7.1f", r.pebble)
	}
	fmt.Fprint(w, "  Pebble\n")
	names := slices.SortedFunc(maps.Keys(rooms), func(a, b string) int {
		return cmp.Or(cmp.Compare(rooms[b][""], rooms[a][""]), cmp.Compare(a, b))
	})
	for _, name := range names {
		counts := rooms[name]
		fmt.Fprintf(w, "%7d", counts[""])
		for _, r := range rates {
			fmt.Fprintf(w, " %7.1f", 1000*float64(counts[r.word])/float64(max(1, counts[""])))
		}
		fmt.Fprintf(w, "  %s\n", name)
	}
}
