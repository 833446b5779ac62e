package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/granarydb/granary/columnstore"
)

// LakeState is how far the rows of a store that is a node of a lake are in the table of all nodes (Options.Lake).
type LakeState struct {
	// Oldest is the start of the oldest time range with rows that the table lacks. It is zero if there are none.
	Oldest time.Time
	// Caught is when an attempt last ended with all rows in the table that were due, or when the node started.
	Caught time.Time
	// Committed is when rows were last added to the table; zero if that was not since the start.
	Committed time.Time
	Units     int64 // added to the table since the start
	Rows      int64 // rows of these
	Failures  int64 // attempts since the start that ended with an error
	LostRows  int64 // rows of units that retention or a budget dropped before they were in the table
	// Segments is the work of a node whose pushes are in an object store before they are answered; nil for others.
	Segments *LakeSegments
	// Err is why /readyz answers 503. The text is shown to clients. nil means ready.
	Err error
}

// LakeSegments counts the segments of a node's log that were written to an object store since the start.
type LakeSegments struct {
	Written  int64
	Bytes    int64 // of these
	Failures int64 // attempts to write that ended with an error
	// Latencies are the times until the object store had one, with all attempts.
	Latencies columnstore.Latencies
	// Unjoined is the number of segments in the object store that are objects of their own.
	Unjoined int
	// Waiting is how long the segment on its way has been so; 0 if none is.
	Waiting time.Duration
}

// lakeCollector turns the state of a node into metrics at each scrape.
type lakeCollector struct{ state func() LakeState }

// Describe implements prometheus.Collector. It does not ask for the state, because a node can begin after its server is made.
func (lakeCollector) Describe(ch chan<- *prometheus.Desc) {
	prometheus.DescribeByCollect(lakeCollector{func() LakeState { return LakeState{Segments: &LakeSegments{}} }}, ch)
}

// Collect implements prometheus.Collector.
func (c lakeCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.state()
	add := func(kind prometheus.ValueType, name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("granary_lake_"+name, help, nil, nil), kind, value)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	add(gauge, "oldest_unsealed_seconds", "Start of the oldest time range with rows that the table lacks, in Unix seconds; 0 if there are none.", unixSeconds(s.Oldest))
	add(gauge, "caught_up_seconds", "When the table last had all rows that were due, in Unix seconds; at first the start of the server.", unixSeconds(s.Caught))
	add(gauge, "committed_seconds", "When rows were last added to the table, in Unix seconds; 0 if that was not since the start.", unixSeconds(s.Committed))
	add(counter, "units_total", "Units added to the table.", float64(s.Units))
	add(counter, "rows_total", "Rows added to the table.", float64(s.Rows))
	add(counter, "seal_failures_total", "Attempts to add rows to the table that ended with an error.", float64(s.Failures))
	add(counter, "lost_rows_total", "Rows of units that retention or a budget dropped before they were in the table.", float64(s.LostRows))
	if s.Segments == nil {
		return
	}
	add(counter, "segments_total", "Segments of the log that were written to the object store.", float64(s.Segments.Written))
	add(counter, "segment_bytes_total", "Bytes of these.", float64(s.Segments.Bytes))
	add(counter, "segment_failures_total", "Attempts to write to the object store that ended with an error.", float64(s.Segments.Failures))
	add(gauge, "segments", "Segments in the object store that are objects of their own.", float64(s.Segments.Unjoined))
	add(gauge, "segment_waiting_seconds", "How long the segment on its way to the object store has been so; 0 if none is.", s.Segments.Waiting.Seconds())
	collectLatency(ch, "granary_lake_segment", "Time until the object store had a segment.", &s.Segments.Latencies)
}

// unixSeconds returns a time as a metric: 0 for none.
func unixSeconds(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixNano()) / 1e9
}

// lakeReady returns why a node of a lake is not ready. It returns nil for a server that is none.
func (s *Server) lakeReady() error {
	if s.opts.Lake == nil {
		return nil
	}
	return s.opts.Lake().Err
}
