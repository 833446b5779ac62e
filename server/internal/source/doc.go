// Package source is the seam between queries and the profiles that answer them. A Source is a Store, or
// Nodes, which are several servers; Older reads older profiles into another Store. Packages that implement a
// protocol query a Source, and do not know which kind it is.
//
//	I1  An answer comes from one View. A Store's view is a snapshot. Nodes have a view for each
//	    query, which consists of their answers.
//	I2  Nodes refuse a query whose answer would not be exact over all nodes: Store and DefaultType
//	    return an "unimplemented" error that names the nodes.
//	I3  Queries about lists and lines are messages of querier.v1, because Nodes forward them
//	    unchanged. The nodes check them, and their errors are returned.
//
// Snapshots for later queries of a page are kept under a lock, which is a leaf; each has the number of its
// uses.
package source
