// Package catalog is the database as a value: tables, their buckets and granules, and the views of
// histories. An edit derives the next value from the current value.
//
// An edit is pure. Its input is placements and limits. Its output is the next state of a table, the
// garbage of the previous root, and the floor below which dictionaries are dropped. The package has no
// store, clock or budget: its owner reserves memory and publishes.
//
//	Database -> TableState -> granules: lower bound -> granule.Granule
//	                      \-> buckets:  lowest key  -> BucketState (series, columns, dictionaries)
//	                                                   \-> Cold: rows in a file, not in granules
//	         -> history.View
//
//	Placement --Add--> TableEdit --Done--> TableState of the next Database
//
// A published Database and everything reachable from it are immutable. A TableEdit belongs to the holder
// of the commit lock (package txn), from TableState.Edit to Release.
//
// # Invariants
//
//	K1  The granules of a bucket have adjoining bounds that cover it. A bucket without a
//	    granule gets a granule with its bounds when its first row comes. A bucket
//	    whose rows are all cold gets it with the first late row.
//	K2  Each row of a placement is in exactly one granule of the root that it is added to,
//	    the one whose bounds contain its key.
//	K3  A bucket has each series and each dynamic column of its rows, the cold ones included.
//	    It lacks them only if the file is damaged (Cold.Err).
//	K4  The floor never falls. No state has a bucket or a granule below it.
//	K5  Bytes is the sum of the parts, granules, buckets and notes that the state reaches. Cold
//	    rows count in Rows alone.
//	K6  A sealed bucket (units.go) gets no row, and no other unit of the table ever has its
//	    id. A range with a sealed bucket has a bucket that takes rows, or a free
//	    nanosecond where such a bucket can begin.
package catalog
