// Package peers measures stores side by side.
//
// A Store takes profiles and answers questions. Granary, FrostDB with two schemas and kelindar/column are
// stores, and so is an oracle that reads every row. Questions are the same for all of them, and an answer
// has a digest, so that answers are compared as well.
//
// Run starts a process for each store and repetition, so that no store inherits another's heap.
package peers
