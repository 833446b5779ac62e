// Command serve measures a granary server under the load of a fleet. Both run on this machine: the load in
// this process, the server in another, built from this checkout.
//
//	go run ./serve -duration 10m
//	go run ./serve -duration 30s -most
//	go run ./serve -kill 20 -duration 5s
//
// By default 200 pods push four profiles every 10 seconds, about 42,000 rows per second, to a server with a
// log, while queries run. A push is due at a fixed time, and its latency counts from then, so that a slow
// answer does not hide the wait of later pushes. The same load also goes to a handler that reads bodies and
// does nothing, for a tenth of the time, to show the cost of the client and the machine.
//
// At the end the rows, profiles and sums of values that the client counted are compared with the server's
// metrics, and with its answers to queries for everything. A difference is an error.
//
// With -most, writers push as fast as they are answered. With -kill, the server is killed under the load the
// given number of times. It then syncs each push, so every acknowledged push must be there after the restart.
//
// A table goes to standard error, a JSON report to standard output.
package main
