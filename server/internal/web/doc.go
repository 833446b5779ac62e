// Package web has the common parts of HTTP and Connect for queries and pushes: an answer whose status is
// known afterwards, the headers that Granary servers send each other, codecs that count messages before
// they decode them, and compression that yields.
package web
