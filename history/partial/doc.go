// Package partial keeps a part of an interval history, and replays the rest from the events
// that it was made of.
//
// A checkpoint is made every Options.Every events. Only the intervals that hold at a checkpoint
// are kept, in a history.History of their own. A question about an instant between two
// checkpoints reads the events between them again, from an [Events] that the caller
// implements, through the same [Provider] that built the history.
//
//	                 checkpoint 1         checkpoint 2       end, the last checkpoint
//	events    e e e e e | e e e e e e e e e e | e e e e e e e e |
//	kept      ~~~~[-----------------]~~~~~[------]~~~~~~~~~[----]   ~ gap, to replay
//	positions ^           ^                    ^
//
// Of a gap nothing is kept but its end. It is an interval of null, and no bit tells it
// from a null that is a state: a gap is an interval that no checkpoint is in (P1).
//
// Package partialfile keeps partial histories in files, and package union asks several as one. The kept history has an
// image (history.View.AppendImage), and so have the checkpoints ([History.AppendImage], [Open]).
//
// [Build] reads the events of a trace that has ended. A [Growing] reads the events of a trace that still grows,
// and is known up to its last checkpoint. Between two checkpoints the kept history gets names alone: intervals that end there
// wait for the next one, as a commit makes the time before it final.
//
// A counter has a straight line in a gap, with its greatest error, for questions that need no replay
// ([History.Interpolate], [History.Mean]). BENCHMARKS.md has figures.
//
// # Invariants
//
//	P1  At each checkpoint each attribute is in an interval that is kept, whole, once it has ended. Each
//	    other interval of the kept history is a gap. An attribute has at most one gap
//	    between two checkpoints.
//	P2  Answers equal the answers of the whole history of the same events, the starts and ends of
//	    intervals included. A replay that does not fill a gap from its start on is
//	    ErrDiffers, never an answer.
//	P3  A checkpoint is behind all events of its instant. The events between two
//	    checkpoints are as many as Options.Every, plus the events that share the last instant; fewer at one that was asked for.
//	P4  A question at an instant replays at most the events between two checkpoints, and
//	    none if no attribute of the question has a gap there. Questions about ranges replay
//	    each stretch that has a gap of theirs once, up to the last instant they need.
//	P5  A History never changes. Each question has its own reader and states.
//	P6  A history that goes on has the answers of the whole history of the events up to its last checkpoint; what
//	    holds there is Open. A question behind it is a NotYetError.
package partial
