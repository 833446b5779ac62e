// Package otlp decodes profiles of OpenTelemetry: requests to a server, and files. Requests of older versions of the protocol are
// upgraded while they are bytes (Upgrade). It is no part of package profile/format,
// because its messages need modules that a program with a store does without.
//
// # Invariants
//
//	O1  An index out of its table is an error, and entry 0 of a table is none.
//	O2  Memory is reserved before it is allocated. No input panics.
package otlp
