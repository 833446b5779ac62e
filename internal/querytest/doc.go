// Package querytest has tables without a store around them, for the tests of packages query,
// internal/query/filter, internal/query/order and catalog beside their code. A Table commits, compacts and
// reads as a store does, without background work. A Random is a table of random rows, with random conditions;
// the oracle (internal/oracle) gets the same rows and conditions. The package also has the batches, schemas
// and rows that tests of several packages insert. Only tests import it.
package querytest
