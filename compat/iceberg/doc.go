// Package iceberg keeps the profiles of many Granary stores in one Apache Iceberg table, which
// Spark, ClickHouse, Polars and others read. docs/scale-out.md says when that is worth it.
//
//	store of a node -> rows of a unit, as codes -> Parquet file of a day -+
//	store of a node -> rows of a unit, as codes -> Parquet file of a day -+-> commit -> table
//
// A node is one store. A unit is rows of a node to which none is added any more, under a number
// that grows, its seal. [Lake.Write] writes the files of a unit, [Lake.Commit] adds them to the
// table. A [Sealer] does both for a store that takes rows, and drops what the table has. The table
// keeps the newest seal of each node as a property.
//
// # The table
//
// A table of format version 2, partitioned by day(time):
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
// With TableOptions.Symbols two tables are beside it, partitioned in the same way, with granary_node, granary_seal and time:
//
//	NAME_stacks      stack_id long; locations list<string>, leaf first: ids of locations
//	NAME_locations   a row for each line of a location, inlined = 0 for that of the leaf; -1 for a location without lines
//	    location string; inlined long
//	    function, system_name, file string, optional; start_line, line, column long
//	    address long; binary, build_id string, optional; mapping_start, mapping_limit, mapping_offset long
//	    flags long: 1 folded, 2 has a mapping; from bit 8 on HasFunctions and so on of profile/pprof
//
// Several units have the same stacks and locations: who joins takes each once.
//
// Two stacks can have one stack_id, with p = 3e-4 among 1e8 stacks: who must be exact groups by
// stack too. Locations with other addresses or lines but the same names have other ids.
//
// # Files
//
//	row group: at most 524,288 rows    each column with one dictionary
//	    page: of version 1, 1 MiB, zstd level 3
//
// The writer has the rows of one group as codes, and writes one column after the other. value
// is split by bytes (BYTE_STREAM_SPLIT); trace_id has a bloom filter. Text is valid UTF-8, as
// in package export.
//
// # Invariants
//
//	L1  A unit is in the table once or not at all, whatever is killed, repeated or raced:
//	    the commit that adds its files sets the node's seal, on the state that it read.
//	L2  A snapshot and the seals that one load of the table gives belong together: the
//	    snapshot has the units up to these seals, and no other.
//	L3  The rows of a unit in the table are those of its store: each value, none lost, none
//	    twice.
//	L4  A file has rows of one unit and of one day.
//	L5  A file claims the table's sort order (sample_type to period_unit) only if its rows
//	    have it.
//	L6  No name of a file is used twice. Files of failed attempts stay as orphans.
//	L7  A row of a node with a Sealer is in a unit up to the node's seal in the table, or in the node's store in a
//	    unit behind it, or in no unit: L2 holds for both tiers. What a budget drops before its commit is counted.
//	L8  A snapshot of a table with symbols has no stack whose locations are not in the tables beside it, committed
//	    before, unless two stacks of a file have one id. A unit that is written twice can have them there twice.
//
// # Errors
//
// After an error of Commit the unit is committed or it is not. Writing and committing it again
// is right in both cases. Close units in the order of their seals: a unit below the node's seal
// counts as committed.
//
// # Limits
//
// A catalog in SQLite is for processes of one machine. Each file of data is synced before its
// commit; the metadata files are written by iceberg-go, which does not sync them, so a crash of
// the machine can lose the newest commits of a table on local disks.
//
// # Traps of iceberg-go v0.7.0 and arrow-go v18.8.0
//
//   - Transaction.AddDataFiles replays on a newer state without a question, unless
//     AssertRefSnapshotID pins the state.
//   - The writers write pages of version 2, whose levels are not compressed: twice the bytes.
//   - A column writer panics on a dictionary array of no rows (nil buffers).
//   - Columns with statistics sort out the distinct indexes of each batch.
//   - ClickHouse takes the metadata file as an argument of the table function alone.
//
// The module is apart from the library, since it requires 117 MB of others. It makes no
// compatibility promise.
package iceberg
