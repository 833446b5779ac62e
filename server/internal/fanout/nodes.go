// Package fanout asks several profile servers one query, and makes one answer from theirs: the answer of
// a server with the profiles of all.
//
//	F1  No profile is on two nodes. Lists are joined, points are added up, and sums by whole stacks become rows of
//	    a store in memory, which answers. Pruned answers are never added up.
//	F2  A node that does not answer is an ErrNode that names it, unless answers may be partial: then it is
//	    a warning, a count, and never silence. An answer without any node is an error. A partial answer waits a
//	    second for a node that is stopped, and the next ones for a moment not at all.
//	F3  All nodes are asked concurrently. The first error ends the requests to the others, unless answers may
//	    be partial. All goroutines have ended when a query is answered.
//	F4  At most Options.Answer bytes are read from a node, and Options.Memory from all, within Options.Time
//	    minus the share that the answer needs. The stacks of a front take half of what its questions may take together, and
//	    a whole profile Options.Memory. Messages are counted before they are decoded.
//	F5  Kinds of two nodes are told apart by their names, or by their types if they have no name.
//	F6  A mean is made from the sums and the numbers of times of its sources on all nodes, and not from
//	    the means of nodes, because it is rounded once.
package fanout

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"google.golang.org/protobuf/proto"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
)

// Nodes are the Nodes of package server.
type Nodes struct {
	URLs           []string
	PartialAnswers bool
	Transport      http.RoundTripper
}

// Options are the limits and settings of a Set.
type Options struct {
	Answer  int64          // greatest bytes of a node's answer
	Memory  int64          // greatest bytes of the stacks of all nodes
	Time    time.Duration  // greatest time of a query
	Queries int            // greatest number of concurrent queries
	Profile profile.Limits // limits on a node's stacks, except their bytes

	Registry prometheus.Registerer        // for the nodes' metrics
	Codec    connect.Codec                // decodes messages after it counted their contents
	Token    func() string                // token for the nodes, unless it is empty
	Warn     func(context.Context, error) // called with the error of a node that an answer lacks
}

// Set is a front's nodes. It is safe for concurrent use.
type Set struct {
	nodes     []*node
	isPartial bool
	opts      Options
	client    *http.Client
	shelves   *shelves // of stacks

	mu     sync.Mutex // guards the fields below
	probed time.Time  // time of the last probe for readiness
	state  error      // result of the last probe
}

// New returns a set of nodes. All options are required. The error is ErrNode if there is no address, or if an
// address is invalid or repeated.
func New(of Nodes, opts Options) (*Set, error) {
	transport := of.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		t.MaxIdleConnsPerHost = opts.Queries
		transport = t
	}
	s := &Set{isPartial: of.PartialAnswers, opts: opts, shelves: newShelves(), client: &http.Client{
		Transport: transport,
		// A token goes only to the named nodes.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, text := range of.URLs {
		u, err := url.Parse(text)
		isOdd := func(r rune) bool { return r <= ' ' || r > '~' } // headers have the names of nodes
		if err != nil || strings.ContainsFunc(text, isOdd) || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%w %.200q: want an address such as http://granary-0:4040", fault.ErrNode, text)
		}
		n := &node{url: strings.TrimSuffix(u.String(), "/")}
		if slices.ContainsFunc(s.nodes, func(o *node) bool { return strings.EqualFold(o.url, n.url) }) {
			return nil, fmt.Errorf("%w %s: it is there twice, and its profiles would count twice", fault.ErrNode, n.url)
		}
		s.nodes = append(s.nodes, n)
	}
	if len(s.nodes) == 0 {
		return nil, fmt.Errorf("%w: want the address of at least one", fault.ErrNode)
	}
	s.measure(opts.Registry)
	return s, nil
}

// measure makes the metrics of the nodes.
func (s *Set) measure(registry prometheus.Registerer) {
	registers := promauto.With(registry)
	counter := func(name, help string) *prometheus.CounterVec {
		return registers.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"node"})
	}
	requests := counter("granary_node_requests_total", "Requests to a node.")
	failed := counter("granary_node_failures_total", "Requests that a node did not answer, or not well.")
	missing := counter("granary_node_missing_total", "Partial answers that a node is missing in.")
	seconds := registers.NewHistogramVec(prometheus.HistogramOpts{
		Name: "granary_node_request_seconds", Help: "Time until the end of a node's answer.",
		Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60},
	}, []string{"node"})
	for _, n := range s.nodes {
		n.requests, n.failed = requests.WithLabelValues(n.url), failed.WithLabelValues(n.url)
		n.missing, n.seconds = missing.WithLabelValues(n.url), seconds.WithLabelValues(n.url)
	}
}

// String returns the addresses of the nodes.
func (s *Set) String() string {
	urls := make([]string, len(s.nodes))
	for i, n := range s.nodes {
		urls[i] = n.url
	}
	return strings.Join(urls, ", ")
}

// Close closes the connections to nodes that no query uses, and drops the stacks that are kept. No question may follow.
func (s *Set) Close() {
	s.client.CloseIdleConnections()
	_ = s.shelves.close() // a store in memory, which has no error to tell
}

// probeAge is how long the result of a readiness probe is reused. probeTime is the time limit of a probe.
const (
	probeAge  = time.Second
	probeTime = 5 * time.Second
)

// Ready returns an error that names the nodes that are not ready, unless answers may be partial and one
// node is ready.
func (s *Set) Ready(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.probed.IsZero() && time.Since(s.probed) < probeAge {
		return s.state
	}
	within, cancel := context.WithTimeout(ctx, min(probeTime, s.opts.Time))
	defer cancel()
	_, errs := s.askAll(within, s.nodes, func(int) []Question { return []Question{{Path: "/readyz"}} }, func(error) {})
	state := errors.Join(errs...)
	if s.isPartial && slices.Contains(errs, nil) {
		state = nil
	}
	if ctx.Err() == nil { // otherwise the client went away
		s.probed, s.state = time.Now(), state
	}
	return state
}

// ProtoMedia is the media type of a message of Connect.
const ProtoMedia = "application/proto"

// askTyped asks all nodes a query, and maybe more, as gather does. It calls use with each answer to the
// first query.
func askTyped[M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Set, share float64, q Question, use func(*node, P, []reply) error, more ...Question) error {
	q.Media = ProtoMedia
	return s.gather(ctx, s.nodes, share, append([]Question{q}, more...), func(i int, replies []reply) error {
		n, answer := s.nodes[i], P(new(M))
		if err := s.opts.Codec.Unmarshal(replies[0].body, answer); err != nil {
			return n.away("a wrong answer: %v", err)
		}
		return use(n, answer, replies)
	})
}

// Union asks all nodes a query whose answer is a list. It returns the distinct elements in all lists,
// sorted by key.
func Union[T, M any, P interface {
	*M
	proto.Message
}](ctx context.Context, s *Set, procedure string, m proto.Message, list func(P) []T, key func(T) string) ([]T, error) {
	type keyed struct {
		key  string
		item T
	}
	var all []keyed
	known := map[string]bool{}
	err := askTyped(ctx, s, 0.25, Question{Path: procedure, Message: m}, func(_ *node, answer P, _ []reply) error {
		for _, item := range list(answer) {
			if k := key(item); !known[k] {
				known[k] = true
				all = append(all, keyed{k, item})
			}
		}
		return nil
	})
	slices.SortFunc(all, func(a, b keyed) int { return cmp.Compare(a.key, b.key) })
	items := make([]T, len(all))
	for i, k := range all {
		items[i] = k.item
	}
	return items, err
}

// Newest returns the newest profile's time on all nodes in Unix nanoseconds, or 0 if there is none.
func (s *Set) Newest(ctx context.Context) (newest int64, err error) {
	ask := []Question{{Path: "/api/v1/store", Media: "application/json"}}
	err = s.gather(ctx, s.nodes, 0.5, ask, func(i int, replies []reply) error {
		var of struct{ Newest string }
		if err := json.Unmarshal(replies[0].body, &of); err != nil {
			return s.nodes[i].away("a wrong answer: %v", err)
		}
		if of.Newest == "" {
			return nil
		}
		at, err := time.Parse(time.RFC3339Nano, of.Newest)
		if err != nil {
			return s.nodes[i].away("a wrong answer: %v", err)
		}
		newest = max(newest, at.UnixNano())
		return nil
	})
	return newest, err
}
