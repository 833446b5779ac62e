package server

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/klauspost/compress/gzip"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/query/filter"
)

// What a page asks: GET /api/v1/.... Answers are JSON.

// maxURL bounds the bytes of the query of a URL.
const maxURL = 8 << 10

// pageHead is a part of each answer to a page.
type pageHead struct {
	// Commit is that of the snapshot of the answer.
	Commit uint64 `json:"commit"`
	// Touched is what the question read.
	Touched pageTouched `json:"touched"`
}

// pageTouched are the counts of filter.Touched.
type pageTouched struct {
	Granules int64 `json:"granules"`
	Parts    int64 `json:"parts"`
	Rows     int64 `json:"rows"`
	Chosen   int64 `json:"chosen"`
}

func newPageHead(commit uint64, t *filter.Touched) pageHead {
	return pageHead{commit, pageTouched{t.Granules.Load(), t.Parts.Load(), t.Rows.Load(), t.Chosen.Load()}}
}

// head returns the part of an answer that all have.
func (h *pageHead) head() *pageHead { return h }

// pageAnswer is an answer to a page, which becomes JSON.
type pageAnswer interface{ head() *pageHead }

// pageQuestion is a question of a page.
type pageQuestion struct {
	s    *Server
	snap *columnstore.Snapshot // nil at a front
	of   url.Values            // its parameters
	at   string                // the URL of the server
	name string                // of the history in its path

	last *int64 // the time of the newest profile; nil if it was not needed
}

// pageRoutes registers the handlers of a page's questions.
func (s *Server) pageRoutes() {
	sides := []string{"t", "q", "from", "to", "bq", "bfrom", "bto", "norm", "sum", "s", "hide", "show", "focus", "ignore"}
	page, isFront := s.page, s.front != nil
	if isFront {
		page = s.frontPage
	}
	states := []string{"h", "p", "state", "status", "attribute"}
	stacks := slices.Concat(sides, states)
	routes := map[string]http.Handler{
		"flame": page(flameOf, append(slices.Clip(stacks), "inv", "function", "max_nodes", "shares")...),
		"top":   page(topOf, append(slices.Clip(stacks), "sort", "change", "rows", "offset")...),

		"command": page(commandOf, append(slices.Clip(stacks), "function", "sort")...),
	}
	samples := []string{"t", "q", "from", "to", "hide", "show", "focus", "ignore", "h", "p", "attribute"}
	alone := map[string]http.Handler{
		"profiles":  s.page(profilesOf, "t", "q", "from", "to", "rows", "pixels"),
		"inspect":   s.page(inspectOf, append(slices.Clip(stacks), "function", "rows", "offset")...),
		"store":     s.handler(s.storeState),
		"histories": s.page(historiesOf),
		"states":    s.page(statesOf, samples...),
		"meanwhile": s.page(meanwhileOf, append(slices.Clip(samples), "state", "max_nodes")...),
	}
	for path, question := range historyQuestions {
		alone["histories/{name}/"+path] = s.page(question.answer, question.names...)
	}
	for path, h := range alone {
		if isFront {
			h = s.handler(func(http.ResponseWriter, *http.Request) error {
				return refused("a front does not answer /api/v1/%s: ask one of its nodes, each for its own profiles: %s", path, s.front)
			})
		}
		routes[path] = h
	}
	for path, h := range routes {
		s.mux.Handle("GET /api/v1/"+path, s.asks("/api/v1/"+path, headed(h)))
	}
}

// page is a handler of a page's questions with parameters of some names.
func (s *Server) page(answer func(context.Context, *pageQuestion) (pageAnswer, error), names ...string) http.Handler {
	return s.handler(func(w http.ResponseWriter, r *http.Request) error {
		of, err := pageParameters(r.URL.RawQuery, append(names, "commit"))
		if err != nil {
			return err
		}
		commit, isNamed, err := commitOf(of)
		if err != nil {
			return err
		}
		var out pageAnswer
		var tag string
		var touched filter.Touched
		err = s.inTime(r.Context(), func(ctx context.Context) error {
			return s.held.use(s.db.Store(), isNamed, commit, func(snap *heldSnapshot) (err error) {
				if tag = s.tag(snap, r.URL.Path, of); isKnown(r, tag) {
					return nil
				}
				if out, err = answer(filter.Counting(ctx, &touched), &pageQuestion{s: s, snap: snap.Snapshot, of: of, name: r.PathValue("name"), at: urlOf(r)}); err == nil {
					*out.head() = newPageHead(uint64(snap.Commit()), &touched)
				}
				return err
			})
		})
		if err != nil {
			return err
		}
		w.Header().Set("ETag", tag)
		w.Header().Set("Vary", "Accept-Encoding, Authorization")
		if out == nil {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
		return s.sendJSON(w, r, out)
	})
}

// pageParameters parses the query of a URL. Names that are not among some are errors, so that a misspelt one does
// not select everything.
func pageParameters(raw string, names []string) (url.Values, error) {
	if len(raw) > maxURL {
		return nil, &limitError{http.StatusRequestURITooLong, "limit: " + strconv.Itoa(len(raw)) + " bytes of a URL, at most " + strconv.Itoa(maxURL)}
	}
	of, err := url.ParseQuery(raw)
	if err != nil {
		return nil, invalid("query: %w", err)
	}
	for name, values := range of {
		if !slices.Contains(names, name) {
			return nil, invalid("parameter %s is not known", quoted(name))
		}
		if len(values) > 1 {
			return nil, invalid("parameter %s is given twice", quoted(name))
		}
	}
	return of, nil
}

// commitOf takes the commit from the parameters, if they have one.
func commitOf(of url.Values) (commit uint64, isNamed bool, err error) {
	text := of.Get("commit")
	if of.Del("commit"); text == "" {
		return 0, false, nil
	}
	if commit, err = strconv.ParseUint(text, 10, 64); err != nil {
		return 0, false, invalid("parameter commit: want the commit of an answer, not %s", quoted(text))
	}
	return commit, true, nil
}

// tag returns the ETag of an answer. Snapshots of one commit can differ by what was evicted, and commits of two runs
// of a server are not the same. It is weak: other granules can have been touched.
func (s *Server) tag(snap *heldSnapshot, path string, of url.Values) string {
	h := hashOf(s.run, strconv.FormatUint(snap.serial, 10), path, of.Encode())
	return `W/"` + hex.EncodeToString(h[:]) + `"`
}

// isKnown reports whether the client has the answer with a tag.
func isKnown(r *http.Request, tag string) bool {
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimSpace(known) == tag {
			return true
		}
	}
	return false
}

// sendJSON answers with JSON of a limited size, gzipped if the client takes that.
func (s *Server) sendJSON(w http.ResponseWriter, r *http.Request, answer any) error {
	var whole bytes.Buffer // so that an answer beyond the limit is an error, and not cut
	if err := json.NewEncoder(&limitedWriter{w: &whole, most: s.limits.ResultBytes}).Encode(answer); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	data := whole.Bytes()
	if len(data) > leastZipped && takesGzip(r) {
		var zipped bytes.Buffer
		z := zip{gzip.NewWriter(&zipped)}
		_, _ = z.Write(data) // a Buffer has no errors
		_ = z.Close()
		h.Set("Content-Encoding", "gzip")
		data = zipped.Bytes()
	}
	_, _ = w.Write(data) // an error is that the client has gone
	return nil
}

// leastZipped is the size from which an answer is gzipped.
const leastZipped = 1 << 10

func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, q, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.EqualFold(name, "gzip") && strings.ReplaceAll(q, " ", "") != "q=0" {
			return true
		}
	}
	return false
}

// number returns a parameter that is a number from 0 to most, or the default if it is not given.
func (q *pageQuestion) number(name string, otherwise, most int) (int, error) {
	text := q.of.Get(name)
	if text == "" {
		return min(otherwise, most), nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, invalid("parameter %s: want a number, not %s", name, quoted(text))
	}
	if n > uint64(most) {
		return 0, tooCostly("%s of %d, at most %d", name, n, most)
	}
	return int(n), nil
}

// flag returns a parameter that is 1 or 0.
func (q *pageQuestion) flag(name string) (bool, error) {
	switch text := q.of.Get(name); text {
	case "", "0":
		return false, nil
	case "1":
		return true, nil
	default:
		return false, invalid("parameter %s: want 1 or 0, not %s", name, quoted(text))
	}
}

// pageType is what an answer says about the type of its values.
type pageType struct {
	SampleType string `json:"sample_type"`
	Unit       string `json:"unit"`
	// Mean says that values are means over the times of profiles, and not sums.
	Mean bool `json:"mean"`
	// Total is the sum of all values by side, of a difference before and after, and Magnitude that without signs.
	Total     []int64 `json:"total"`
	Magnitude []int64 `json:"magnitude"`
	// Found is the Total of the stacks with a function that matches s.
	Found []int64 `json:"found,omitempty"`
	// States is what was chosen by state, if that was.
	States *chosenStates `json:"states,omitempty"`
}

func newPageType(t profile.Type, q profile.Query, sides []*profile.Stacks) (out pageType) {
	out = pageType{SampleType: t.Sample, Unit: t.SampleUnit, Mean: t.IsGauge() && !q.SumGauges}
	for _, s := range sides {
		out.Total, out.Magnitude = append(out.Total, s.Total), append(out.Magnitude, s.Magnitude)
	}
	return out
}
