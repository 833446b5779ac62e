// Package selectors holds the parser of selectors to Prometheus' own. It is a module of
// its own, and all tests: Prometheus weighs nothing to a program that embeds the store.
package selectors
