// Package querytest has a table of random rows without a store around it, for the tests of packages query and internal/query/filter
// beside their code: its rows as the store has them, the same rows for the oracle (internal/oracle), and random conditions
// for both. Tests alone import it.
package querytest
