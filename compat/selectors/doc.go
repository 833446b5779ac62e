// Package selectors holds the parser of selectors to Prometheus' own. It is all tests, outside
// of the root module: Prometheus weighs nothing to a program that embeds the store.
package selectors
