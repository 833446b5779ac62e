// Package web is what all questions and pushes need of HTTP and of Connect: an answer whose status is known
// afterwards, the headers that servers of Granary tell each other, codecs that count messages before they decode them,
// and compression that gives way.
package web
