// Package repair checks the directory of a store that no process has open for writing, and mends it so
// that it opens and all reads succeed. It reads everything that a store can read, as a store does, and
// continues after damage: it lists each damaged file with its cost.
//
//	Verify   reads all and changes nothing
//	Repair   sets damaged files aside, and leaves a directory without them
//
// Damage costs:
//
//	a file of rows            the rows of its bucket that are in files
//	a file of dictionaries    the rows of its generation: their codes have no meaning
//	a file of states          the history, which becomes empty
//	an entry of the log       all commits from there on; earlier commits stay whole
//	a copy of the manifest    nothing, if another is whole; otherwise everything in files
//
// A unit (Table.Seal of package columnstore) that lost rows keeps its id. A unit that was sealed in the
// lost end of the log is no unit any more: its remaining rows are sealed again, possibly with another
// unit's id.
//
// # Invariants
//
//	D1  A repair leaves the whole files, and the log up to the first damage.
//	D6  Losses are named: Report has each damaged file, and the rows that the damage costs.
//	R1  Repair removes no byte of a damaged file: the file stays under another name, which Open
//	    ignores.
//	R2  A crash amid Repair leaves a directory that Open refuses or that has lost no more than a
//	    whole repair would cost. Another Repair ends the work.
package repair
