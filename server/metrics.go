package server

import (
	"cmp"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/push"
	"github.com/granarydb/granary/server/internal/web"
)

// metrics are a server's counts, in a registry of their own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec   // by handler and status
	failures *prometheus.CounterVec   // by handler and cause
	seconds  *prometheus.HistogramVec // by handler
	sent     *prometheus.CounterVec   // bytes of answers, by handler
	panics   prometheus.Counter

	pushes push.Counts
}

// newMetrics returns the metrics for a server with a store, or for a front, which has none.
func newMetrics(store *columnstore.Store) *metrics {
	registry := prometheus.NewRegistry()
	registers := promauto.With(registry)
	counter := func(name, help string) prometheus.Counter {
		return registers.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help string, labels ...string) *prometheus.CounterVec {
		return registers.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry: registry,
		requests: vec("granary_http_requests_total", "Answered requests.", "handler", "status"),
		failures: vec("granary_http_failures_total", "Requests that failed, by cause.", "handler", "cause"),
		seconds: registers.NewHistogramVec(prometheus.HistogramOpts{
			Name: "granary_http_request_seconds", Help: "Time from the header of a request to the end of its answer.",
			Buckets: []float64{.001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60},
		}, []string{"handler"}),
		sent:   vec("granary_http_sent_bytes_total", "Bytes of answers.", "handler"),
		panics: counter("granary_panics_total", "Handlers that panicked."),
		pushes: push.Counts{
			Profiles:   counter("granary_push_profiles_total", "Profiles committed."),
			Duplicates: counter("granary_push_duplicates_total", "Profiles that were not inserted, as one with the same id had been."),
			Rows:       counter("granary_push_rows_total", "Rows committed."),
			Received:   counter("granary_push_bytes_total", "Bytes of committed profiles as they were sent."),
		},
	}
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if store != nil {
		registry.MustRegister(storeCollector{store})
	}
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError, EnableOpenMetrics: true})
}

// request counts an answered request.
func (m *metrics) request(name string, r *web.Recorder, took time.Duration) {
	status := cmp.Or(r.Status, http.StatusOK)
	m.requests.WithLabelValues(name, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(name).Observe(took.Seconds())
	m.sent.WithLabelValues(name).Add(float64(r.Bytes))
	switch {
	case r.Err != nil:
		m.failures.WithLabelValues(name, fault.CauseOf(r.Err).Name).Inc()
	case status == http.StatusUnauthorized:
		m.failures.WithLabelValues(name, "token").Inc()
	}
}

// storeCollector turns a store's Stats into metrics at each scrape.
type storeCollector struct{ store *columnstore.Store }

// Describe implements prometheus.Collector.
func (c storeCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

func storeDesc(name, help string) *prometheus.Desc {
	return prometheus.NewDesc("granary_store_"+name, help, nil, nil)
}

// Collect implements prometheus.Collector.
func (c storeCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.store.Stats()
	add := func(kind prometheus.ValueType, name, help string, value float64) {
		ch <- prometheus.MustNewConstMetric(storeDesc(name, help), kind, value)
	}
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	failed := 0.0
	if s.FlushError != nil {
		failed = 1
	}
	add(gauge, "rows", "Rows in the store.", float64(s.Rows))
	add(gauge, "cold_rows", "Rows that are in files and not in memory.", float64(s.ColdRows))
	add(gauge, "series", "Series of each time bucket, summed.", float64(s.Series))
	add(gauge, "stacks", "Stacks of each generation, summed.", float64(s.Stacks))
	add(gauge, "granules", "Granules.", float64(s.Granules))
	add(gauge, "parts", "Parts of granules.", float64(s.Parts))
	add(gauge, "oldest_seconds", "Start of the oldest time bucket with rows, in Unix seconds.", unixSeconds(s.Oldest))
	add(gauge, "bytes", "Memory that the store accounts for, which the memory budget bounds.", float64(s.Bytes()))
	add(gauge, "cache_bytes", "Contents of files in memory.", float64(s.CacheBytes))
	add(gauge, "pinned_bytes", "Memory that only snapshots hold.", float64(s.PinnedBytes))
	add(gauge, "log_bytes", "Bytes of the log.", float64(s.LogBytes))
	add(counter, "log_entries_total", "Entries of the log: commits, and what they add to dictionaries.", float64(s.Log.Entries))
	add(counter, "log_written_bytes_total", "Bytes written to the log.", float64(s.Log.Bytes))
	add(gauge, "files", "Files without the log.", float64(s.Files))
	add(gauge, "file_bytes", "Bytes of files without the log.", float64(s.FileBytes))
	add(gauge, "filing_failed", "1 if the last attempt to write files failed.", failed)
	add(counter, "splits_total", "Rewrites of a granule into several.", float64(s.Splits))
	add(counter, "compactions_total", "Rewrites of a granule into one.", float64(s.Compactions))
	add(counter, "rewritten_rows_total", "Rows read by rewrites.", float64(s.RewrittenRows))
	add(counter, "dropped_rows_total", "Rows dropped by retention or the disk budget.", float64(s.DroppedRows))
	add(counter, "disk_dropped_rows_total", "Rows dropped for the disk budget.", float64(s.DiskDroppedRows))
	add(counter, "evicted_rows_total", "Rows evicted for the memory budget.", float64(s.EvictedRows))
	add(counter, "expired_snapshots_total", "Snapshots expired for a budget.", float64(s.Expired))
	collectLatency(ch, "granary_store_log_wait", "Commits that waited for the log: for room in its queue, or with --sync each until they were durable.", &s.Log.Waits)
	collectLatency(ch, "granary_store_log_write", "Writes to the log.", &s.Log.Writes)
	collectLatency(ch, "granary_store_log_sync", "Syncs of the log.", &s.Log.Syncs)
}

// tenantCollector has the numbers of each tenant.
type tenantCollector struct{ *Server }

// Describe implements prometheus.Collector.
func (c tenantCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c tenantCollector) Collect(ch chan<- prometheus.Metric) {
	for _, name := range profile.Tenants(c.tenants.store, c.opts.Profiles.Table) {
		s := c.tableOf(name).Stats()
		for _, m := range []struct {
			name, help string
			kind       prometheus.ValueType
			value      int64
		}{
			{"rows", "Rows of a tenant.", prometheus.GaugeValue, s.Rows},
			{"series", "Series of a tenant in each time bucket, summed.", prometheus.GaugeValue, int64(s.Series)},
			{"file_bytes", "Bytes of the files of a tenant's rows.", prometheus.GaugeValue, s.FileBytes},
			{"dropped_rows_total", "Rows of a tenant that a limit or a deletion dropped.", prometheus.CounterValue, s.DroppedRows},
		} {
			ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("granary_tenant_"+m.name, m.help, []string{"tenant"}, nil), m.kind, float64(m.value), name)
		}
	}
}

// deltaCollector turns the statistics of a Deltas into metrics.
type deltaCollector struct{ deltas *profile.Deltas }

// Describe implements prometheus.Collector.
func (c deltaCollector) Describe(ch chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, ch) }

// Collect implements prometheus.Collector.
func (c deltaCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.deltas.Stats()
	counted := prometheus.NewDesc("granary_push_cumulative_total", "Profiles with values since the start of a process, by how they were counted: growth since the one before, or the first, after a restart, after a gap, late.", []string{"counted"}, nil)
	for how := profile.CountedGrowth; how <= profile.CountedLate; how++ {
		ch <- prometheus.MustNewConstMetric(counted, prometheus.CounterValue, float64(s.Counted[how]), how.String())
	}
	for _, m := range []struct {
		name, help string
		kind       prometheus.ValueType
		value      float64
	}{
		{"sources", "Sources whose last such profile is in memory.", prometheus.GaugeValue, float64(s.Sources)},
		{"bytes", "Memory of their values.", prometheus.GaugeValue, float64(s.Bytes)},
		{"forgotten_total", "Sources forgotten, as there were too many.", prometheus.CounterValue, float64(s.Forgotten)},
	} {
		ch <- prometheus.MustNewConstMetric(prometheus.NewDesc("granary_push_cumulative_"+m.name, m.help, nil, nil), m.kind, m.value)
	}
}

// collectLatency makes a histogram of times of the log. The longest time is a separate gauge.
func collectLatency(ch chan<- prometheus.Metric, name, help string, l *disk.Latencies) {
	upTo, sum := map[float64]uint64{}, int64(0)
	for i, n := range l.Buckets[:len(l.Buckets)-1] { // the last bucket's is all
		sum += n
		upTo[disk.BucketEnd(i).Seconds()] = uint64(sum)
	}
	ch <- prometheus.MustNewConstHistogram(prometheus.NewDesc(name+"_seconds", help, nil, nil), uint64(l.Count), l.Sum.Seconds(), upTo)
	ch <- prometheus.MustNewConstMetric(prometheus.NewDesc(name+"_longest_seconds", help+" The longest since the start.", nil, nil), prometheus.GaugeValue, l.Max.Seconds())
}
