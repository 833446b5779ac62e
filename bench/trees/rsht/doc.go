// Package rsht is the R-SHT of L. Prieur-Drevon, R. Beamonte and M. R. Dagenais, "R-SHT: A
// state history tree with R-Tree properties for analysis and visualization of highly parallel
// system traces", Journal of Systems and Software 135 (2018), p. 55-68,
// doi:10.1016/j.jss.2017.09.023.
//
// The eSHT knows the keys of a node, but all leaves have nearly all keys, for intervals come
// by time. The R-SHT holds intervals back until there are enough for a subtree of a given
// depth, orders them by key, and packs the subtree from its leaves up, as R-Trees are loaded
// (pack.go). Its leaves then have few keys each. The subtrees hang below nodes that grow by
// time, as in the eSHT (tree.go); headers are those of the eSHT.
//
//	R2, R3, R4  subtrees of 2, 3, 4 levels: 50, 2,500, 125,000 leaves (3, 164, 8,192 MB)
//	vR          the depth varies: the least at which a subtree has an interval a key
//
// A query for one key opens about a leaf a subtree, a full query nearly all leaves of it. The
// intervals held back are searched one after the other.
//
// The text of the paper was not at hand: what R2 to R4 and vR are was put together from its
// abstract, its figures and an earlier prototype's, and may differ from it in detail. Sets that
// fit into one subtree are the same for R3 and R4.
package rsht
