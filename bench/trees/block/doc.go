// Package block is the file of a state history tree: blocks of 64 KiB, each a node of the
// tree, in the order in which the nodes were made. Block 0 has the summary of a closed tree;
// a node's number is the number of its block.
//
// A node begins with a header. The table of its children follows, then the records of its
// intervals, of 25 bytes each; what does not fit into a record (strings and 64-bit numbers)
// lies apart, and grows from the end of the block towards the records, as in the SHT paper.
//
//	0   u32  CRC-32C of the rest of the block
//	4   u16  level: 0 is a leaf
//	6   u16  children, at most 50
//	8   u32  the node's number
//	12  u32  records
//	16  i64  start  the node's range of time, both ends inclusive, children included
//	24  i64  end
//	32  u32  low    the least and the greatest key, children included
//	36  u32  high
//	40  u32  where the values apart begin
//	44  u8   1 if the records are in the order of (key, end)
//	48       in a node with a level above 0, room for 50 children
//
//	child    u32 number, i64 start; overlapping trees: i64 end; extended headers: u32 low, u32 high
//	record   i64 start, i64 end, u32 key, u8 kind, u32 number or place of the value apart
//
// The level bounds every descent: a child's level is one less than its parent's. Numbers are
// little-endian. Nothing here is safe for concurrent use.
package block
