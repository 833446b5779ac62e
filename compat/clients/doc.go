// Package clients has tests with clients of other languages that push to Granary and read from it:
// Pyroscope's SDKs for Python and Node, pyarrow, Prometheus' parser, and async-profiler for Java, which writes
// OTLP. What the clients sent is recorded on its way, decoded by github.com/google/pprof or as protobuf, and
// compared with the server's answers.
//
//	bash compat/clients/run
//
// installs the clients from PyPI, npm and Maven Central, and runs the tests. Without them the tests are skipped.
package clients
