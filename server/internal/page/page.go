// Package page answers a web page's queries: GET /api/v1/..., as JSON.
package page

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/marks"
	"github.com/granarydb/granary/server/internal/question"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// MaxURL bounds the bytes of a URL's query.
const MaxURL = 8 << 10

// Head is a part of each answer to a page.
type Head struct {
	// Commit is the commit of the answer's snapshot.
	Commit uint64 `json:"commit"`
	// Touched counts the data that the query read.
	Touched Touched `json:"touched"`
}

// Touched has the counts of filter.Counts.
type Touched struct {
	Granules int64 `json:"granules"`
	Parts    int64 `json:"parts"`
	Rows     int64 `json:"rows"`
	Chosen   int64 `json:"chosen"`
}

func newPageHead(commit uint64, t *filter.Counts) Head {
	return Head{commit, Touched{t.Granules.Load(), t.Parts.Load(), t.Rows.Load(), t.Chosen.Load()}}
}

// head returns the part that all answers have.
func (h *Head) head() *Head { return h }

// pageAnswer is an answer to a page, which is encoded as JSON.
type pageAnswer interface{ head() *Head }

// Options are the settings of a page's handlers. All fields up to ResultBytes are required.
type Options struct {
	Source      source.Source
	Gate        *source.Gate
	Read        *question.Reader
	ResultBytes int64      // greatest size of an encoded answer
	Marks       *marks.Log // annotations; nil has none
	HasOlder    bool       // whether profiles that the source dropped can be read
	Files       []string   // names of the opened files that the source is of
	// Text returns lines of a file that profiles of a version name (listing.Dirs.Part); nil if there is no text.
	Text TextFunc
	Self string // path of a page about the server itself, relative to its own; empty if there is none
}

// TextFunc returns the lines of a file from first to last, as far as it has them, for the caller of the context.
type TextFunc func(ctx context.Context, file, version string, first, last int) ([]string, error)

// page answers a page's queries.
type page struct{ Options }

// answerFunc answers a query.
type answerFunc func(context.Context, *pageQuestion) (pageAnswer, error)

// times are the parameters that can count from now, which is the time of the query, not of its snapshot.
var times = []string{"from", "to", "bfrom", "bto", "at"}

// handler returns a handler for queries with the parameters `names`. need says why a query requires a single
// store, or "" if it does not.
func (p *page) handler(need source.Need, answer answerFunc, names ...string) http.Handler {
	names = append(slices.Clip(names), "commit") // the caller may have more behind them
	return web.Handler(func(w http.ResponseWriter, r *http.Request) error {
		if need != "" {
			if _, err := p.Source.Store(need); err != nil {
				return err
			}
		}
		of, err := pageParameters(r.URL.RawQuery, names)
		if err != nil {
			return err
		}
		commit, err := commitOf(of)
		if err != nil {
			return err
		}
		for _, name := range times {
			if of.Has(name) {
				of.Set(name, p.Read.FixNow(of.Get(name)))
			}
		}
		var out pageAnswer
		var tag string
		err = p.Gate.InTime(r.Context(), func(ctx context.Context) error {
			return p.Source.Held(ctx, commit, func(v source.View) (err error) {
				if tag = v.Tag(r.URL.Path, of); of.Has("texts") {
					tag = "" // files change without a commit
				}
				if tag != "" && isKnown(r, tag) {
					return nil
				}
				q := &pageQuestion{page: p, view: v, of: of, name: r.PathValue("name"), base: urlOf(r)}
				out, err = q.answer(ctx, need, answer)
				return err
			})
		})
		if err != nil {
			return err
		}
		if tag != "" {
			w.Header().Set("ETag", tag)
			w.Header().Set("Vary", "Accept-Encoding, Authorization")
		}
		if out == nil {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		if file, is := out.(*exported); is {
			file.send(w)
			return nil
		}
		return web.SendJSON(w, r, p.ResultBytes, out)
	})
}

// answer answers a query, and adds the commit and the answer's counts.
func (q *pageQuestion) answer(ctx context.Context, need source.Need, answer answerFunc) (out pageAnswer, err error) {
	if need != "" {
		if q.at, err = q.view.Store(need); err != nil {
			return nil, err
		}
	}
	var touched filter.Counts
	if out, err = answer(filter.Counting(ctx, &touched), q); err != nil {
		return nil, err
	}
	if commit := q.view.Commit(); commit != 0 {
		*out.head() = newPageHead(commit, &touched)
	}
	return out, nil
}

// pageParameters parses the query of a URL of a limited size.
func pageParameters(raw string, names []string) (url.Values, error) {
	if len(raw) > MaxURL {
		return nil, &fault.LimitError{Status: http.StatusRequestURITooLong, Text: "limit: " + strconv.Itoa(len(raw)) + " bytes of a URL, at most " + strconv.Itoa(MaxURL)}
	}
	return question.ParseQuery(raw, names)
}

// commitOf removes the commit from the parameters and returns it, or nil if they have none.
func commitOf(of url.Values) (*uint64, error) {
	text := of.Get("commit")
	if of.Del("commit"); text == "" {
		return nil, nil
	}
	commit, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return nil, fault.Invalid("parameter commit: want the commit of an answer, not %s", fault.Quoted(text))
	}
	return &commit, nil
}

// isKnown reports whether the client has the answer with a tag.
func isKnown(r *http.Request, tag string) bool {
	known := strings.Split(r.Header.Get("If-None-Match"), ",")
	return slices.ContainsFunc(known, func(known string) bool { return strings.TrimSpace(known) == tag })
}
