// Package repair checks the directory of a store that nobody has open to write, and mends it so that
// it opens, and all reads succeed. It reads all that a store can read, as a store does, and goes on behind
// damage: what is damaged is listed with its cost.
//
//	Verify   reads all and changes nothing
//	Repair   sets aside what is damaged, and leaves a directory without it
//
// What is damaged costs:
//
//	a file of rows            the rows of its bucket that are in files
//	a file of dictionaries    the rows of its generation: their codes have no meaning
//	a file of states          the history, which becomes empty
//	an entry of the log       the commits from there on: the first ones stay, whole ones
//	a copy of the manifest    nothing, while another is whole; without one all that is in files
//
// A unit (Table.Seal of package columnstore) has lost such rows too, and keeps its id. One that was sealed in the
// end of the log that is lost is none: its rows that are left are sealed again, maybe with another's id.
//
// # Invariants
//
//	D1  What a repair leaves is the files that are whole, and the log up to the first damage.
//	D6  What is lost is named: Report has each file that is damaged, and the rows that it costs.
//	R1  Repair removes no byte of a damaged file: the file stays under another name, which Open
//	    ignores.
//	R2  A crash amid Repair leaves a directory that Open refuses or that has lost no more than a
//	    whole repair would cost. Another Repair ends the work.
package repair
