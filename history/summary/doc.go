// Package summary answers the queries that draw an interval history: in which state an attribute spent
// which share of each pixel ([Pyramid.Shares]), and the least, the greatest and the mean of its values
// there ([Pyramid.Measures]). A range is one pixel. Answers are exact, at the edges too.
//
//	pixels     |         |         |         |         |
//	states      aaaaabaabaaaabbbcbbbbb.......aaaaaaaaaaa
//	shares      a8 b2     a4 b5 c1  b2 .7 a1  a10
//	tiles      [   1   ][    2   ][   3   ][  4  ] ends that are in no tile
//	nodes      [       1         ][      2       ]
//
// A node summarizes consecutive intervals of one attribute, in whole tiles: their number, and the time in
// each of at most 16 states, or else the least and the greatest value and their sum by time. Each node in
// the lowest level covers a fixed number of tile bytes, and each higher node covers 16 nodes below. A query
// takes the largest nodes that fit in a pixel, and reads the intervals between. Only attributes with many
// intervals in long lanes have nodes. Others are answered from their intervals, which are as small as a
// summary.
//
// A [Pyramid] has one view's nodes. It is made once ([Of]) and extended as the history grows, because tiles
// never change ([Pyramid.Extend]). [Bare] makes a pyramid without nodes, for a few queries. Nodes are in
// memory; [Pyramid.AppendImage] encodes them for a history's file, and [Open] reads the bytes.
//
// A query's attributes are answered in parts of 128, by one goroutine per processor. A query waits for its
// own goroutines. The answer does not depend on their number.
//
// # Invariants
//
//	S1  A pixel's times cover all its instants: they sum up to its width.
//	S2  A query has the same answer with and without nodes, but for rounded floats.
//	S3  A pyramid never changes. Extend appends only behind the data that the old pyramid's readers use.
//	S4  A node begins where the previous one ended, and has all intervals up to its end, or begins before the view.
//	S5  Nodes take at most 5 % of the history's bytes: a node is made once tiles with 30 times its bytes have none.
//
// Answers have no meaning for a file whose ends are not in order although its checksums are right.
//
// Columns of pyramids are append-only. The first pyramid that extends another takes them, by an atomic flag.
package summary
