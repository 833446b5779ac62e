// Package catalog is the database as a value: tables, their buckets and granules, and the
// views of histories. Edits derive the next value from the current one.
//
// An edit is pure. Its input is placements and limits. Its output is the next state of a table,
// the garbage of the previous root, and the floor below which dictionaries are dropped. The
// package knows no store, no clock and no budget: its owner reserves memory and publishes.
//
//	Database -> TableState -> granules: lower bound -> granule.Granule
//	                      \-> buckets:  lowest key  -> BucketState (series, columns, dictionaries)
//	                                                   \-> Cold: rows in a file, not in granules
//	         -> history.View
//
//	Placement --Add--> TableEdit --Done--> TableState of the next Database
//
// A published Database and everything reachable from it are immutable. A TableEdit belongs to
// the holder of the commit lock (package txn), from TableState.Edit to Release.
//
// # Invariants
//
//	K1  The granules of a bucket have adjoining bounds that cover it. A bucket without a
//	    granule gets one, with the bounds of the bucket, with its first row. That of a bucket
//	    whose rows are cold comes with the first late row.
//	K2  Each row of a placement is in exactly one granule of the root that it is added to,
//	    the one whose bounds contain its key.
//	K3  A bucket has each series and each dynamic column of its rows, the cold ones included.
//	    It lacks them only if the file is damaged (Cold.Err).
//	K4  The floor never falls. No state has a bucket or a granule below it.
//	K5  Bytes is the sum of the parts, granules, buckets and notes that the state reaches. Cold
//	    rows count in Rows alone.
//	K6  A bucket that is sealed (units.go) gets no row, and its id is that of no other unit of the
//	    table at any time. A range with such a bucket has one that takes rows, or a free
//	    nanosecond where one can begin.
package catalog
