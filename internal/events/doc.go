// Package events has events that states are made of, for tests of partial histories: random ones and those of
// recorded sets, a provider of their states, and the whole history of them, with which answers are compared.
package events
