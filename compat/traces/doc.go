// Package traces compares histories of recordings with what another program reads in them: recordings of Chromium and Node, as
// JSON and as protobuf, with slices that oracle.py finds by the message classes that Perfetto publishes. The script run
// records them, and then runs the tests. Perfetto's trace processor is not in it: its packages download the binary, and Debian's
// package perfetto has the programs that record alone.
package traces
