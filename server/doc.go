// Package server is the room of the profiling server. It has no server yet.
//
// The server will speak the protocols that the world of continuous profiling already
// speaks, over one columnstore.Store: the push API and the querier API of Pyroscope over
// Connect, /ingest for pprof files, GET /pprof for go tool pprof, GET /arrow as an Arrow
// stream, /metrics for Prometheus and an embedded web page. It will bind loopback by
// default, limit every body, stack, label and series count, and trust no input.
//
// The package is a Go module of its own, so that the protocols' libraries stay out of the
// module graph of a program that embeds the store.
package server
