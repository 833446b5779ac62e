// Package history keeps interval histories: which state each attribute of a system (a
// thread, a CPU, a goroutine, a queue) was in at every instant. It does the job of the
// State History Tree, eSHT, R-SHT and partial histories, without a tree.
//
// Per attribute the intervals tile time: each begins where the one before it ended. So
// one number an interval is enough, its end, and the plane of attributes and time can be
// cut into rectangles that do not overlap. Each interval is stored once, and a query reads
// the rectangles that it crosses.
//
//	           time ->
//	lane 0     | tile  | tile    | tile                  |  entries that are not sealed
//	lane 1     | tile                  | tile   | tile   |  entries
//	lane 2     | tile                                    |  entries
//
// A lane is up to 64 attributes of one shape, or of several rare ones with values of one
// kind, in the order of their first use; each has a slot. A lane makes its tiles at its own rate:
// quiet lanes have few long tiles, busy lanes many short tiles. A tile holds the intervals that end in its time, in the order of slot,
// then end. Its entry in the lane's directory has the latest end and a mask of the slots
// that have an end in it, so that the tile in which an attribute changes next, or changed
// last, is found by looking at words of bits. It also has the widths of the tile's numbers
// in bits, and so their places in the tile. Package tile has the bytes of tiles.
//
// # Writing and reading
//
// A history has one writer at a time (Draft) and any number of readers, at every moment. A
// commit makes a View: the lanes, and the instant up to which ends are committed. Its cost
// does not depend on the size of the history. The writer goes on in the same memory, behind
// the entries that readers look at. An interval that ended after a view was made is open to
// the view.
//
// # Invariants
//
//	H1  Of each attribute every instant of a view is in exactly one interval.
//	H2  A view answers the same for ever. All later views agree with it on its instants,
//	    but for attributes that Add feeds: these are null and Open until they are known.
//	H3  A transaction is in a view whole or not at all.
//	H4  Tiles, and entries that readers may look at, never change. Equal ends of a lane
//	    are in one tile, so no later end is before the last of a tile.
//	H5  Only committed entries are sealed.
//	H6  A reader takes no lock and waits for nobody, but for tiles in a file. It looks for an ongoing value before
//	    it looks for the end of it, and a writer publishes them the other way round.
//	H7  An error means that nothing happened. An error of AddAll means that the intervals
//	    before the refused one were added, and that nothing else happened.
//	H8  Dropped tiles are dropped for later views only, and texts that these alone needed
//	    with them.
//	H9  The code of a text is that of one view. In tiles and entries that two views have it
//	    is the same text for both. Otherwise it can be that of another.
//	H10 A history that repeats the journals of all commits in order (Replay) answers as the
//	    first, but for drops of BeginDrop since the last journal. So does the history of a
//	    view's image (OpenImage), with the journals of later commits.
//
// # Departures from the papers
//
// There is no tree and no node to split or to search through, so nothing grows with the
// number of attributes but the lanes. Times that come too late are an error, not a silent
// change; so are values of another kind. Mip-maps are in package summary, partial
// histories in package partial, and histories in files in package file.
//
// # Mutable state
//
//	lanes                             atomics; the writer publishes entries after the cutoff of all published views
//	numbers of texts in journals      the writer's, from commit to commit; views share the numbers of their commit
//	names and texts                   package names
package history
