// Package format knows the formats of recordings by their first bytes, and imports each into a history:
//
//	Go execution traces                                         package golang
//	Chrome's trace events in JSON                               package chrome
//	Perfetto's traces in protobuf                               package perfetto
//	OTLP spans in JSON or protobuf                              package spans
//	Java's Flight Recorder: waits of threads                    package jfr; profile/format has its samples
//	text of LTTng (babeltrace2), perf script, ftrace, systrace  package linux
//
// # Invariants
//
//	F1  The format of an input is known by its content alone. Bytes of an unknown format are of none, so that
//	    a command can say what they are.
//	F2  An import reads its input once, from the begin to the end. Its memory is stated by each package.
//	F3  No bytes panic, hang or allocate without bound.
package format
