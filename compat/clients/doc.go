// Package clients has tests with clients of other languages that push to Granary and read from it:
// Pyroscope's SDKs for Python and Node, pyarrow, and Prometheus' parser. What the clients sent is
// recorded on its way, decoded by github.com/google/pprof, and compared with the server's answers.
//
//	bash compat/clients/run
//
// installs the clients from PyPI and npm, and runs the tests. Without them the tests are skipped.
package clients
