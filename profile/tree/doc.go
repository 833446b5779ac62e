// Package tree makes trees and tables of the stacks of one answer of package profile, or of the two sides of a
// difference, for programs that draw them.
//
//	profile.Stacks, of one side or two
//	  +-> Calls -> Nodes   the nodes of a tree in preorder, one column for each of their attributes
//	  |     FromRoot       callers above callees: a flame graph
//	  |     FromLeaf       callees above callers: an inverted tree
//	  |     Callers        from a function to the roots of its stacks \  a sandwich
//	  |     Callees        from a function to the leaves of its stacks /
//	  +-> Top              the functions of all stacks, with what they cost
//
// A cut tree has the nodes with the greatest totals, and sums the others:
//
//	index  depth  frame          self  total
//	0      0      0 (root)          0     12
//	1      1      2 main            1     11      total = self + the totals of the children
//	2      2      3 f               7      7
//	3      2      1 (other)         3      3      Others: {3, 5}, five nodes that were left out
//	4      1      1 (other)         1      1      Others: {4, 1}
//
// # Invariants
//
//	R1  The total of a node is its self value and the totals of its children, on each side, however much of the
//	    tree is left out. Sums wrap around as int64 does.
//	R2  Every stack of a tree counts once: the total of the root is that of the stacks, and of a tree of a
//	    function that of the stacks with it. A stack in which the function recurs is divided at the
//	    outermost call.
//	R3  Nodes are those of profile.Stacks.FlameGraph and Sandwich. Functions with one name in two files are
//	    two nodes. In a Top they are one, as in profile.Stacks.Top.
//	R4  Both sides are in one tree. A node that one side lacks has the values 0 there.
//	R5  Costs of a Top are those of all stacks. They do not depend on what a tree leaves out.
//	R6  Values of groups add up as those of sides do, over the nodes that the sides have: the total of a group in a node is
//	    that of the group's stacks with the path of the node.
//	R7  The memory of a tree is counted while it is made, and bounded.
//
// It knows stacks and frames, and neither the store, questions nor pictures.
package tree
