// Package sht has the state history trees of two papers, rule by rule:
//
//	SHT    A. Montplaisir-Gonçalves, N. Ezzati-Jivan, F. Wininger and M. R. Dagenais, "State History
//	       Tree: an Incremental Disk-based Data Structure for Very Large Interval Data", 2013,
//	       doi:10.1109/SocialCom.2013.107
//	R-SHT  L. Prieur-Drevon, R. Beamonte and M. R. Dagenais, "R-SHT: A state history tree with R-Tree
//	       properties for analysis and visualization of highly parallel system traces", 2018,
//	       doi:10.1016/j.jss.2017.09.023
//
// # Rules
//
// Intervals arrive in the order of their ends (SHT 3). Only the latest branch, from the root to its
// deepest node, is in memory and changes; every other node is written and final.
//
//	SHT 3.4, R 3.1  an interval goes to the deepest node of the branch that begins no later;      insert.go, insert
//	                each node without room that it meets on its way from the leaf up is closed
//	                first, with all below it, and gets a sibling
//	SHT 3.4         a parent without room for a child gets a sibling in turn, a full root a new   split.go, split
//	                root; the new branch is complete, and all of it has one start
//	R 3.1           a closed node ends with the last interval that was stored, a sibling begins   split.go, finish
//	                right behind (the SHT paper starts it at that end itself)
//	R 4.1           oSHT: a sibling begins with the interval that had no room; headers have ends  insert.go, siblingStart
//	R 4.1           a child is within its parent's time: a branch begins higher if it would       split.go, split
//	                begin before the parent
//	R 4.2           eSHT: headers have the least and the greatest key                             block, Boxes
//	R 4.3           a shared-exclusive lock for the states in progress, and one for each node     tree.go, buffer.go, block
//	R 5.2           R-SHT: intervals that begin no earlier than the deepest node go into a        insert.go, buffer
//	                buffer, which holds as much as an eSHT of the same depth; others go to the
//	                deepest node of the branch that begins no later
//	R alg. 2        the buffer becomes a subtree from the top down: the longest intervals fill    build.go, build
//	R 5.3           the inner node as outliers; the rest, by key, is cut into ranges, one a child
//	R 6.4           vR: r = ceil(log_c(A/n)), at most 4; the depth grows once the parent of the   split.go, next, rule
//	                subtrees is full, and what would have been its sibling is the root of a
//	                deeper subtree
//	SHT 3.4         at the end, the last end is that of the whole latest branch                   tree.go, Close
//	SHT 3.5, R 4.3  questions, also while the tree is built                                       package query
//
// The papers' figures are in testdata/script, block by block.
//
// # What the papers leave open
//
// "Later" of R 5.2 includes an equal start, because with many attributes all first intervals begin with
// the history; sent to the deepest node they would fill it before it has children, and Table II's depth
// of 3 would not come out. Before the first buffer is full there is no node above, so a set that fits
// into one buffer is a single subtree (Table II has R3 at depth 3), as deep as it must be. So is the
// rest at the end.
//
// n of R 6.4 is the average number of attributes that fit in a node. The SHT of many-threads has 45
// levels of 50,598 attributes (R 7.2), and by R 3.2 its depth is A/n, so n is 1,124 for 64 KiB; the
// rule then asks for R3 above 2.8 million attributes, between the 2 and 4 million of R 7.5.
// R 7.2 says that many-threads triggers R3 late. No reading of the formula does that.
//
// The ends of closed nodes are the last end only in the SHT, whose headers have no ends of children: in the
// other trees a node ends with what it has, which is what a query wants to know of it.
//
// Nodes close when they are full, in terms of the interval at hand; another, with a shorter string,
// might still have had room.
package sht
