package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"
)

// Nodes are the servers whose profiles a front answers from. No profile is on two of them.
type Nodes struct {
	// URLs are the addresses of the nodes, such as http://granary-0:4040: http or https, without
	// a user and a query.
	URLs []string
	// PartialAnswers lets a front answer without the nodes that are away, as long as one answers.
	// Each answer then has a header Granary-Warning for each node that it lacks, and a profile
	// a comment as well. Otherwise a node that is away is an error.
	PartialAnswers bool
	// Transport carries the requests to nodes. nil means one that trusts the certificates that the
	// system trusts. It must be safe for concurrent use.
	Transport http.RoundTripper
}

// front is the part of a Server that has nodes instead of a store.
type front struct {
	nodes     []*node
	isPartial bool
	client    *http.Client

	mu     sync.Mutex // of what follows
	probed time.Time  // when the nodes were asked whether they are ready
	state  error      // what they said
}

// node is a server that a front asks.
type node struct {
	url                       string // without a slash at the end
	requests, failed, missing prometheus.Counter
	seconds                   prometheus.Observer
}

// NewFront returns a server without a store: it answers questions from the profiles of all nodes, and
// takes no pushes. Of the options, Profiles and DropLabels are not used; Tokens.Node is what nodes are
// sent. The limits bound an answer of the front, and what it reads of a node. Errors are ErrLimit
// for a negative limit, and ErrNode for an address that is none, or is there twice.
func NewFront(nodes Nodes, opts Options) (*Server, error) {
	s, err := newBare(opts, nil)
	if err != nil {
		return nil, err
	}
	transport := nodes.Transport
	if transport == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
		t.MaxIdleConnsPerHost = s.limits.Queries
		transport = t
	}
	s.front = &front{isPartial: nodes.PartialAnswers, client: &http.Client{
		Transport: transport,
		// A token goes to the nodes that were named, and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	for _, text := range nodes.URLs {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			return nil, fmt.Errorf("%w %s: want an address such as http://granary-0:4040", ErrNode, quoted(text))
		}
		n := &node{url: strings.TrimSuffix(u.String(), "/")}
		if slices.ContainsFunc(s.front.nodes, func(o *node) bool { return strings.EqualFold(o.url, n.url) }) {
			return nil, fmt.Errorf("%w %s: it is there twice, and its profiles would count twice", ErrNode, n.url)
		}
		s.front.nodes = append(s.front.nodes, n)
	}
	if len(s.front.nodes) == 0 {
		return nil, fmt.Errorf("%w: want the address of at least one", ErrNode)
	}
	s.front.measure(s.metrics.registry)
	s.routes()
	return s, nil
}

// measure makes the metrics of the nodes.
func (f *front) measure(registry *prometheus.Registry) {
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{"node"})
	}
	requests := counter("granary_node_requests_total", "Requests to a node.")
	failed := counter("granary_node_failures_total", "Requests that a node did not answer, or not well.")
	missing := counter("granary_node_missing_total", "Partial answers that a node is missing in.")
	seconds := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "granary_node_request_seconds", Help: "Time until the end of a node's answer.", Buckets: requestBuckets,
	}, []string{"node"})
	registry.MustRegister(requests, failed, missing, seconds)
	for _, n := range f.nodes {
		n.requests, n.failed = requests.WithLabelValues(n.url), failed.WithLabelValues(n.url)
		n.missing, n.seconds = missing.WithLabelValues(n.url), seconds.WithLabelValues(n.url)
	}
}

// frontRoutes registers the handlers of a front's questions.
func (s *Server) frontRoutes() {
	s.mux.Handle("GET /pprof", s.asks("pprof", headed(s.handler(s.frontPprof))))
	s.mux.Handle("GET /arrow", s.asks("arrow", s.handler(func(http.ResponseWriter, *http.Request) error {
		return refused("a front has no rows: ask each node for its /arrow: %s", s.front)
	})))
}

// String returns the addresses of the nodes.
func (f *front) String() string {
	urls := make([]string, len(f.nodes))
	for i, n := range f.nodes {
		urls[i] = n.url
	}
	return strings.Join(urls, ", ")
}

// refusePush answers a push to a front, in the protocol that it came by.
func (s *Server) refusePush(w http.ResponseWriter, r *http.Request) {
	err := refused("a front takes no profiles: push them to one of its nodes: %s", s.front)
	if connects := connect.NewErrorWriter(); connects.IsSupported(r) {
		s.note(w, r, err)
		_ = connects.Write(w, r, err) // an error is that the client has gone
		return
	}
	s.fail(w, r, err)
}

// probeAge is how long a front repeats what nodes said about being ready, and probeTime is how
// long they have to say so.
const (
	probeAge  = time.Second
	probeTime = 5 * time.Second
)

// ready returns an error that names the nodes for whose sake the front is not ready: those that are
// not ready, or all of them if answers may be partial.
func (s *Server) nodesReady(ctx context.Context) error {
	f := s.front
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.probed.IsZero() && time.Since(f.probed) < probeAge {
		return f.state
	}
	within, cancel := context.WithTimeout(ctx, min(probeTime, s.limits.QueryTime))
	defer cancel()
	_, errs := s.askAll(within, f.nodes, []question{{path: "/readyz"}}, func(error) {})
	var away []string
	for _, err := range errs {
		if err != nil {
			away = append(away, err.Error())
		}
	}
	var state error
	if len(away) > 0 && (!f.isPartial || len(away) == len(f.nodes)) {
		state = fmt.Errorf("%w: %s", ErrNode, strings.Join(away, "; "))
	}
	if ctx.Err() == nil { // otherwise it is the client who went away
		f.probed, f.state = time.Now(), state
	}
	return state
}
