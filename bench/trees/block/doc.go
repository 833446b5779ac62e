// Package block is the file of a state history tree: blocks of one size, each a node of the tree,
// in the order in which the nodes were made. A node's number is the number of its block. Block 0
// has the layout (SHT 3.3: the size is given at construction and stored in the file header) and the
// summary of a closed tree.
//
// A node begins with a header (SHT 3.2). The table of its children follows, then the records of its
// intervals, of 25 bytes each; a value that does not fit into a record (a string, a 64-bit number)
// grows from the end of the block towards the records (SHT 3.3).
//
//	0   u32  CRC-32C of the rest of the block
//	4   u16  level: 0 is a leaf
//	6   u16  children, at most the fan-out
//	8   u32  the node's number
//	12  u32  its parent's number, 0 of the root
//	16  u32  records
//	20  i64  start  the node's range of time, both ends inclusive, children included
//	28  i64  end
//	36  u32  low    the least and the greatest key, children included
//	40  u32  high
//	44  u32  where the values apart begin
//	48       in a node with a level above 0, room for as many children as the fan-out
//
//	child    u32 number, i64 start; overlapping trees: i64 end; extended headers: u32 low, u32 high
//	record   i64 start, i64 end, u32 key, u8 kind, u32 number or place of the value apart
//
// Records are in the order of their ends in every node of every tree, because intervals arrive in
// that order. So every node is searched alike: a binary search for the first end that is not before
// the instant (SHT 3.3 names one), and a look at each record from there on.
//
// The level bounds every descent, because a child's level is lower than its parent's. Numbers are
// little-endian.
package block
