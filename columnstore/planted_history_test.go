//go:build planted

package columnstore

// ofHistories are bugs of interval histories. Those of transactions are the simulator's to
// find, those of what lies in tiles are for the tests of package history.
var ofHistories = []planted{
	{name: "a view reads past the end of its commit", edits: one("history/view.go",
		"	return end >= v.end\n", "	return false\n")},
	{name: "a slice reads past the end of its commit", edits: one("history/slice.go",
		"	if !v.closed {\n		s.clip(", "	if v.closed {\n		s.clip(")},
	{name: "what is committed is replaced", edits: one("history/writer.go",
		"if w.h.written && t <= w.h.barred {", "if w.h.written && t < w.h.barred {")},
	{name: "an abort leaves ends behind", edits: one("history/commit.go",
		"	work.entries = s.entriesOf()\n", "")},
	{name: "an abort leaves the start of an interval", in: "history", by: "TestOperations$", edits: one("history/commit.go",
		"			*start = end + 1\n", "			_ = end\n")},
	{name: "an abort leaves attributes behind", edits: one("history/commit.go",
		"	tx.truncate(tx.names)\n", "")},
	{name: "an abort leaves places behind", edits: one("history/commit.go",
		"		tx.unplace(p)\n", "		_ = p\n")},
	{name: "the ongoing value is that of the commit before", edits: one("history/commit.go",
		"	changed := work.changed &^ l.fed.Load()\n", "	changed := work.changed &^ l.fed.Load() & work.has\n")},
	{name: "an older root gets the view of a later commit", edits: one("columnstore/history.go",
		"	r.histories = slices.Clone(r.histories)\n", "")},
	{name: "the writer of a history is not let go of", edits: one("columnstore/tx.go",
		"	tx.tx.Abort()\n	tx.end()\n	tx.endHistories()\n", "	tx.tx.Abort()\n	tx.end()\n")},
	{name: "bytes behind a null leave a place for values of another kind", in: "history", by: "TestAddKinds$", edits: one("history/add.go",
		"it was plain\n		work.plain &^= bit\n", "it was plain\n")},
	{name: "a lane is sealed between equal ends", in: "history", by: "TestBursts$", edits: one("history/seal.go",
		"		if end == before {\n", "		if end < before {\n")},
	{name: "entries that came out of order are sealed as they came", in: "history", by: "TestMixedOrder$", edits: one("history/seal.go",
		"	if work.mixed {", "	if false {")},
	{name: "counts above a byte are cut", in: "history", by: "TestBursts$", edits: one("history/seal.go",
		"] > 255 {", "] > 511 {")},
	{name: "the first of 64 tiles is not in their common mask", in: "history", by: "TestBursts$", edits: one("history/lane.go",
		"			mask |= t.mask\n", "			mask = t.mask\n")},
	{name: "readers get blocks that are written again", in: "history", by: "TestBursts$", edits: one("history/commit.go",
		"	work.entries, work.mixed = entries{}, false\n", "	work.entries.n, work.mixed = 0, false\n")},
	{name: "blocks that readers have seen are written again", in: "history", by: "TestBursts$", edits: one("history/commit.go",
		"	work.entries.reuse(old.open)\n", "	work.entries.reuse(nil)\n")},
	{name: "dropped tiles are gone for older views too", in: "history", by: "TestBursts$", edits: one("history/drop.go",
		"	h.lanes = slices.Clone(h.lanes)\n", "")},
}
