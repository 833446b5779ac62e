// Package source is the seam between questions and the profiles that answer them. A Source is one of three: a Store, the
// older profiles that Older reads into a store of their own, or Nodes, which are several servers. Packages that speak a
// protocol ask a Source, and do not know which kind it is.
//
//	I1  An answer is of one View. A Store's view is a snapshot. Nodes have a view for each question, of their answers.
//	I2  Nodes refuse a question whose answer would not be exact over all nodes: Store and DefaultType return an error
//	    that is unimplemented and names the nodes.
//	I3  Questions about lists and lines are messages of querier.v1, since Nodes send them on as they are. The nodes
//	    check them, and their errors are told.
//
// Snapshots for later questions of a page are kept under a lock, a leaf, each with the number of its uses.
package source
