package page

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/profile/tree"
	"github.com/granarydb/granary/server/internal/web"
)

// urlOf returns the server's URL as the client of a request knows it, with its tenant, without a trailing slash.
func urlOf(r *http.Request) string {
	scheme, below := "http", ""
	if r.TLS != nil {
		scheme = "https"
	}
	if asked, err := url.ParseRequestURI(r.RequestURI); err == nil { // includes the path where the server is mounted
		below, _ = strings.CutSuffix(asked.EscapedPath(), r.URL.EscapedPath())
	}
	c := web.CallerOf(r.Context())
	if below, _ = strings.CutSuffix(below, c.Inside); !c.InPath && c.Tenant != "" && c.Tenant != profile.Anonymous {
		below += "/tenants/" + url.PathEscape(c.Tenant) // because a terminal sends no header
	}
	below += c.Inside
	return scheme + "://" + r.Host + below
}

// CommandAnswer is the answer to GET /api/v1/command: the same query for a terminal. It costs only the
// resolution of its times, and with rate the times of the profiles.
type CommandAnswer struct {
	Head
	Command string `json:"command"`
}

// commandOf answers GET /api/v1/command.
func commandOf(ctx context.Context, q *pageQuestion) (pageAnswer, error) {
	q.order()
	q.lens()
	p, err := q.sides(ctx)
	if err != nil {
		return nil, err
	}
	factor := 0.0
	if p.rate && len(p.queries) > 1 {
		if factor, err = q.compareTimes(ctx, &p); err != nil {
			return nil, err
		}
	}
	return &CommandAnswer{Command: q.command(&p, factor)}, nil
}

// command returns a shell line with the same query: for top, for diff with two sides, and for peek with a
// function. Its times are fixed. It is empty if no command gives the same answer: for the sum of a gauge,
// because GET /pprof answers with means; for samples chosen by state; for frames that are no functions; and for text that terminals do not
// print unchanged.
func (q *pageQuestion) command(p *pageSides, factor float64) string {
	if q.of.Has("h") || q.lens().By != tree.ByFunction || p.queries[0].SumGauges && p.typ.IsGauge() {
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
		if factor != 0 { // the command scales the side after: changes are the same shares of the side before
			words = append(words, "--scale="+strconv.FormatFloat(1/factor, 'g', 6, 64))
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
			of.Set(name, instantText(at))
		}
	}
	return of.Encode()
}

// plainWord matches words that a shell takes unchanged.
var plainWord = regexp.MustCompile(`^[a-zA-Z0-9_./:@%+-][a-zA-Z0-9_./:@%+=-]*$`)

// shellWord quotes a word for a POSIX shell.
func shellWord(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
