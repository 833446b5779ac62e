// Package events has events that change states, for tests of partial histories: random events and events of
// recorded sets, a provider of their states, and the whole history of the events, with which answers are
// compared.
package events
