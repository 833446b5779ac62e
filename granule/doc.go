// Package granule has the unit of storage and maintenance. A granule is all rows in a table with keys
// between two bounds, as sorted immutable parts.
//
//	granule [lo, hi)
//	  base   the rows of the last rewrite, one sorted part, or none
//	  fresh  part <- part <- part   one per insert, newest first
//
// A part is built from the rows of one transaction, or by a rewrite of the parts in one granule. It has
// encoded columns and each row's series, and belongs to a [Generation] with the dictionaries of its
// codes. If a granule is split after a part was built, the children refer to sub-ranges of its rows: a
// [Section].
//
// A fresh part's columns are packed, all bits in one allocation, because it is soon rewritten. In a base
// part, which lasts, each column has its smallest layout. The columns of [schema.Schema.Header] have values
// that occur together. They become a list of headers for each series, with an ordinal for each row. For
// profiles a header is a profile: time, duration, period.
//
//	series    a a a a a a | b b b ...
//	stack     1 1 1 4 4 9 | 1 4 4 ...       sorted within a series
//	header    0 1 2 0 2 1 | 3 3 4 ...       ascends within a stack
//	value     of each row
//	headers   time, duration, period of 0 1 2 (of a), 3 4 (of b) ...
//
// A rewrite merges a granule's parts into one new granule (compaction) or several (split). It is a pure
// function. [Granule.Succeed] prepares its result for publication and carries over the parts that were
// inserted meanwhile.
//
// A part, and the new entries in a generation, can be written as an image for a file ([Part.AppendImage],
// [PartReader], [Generation.AppendImageTo]). docs/format/part.md and dictionary.md draw the bytes.
//
// # Invariants
//
//	G1  A granule, a part and their columns never change after they are built.
//	    (A part is stamped once, before it is visible.)
//	G2  The rows of a part are sorted by key. Every row of a granule's sections
//	    has lo <= key < hi; an empty hi means no upper bound.
//	G3  A rewrite keeps the multiset of rows: decode(children) = decode(parent).
//	G4  The children of a split have bounds that partition the parent's, and
//	    rows with equal keys go to the same child.
//	G5  Codes are compared only within one generation; all parts of a granule
//	    belong to one.
//	G6  Adding a part to a granule shares its list of parts and copies nothing.
//	G7  The parts of a published granule are in the order of their commits. Its base part
//	    has all rows of the granule up to the base part's commit id, and no later rows.
//	G8  If an image of a part or of dictionaries is read without an error, its
//	    rows can be read, found and rewritten without a panic, with codes that
//	    their dictionaries have, in memory proportional to the image and its rows.
//	G9  A column that was not read (PartReader.ReadParts) is never taken for a column without
//	    values.
//
// The package makes no compatibility promise. It starts no goroutine, and does not depend on the index,
// clocks or Arrow.
//
// # Mutable state
//
//	uses of a part or a generation by the current root   under the commit lock
//	the ids of a part                                     set once by the commit, before publication
//	series by column                                      an atomic pointer; the first query after new series makes it, under a lock
//	combinations of their values                          an atomic pointer to the last answer
package granule
