// Package summary answers the questions of a picture about an interval history: which share of each pixel an attribute
// spent in which state ([Pyramid.Shares]), and the least, the greatest and the mean of its values there
// ([Pyramid.Measures]). A range is one pixel. Answers are exact, at the edges too.
//
//	pixels     |         |         |         |         |
//	states      aaaaabaabaaaabbbcbbbbb.......aaaaaaaaaaa
//	shares      a8 b2     a4 b5 c1  b2 .7 a1  a10
//	tiles      [   1   ][    2   ][   3   ][  4  ] ends that are in no tile
//	nodes      [       1         ][      2       ]
//
// A node is a summary of intervals of one attribute that follow each other, in whole tiles: how many there are, the
// time in each of at most 16 states, or else the least and the greatest value and their sum by time. There is one
// for each so many bytes of tiles, and one for 16 of these, and so on. A question takes the largest nodes that
// are within a pixel, and reads the intervals between. Only attributes with much in long lanes have nodes: those with
// few intervals are answered from these alone, which are as small as a summary.
//
// A [Pyramid] is the nodes of one view. It is made once ([Of]) and extended as the history grows, for tiles never
// change ([Pyramid.Extend]). [Bare] makes one without nodes, for a few questions. Nodes are in memory;
// [Pyramid.AppendImage] writes them as bytes for the file of a history, and [Open] reads these.
//
// The attributes of a question are answered in parts of 512, by as many goroutines as there are processors. A question
// waits for its own. The answer does not depend on how many there are.
//
// # Invariants
//
//	S1  The times of a pixel cover all its instants: they sum up to its width.
//	S2  A question is answered the same with nodes and without, but for the rounding of floats.
//	S3  A pyramid never changes. One that is extended appends behind what readers of the old one look at.
//	S4  A node begins behind the one before it, and has all intervals up to its end, or begins before the view.
//	S5  Nodes take at most 5 % of the bytes of the history: there is one where tiles of 30 times its bytes have none.
//
// Of a file whose ends are in no order, though their checksums are right, answers have no meaning.
//
// Columns of pyramids are append-only. The first pyramid that extends another takes them, by an atomic flag.
package summary
