// Package clients tests Granary with software written in other languages: Pyroscope's SDKs for Python and
// Node, its agent for Java, async-profiler, which writes OTLP, and py-spy push; pyarrow and the Prometheus parser read.
// The tests record each request, decode it with github.com/google/pprof, Pyroscope's decoder of JFR or as
// protobuf, and compare it with the server's answers. One test pushes from Java, Python, Node and Go at once.
//
//	bash compat/clients/run
//
// installs the clients from PyPI, npm and Maven Central, and runs the tests. Without them the tests are skipped.
package clients
