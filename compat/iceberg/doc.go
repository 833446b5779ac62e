// Package iceberg keeps the profiles of many Granary stores in one Apache Iceberg table, which Spark,
// ClickHouse, Polars and others read. docs/scale-out.md says when that is worth it.
//
//	store of a node -> rows of a unit, as codes -> Parquet file of a day -+
//	store of a node -> rows of a unit, as codes -> Parquet file of a day -+-> commit -> table
//
// A node is one store. A unit is a set of a node's rows to which none is added any more, under a number
// that grows, its seal: its id in the store, and above 40 bits how often the id of the node was freed ([Lake.Forget]). [Lake.Write] writes a unit's files, [Lake.Commit] adds them to the table. A
// [Sealer] does both for a store that takes rows, and drops the rows that the table has. The table keeps
// each node's newest seal as a property. [Lake.Segments] is where a node can have a copy of its directory.
//
// [Lake.Compact] joins small files of ended days, and [Lake.Delete] writes files again without some rows:
//
//	files of a day -> rows as codes, in the store's order -> file of the day -> replacement of exactly these files
//
// # The table
//
// A table in format version 2, partitioned by day(time). Other engines may add columns and change the
// partition spec: new files have the newest spec that has whole days in a partition.
//
//	granary_node  string            the node's id            sample_type, sample_unit string
//	granary_seal  long              the unit                 period_type, period_unit string
//	time          timestamptz       microseconds, floored    duration, period, value  long
//	time_nanos    long              exact
//	labels             map<string,string>      of the profile
//	sample_labels      map<string,string>      of the sample
//	sample_num_labels  map<string,long>        of the sample, key name[unit]
//	label_NAME         string, optional        labels with a column of their own
//	stack              list<string>            names of functions, leaf first
//	stack_id           long                    the hash XXH3-64 of the location ids, 16 bytes each
//	trace_id           binary, optional        16 bytes
//	span_id            long, optional          the bits of the unsigned number
//
// With TableOptions.Symbols two tables are beside it, partitioned in the same way, with granary_node,
// granary_seal and time:
//
//	NAME_stacks      stack_id long; locations list<string>, leaf first: ids of locations
//	NAME_locations   a row for each line of a location, inlined = 0 for the leaf's line; -1 for a location without lines
//	    location string; inlined long
//	    function, system_name, file string, optional; start_line, line, column long
//	    address long; binary, build_id string, optional; mapping_start, mapping_limit, mapping_offset long
//	    flags long: 1 folded, 2 has a mapping; from bit 8 on HasFunctions and so on of profile/pprof
//
// Several units have the same stacks and locations, so a join must take each once. Compaction leaves one of each in a file, with the node
// and the seal of one of its units.
//
// Two stacks can have one stack_id, with p = 3e-4 among 1e8 stacks. A query that must be exact groups by
// stack too. Locations with other addresses or lines but the same names have other ids.
//
// # Files
//
//	row group: at most 524,288 rows    each column with one dictionary
//	    page: version 1, 1 MiB, zstd level 3
//
// The writer has one group's rows as codes, and writes one column after the other. value is split by bytes
// (BYTE_STREAM_SPLIT); trace_id has a bloom filter. Text is valid UTF-8, as in package export.
//
// # Invariants
//
//	L1  A unit is in the table once or not at all, whatever is killed, repeated or raced:
//	    the commit that adds its files sets the node's seal, on the state that it read.
//	L2  A snapshot and the seals from one load of the table belong together: the
//	    snapshot has the units up to these seals, and no other.
//	L3  A unit's rows in the table equal its rows in the store: each value, none lost, none
//	    twice.
//	L4  A file has rows of one day: one unit's, or those of files that it replaced.
//	L5  A file claims the table's sort order (sample_type to period_unit) only if its rows
//	    have it.
//	L6  No file name is used twice. Files from failed attempts stay as orphans.
//	L7  If a node has a Sealer, each of its rows is in a unit up to the node's seal in the table, or in the node's
//	    store in a unit behind it, or in no unit: L2 holds for both tiers. Rows that a budget drops before their
//	    commit are counted. The store must make each commit durable before it is acknowledged (columnstore.SyncEach);
//	    otherwise a kill loses the newest rows. With a copy of its directory (Lake.Segments, package mirror) the loss of
//	    the disk loses none.
//	L8  In a snapshot of a table with symbols, each stack's locations are in the tables beside it, committed
//	    before, unless two stacks in a file have one id. A unit that is written twice can have them there twice.
//	    Symbols of a unit whose samples are not in the table are neither joined nor deleted.
//	L9  A replacement has the rows of the files that it replaces, but rows that Delete chose: each value, none
//	    lost, none twice. It is one commit on the state in which these files were there with the rows that
//	    were read, whatever is killed, repeated or raced. A node's place stays.
//
// # Errors
//
// After an error of Commit the unit is committed or it is not. Writing and committing it again is right in
// both cases. Close units in the order of their seals, because a unit below the node's seal counts as
// committed.
//
// # Limits
//
// An SQLite catalog is for processes on one machine. Each data file is synced before its commit. The
// metadata files are written by iceberg-go, which does not sync them, so a crash of the machine can lose
// the newest commits of a table on local disks.
//
// # Traps of iceberg-go v0.7.0 and arrow-go v18.8.0
//
//   - Transaction.AddDataFiles replays on a newer state without asking, unless
//     AssertRefSnapshotID pins the state.
//   - The writers write pages in version 2, whose levels are not compressed: twice the bytes.
//   - A column writer panics on a dictionary array of no rows (nil buffers).
//   - Columns with statistics sort out the distinct indexes of each batch.
//   - ClickHouse takes the metadata file only as an argument of the table function.
//
// The module is apart from the library, because it requires 117 MB of others. It makes no compatibility
// promise.
package iceberg
