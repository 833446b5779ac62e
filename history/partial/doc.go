// Package partial keeps a part of an interval history, and replays the rest from the events that it was
// made from.
//
// A checkpoint is made every Options.Every events. Only the intervals that hold at a checkpoint are kept,
// in a history.History of their own. A query between two checkpoints reads the events between them again,
// from an [Events] that the caller implements, through the same [Provider] that built the history.
//
//	                 checkpoint 1         checkpoint 2       end, the last checkpoint
//	events    e e e e e | e e e e e e e e e e | e e e e e e e e |
//	kept      ~~~~[-----------------]~~~~~[------]~~~~~~~~~[----]   ~ gap, to replay
//	positions ^           ^                    ^
//
// Only a gap's end is kept. A gap is an interval of null, and no bit distinguishes it from a null state,
// because a gap is an interval that contains no checkpoint (P1).
//
// Package partialfile keeps partial histories in files, and package union queries several as one. The kept
// history has an image (history.View.AppendImage), and so have the checkpoints ([History.AppendImage],
// [Open]).
//
// [Build] reads the events of a trace that has ended. It commits to the kept history only at checkpoints,
// because a commit makes the time before it final.
//
// In a gap a counter has a straight line with its greatest error, for queries that need no replay
// ([History.Interpolate], [History.Mean]). BENCHMARKS.md has figures.
//
// # Invariants
//
//	P1  At each checkpoint each attribute is in an interval that is kept, whole, once it has ended. Each
//	    other interval in the kept history is a gap. An attribute has at most one gap
//	    between two checkpoints.
//	P2  Answers equal the whole history's answers for the same events, including the starts and ends of
//	    intervals. A replay that does not fill a gap from its start on is
//	    ErrDiffers, never an answer.
//	P3  A checkpoint is behind all events at its instant. The events between two
//	    checkpoints are Options.Every, plus the events that share the last instant.
//	P4  A query at an instant replays at most the events between two checkpoints, and
//	    none if no attribute in the query has a gap there. A query of a range replays
//	    each stretch with such a gap once, up to the last instant it needs.
//	P5  A History never changes. Each query has its own reader and states.
package partial
