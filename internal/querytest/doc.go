// Package querytest has tables without a store around them, for the tests of packages query, internal/query/filter,
// internal/query/order and catalog beside their code. A Table commits, compacts and reads as a store does, with nothing
// beside it. Random is one of random rows, which the oracle (internal/oracle) has too, with random conditions for both. The
// batches, schemas and rows that tests of several packages insert are here as well. Tests alone import it.
package querytest
