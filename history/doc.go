// Package history keeps interval histories: which state each attribute of a system (a thread, a CPU, a
// goroutine, a queue) was in at every instant. It does the job of the State History Tree, eSHT, R-SHT and
// partial histories, without a tree.
//
// An attribute's intervals tile time: each begins where the previous one ended. So an interval needs only
// one number, its end, and the plane of attributes and time can be cut into rectangles that do not overlap.
// Each interval is stored once, and a query reads the rectangles that it crosses.
//
//	           time ->
//	lane 0     | tile  | tile    | tile                  |  entries that are not sealed
//	lane 1     | tile                  | tile   | tile   |  entries
//	lane 2     | tile                                    |  entries
//
// A lane has up to 64 attributes, each in a slot, in the order of their first use. They share one shape, or
// have rare shapes with values of one kind. A lane makes its tiles at its own rate: quiet lanes have few
// long tiles, busy lanes many short ones. A tile holds the intervals that end in its time, ordered by slot,
// then end.
//
// The lane's directory has an entry for each tile, with the latest end and a mask of the slots that end in
// it. So the tile in which an attribute changes next, or changed last, is found in a few words of bits. The
// entry also has the bit widths of the tile's numbers, and so their places in the tile. Package
// internal/tile defines the bytes.
//
// # Writing and reading
//
// A history has one writer at a time (Draft) and any number of readers at any time. A commit makes a View:
// the lanes, and the instant up to which ends are committed. Its cost does not depend on the history's
// size. The writer goes on in the same memory, behind the entries that readers use. An interval that ended
// after a view was made is open in that view.
//
// # Invariants
//
//	H1  In a view, every instant is in exactly one interval of each attribute.
//	H2  A view's answers never change. All later views agree with it on its instants,
//	    but for attributes that Add feeds: these are null and Open until they are known.
//	H3  A transaction is in a view whole or not at all.
//	H4  Tiles, and entries that readers may use, never change. Equal ends of a lane
//	    are in one tile, so every end is later than the last end of earlier tiles.
//	H5  Only committed entries are sealed.
//	H6  A reader takes no lock and waits for nothing except tiles in a file. It reads an ongoing value
//	    before it looks for the end, and a writer publishes them in the opposite order.
//	H7  An error means that nothing happened. An error of AddAll means that the intervals
//	    before the refused one were added, and that nothing else happened.
//	H8  Dropped tiles, and texts that only they needed, are dropped for later views only.
//	H9  A text's code is valid in one view. In tiles and entries that two views share it
//	    means the same text in both. Otherwise it can mean another text.
//	H10 A history that repeats the journals of all commits in order (Replay) answers like the
//	    original, but for drops by BeginDrop since the last journal. So does a history from
//	    a view's image (OpenImage) with the journals of later commits.
//
// # Departures from the papers
//
// There is no tree, and so no node to split or search. Only the number of lanes grows with the number of
// attributes. Times that come too late are an error, not a silent change; so are values of another kind.
// Mip-maps are in package summary, partial histories in package partial, and histories in files in package
// history/file.
//
// # Mutable state
//
//	lanes                             atomics; the writer publishes entries after the cutoff of all published views
//	numbers of texts in journals      the writer's, from commit to commit; views share the numbers of their commit
//	names and texts                   package names
package history
