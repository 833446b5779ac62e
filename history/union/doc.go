// Package union asks several histories of one system as one.
//
// Each member is a history of the attributes of one provider: all of it in memory or in a file
// ([Complete]), or a part of it ([partial.History]). The joined history has the attributes of all,
// under one set of names:
//
//	members   0, complete           1, partial          joined
//	          CPUs (no state)       CPUs (no state)     CPUs        of member 0, as nobody has states of it
//	            0 (no state)          0 (no state)        0         as CPUs
//	              thread                interrupt           thread      of member 0
//	                                                        interrupt   of member 1
//
// # Invariants
//
//	J1  An attribute belongs to the one member that has states of it, or to the first that has it at
//	    all. Two members with states of it are ErrOwner.
//	J2  Answers equal the answers of one whole history of the events of all, but for the numbers of
//	    attributes: the numbers of a member follow the numbers of the members before it.
//	J3  A question goes only to the members that have its attributes, once to each.
//	J4  A History never changes, and keeps nothing of a question.
package union
