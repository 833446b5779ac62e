package page

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/granarydb/granary/profile"
)

// urlOf returns the URL of the server as the client of a request knows it, without a slash at the end.
func urlOf(r *http.Request) string {
	scheme, below := "http", ""
	if r.TLS != nil {
		scheme = "https"
	}
	if asked, err := url.ParseRequestURI(r.RequestURI); err == nil { // with the path that the server is mounted at
		below, _ = strings.CutSuffix(asked.EscapedPath(), r.URL.EscapedPath())
	}
	return scheme + "://" + r.Host + below
}

// CommandAnswer is the answer of GET /api/v1/command: the same question for a terminal, which costs no more than its times.
type CommandAnswer struct {
	Head
	Command string `json:"command"`
}

// commandOf answers GET /api/v1/command.
func commandOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	if _, err := q.order(); err != nil {
		return nil, err
	}
	p, err := q.sides(ctx)
	if err != nil {
		return nil, err
	}
	return &CommandAnswer{Command: q.command(&p)}, nil
}

// command returns a line for a shell that asks the question of top, of diff with two sides, and with a function of peek.
// Its times are fixed. It is empty if there is none: for the sum of a gauge, as GET /pprof answers with means, for
// samples that are chosen by state, and for text that terminals do not print as it is.
func (q *pageQuestion) command(p *pageSides) string {
	if q.of.Has("h") || p.queries[0].SumGauges && p.typ.IsGauge() {
		return ""
	}
	words := []string{"granary", "top"}
	function := q.of.Get("function")
	switch {
	case len(p.queries) > 1:
		words[1] = "diff"
		if p.norm {
			words = append(words, "--normalize")
		}
	case function != "":
		words[1] = "peek"
	}
	for _, name := range []string{"focus", "ignore", "hide", "show", "sort"} {
		if text := q.of.Get(name); text != "" && (name != "sort" || text != "flat") {
			words = append(words, "--"+name+"="+text)
		}
	}
	if words[1] == "peek" {
		words = append(words, "--", "^"+regexp.QuoteMeta(function)+"$")
	}
	for i := range p.queries {
		words = append(words, q.base+"/pprof?"+parametersOf(q.of.Get("t"), p.selectors[i], &p.queries[i]))
	}
	for i, word := range words {
		if strings.ContainsFunc(word, func(c rune) bool { return !unicode.IsPrint(c) || c == unicode.ReplacementChar }) {
			return ""
		}
		words[i] = shellWord(word)
	}
	return strings.Join(words, " ")
}

// parametersOf returns the parameters of GET /pprof for a query.
func parametersOf(typ, selector string, query *profile.Query) string {
	of := url.Values{"type": {typ}}
	if selector != "" {
		of.Set("selector", selector)
	}
	for name, at := range map[string]int64{"from": query.From, "to": query.To} {
		if at != 0 {
			of.Set(name, timeText(time.Unix(0, at)))
		}
	}
	return of.Encode()
}

// plainWord matches words that a shell takes as they are.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:@%+-][a-zA-Z0-9_./:@%+=-]*$`)

// shellWord returns a word as a POSIX shell reads it.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
