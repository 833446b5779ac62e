// Package tree makes trees and tables from the stacks in an answer of package profile, or from the two
// sides of a difference, for programs that draw them.
//
//	profile.Stacks, of one side or two
//	  +-> Lens             the same stacks, of lines, files, packages or binaries, with folded recursion
//	  +-> Calls -> Nodes   the nodes of a tree in preorder, one column for each attribute
//	  |     FromRoot       callers above callees: a flame graph
//	  |     FromLeaf       callees above callers: an inverted tree
//	  |     Callers        from a function to the roots of its stacks \  a sandwich
//	  |     Callees        from a function to the leaves of its stacks /
//	  +-> Top              the functions of all stacks, with their costs
//
// A tree is made in three steps:
//
//	pathNodes  each stack's path, which shares nodes with the previous stack's path alone: nothing is looked up
//	treeNodes  one node for each path, from the root on; of a cut tree, small nodes have no children
//	Nodes      the greatest nodes, as columns
//
// A cut tree has the nodes with the greatest totals, and sums the others:
//
//	index  depth  frame          self  total
//	0      0      0 (root)          0     12
//	1      1      2 main            1     11      total = self + the totals of the children
//	2      2      3 f               7      7
//	3      2      1 (other)         3      3      the omitted children of main
//	4      1      1 (other)         1      1      the omitted children of the root
//
// # Invariants
//
//	R1  The total of a node is its self value plus the totals of its children, on each side, however much of the
//	    tree is omitted. Sums wrap around on overflow.
//	R2  Every stack of a tree counts once: the total of the root is the total of the stacks, or in a tree of a
//	    function of the stacks with it. A stack in which the function recurs is divided at the
//	    outermost call.
//	R3  Nodes equal those of profile.Stacks.FlameGraph and Sandwich. Functions with one name in two files are
//	    two nodes. In a Top they are one, as in profile.Stacks.Top.
//	R4  Both sides are in one tree. A node that one side lacks has the values 0 there.
//	R5  Costs in a Top count all stacks. They do not depend on what a tree omits.
//	R6  Values of groups add up like values of sides, over the nodes that the sides have: the total of a group in a node is
//	    the total of the group's stacks with the node's path.
//	R7  The memory of a tree is counted while it is made, and bounded.
//	R8  A Lens names frames and joins neighbours. It changes neither values nor the number of stacks.
//	R9  The nodes that a cut tree keeps depend on the values and names of its stacks, and not on their order: a front
//	    keeps the nodes that one node would.
//
// It depends on stacks and frames, and on neither the store, queries nor pictures.
package tree
