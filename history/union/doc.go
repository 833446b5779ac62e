// Package union queries several histories of one system as one.
//
// Each member is the history of one provider's attributes: complete, in memory or in a file ([Complete]), or
// partial ([partial.History]). The joined history has all their attributes, in one tree of names:
//
//	members   0, complete           1, partial          joined
//	          CPUs (no state)       CPUs (no state)     CPUs        of member 0, because no member has its states
//	            0 (no state)          0 (no state)        0         as CPUs
//	              thread                interrupt           thread      of member 0
//	                                                        interrupt   of member 1
//
// # Invariants
//
//	J1  An attribute belongs to the only member that has its states, or otherwise to the first
//	    member that has the attribute. Two members with its states are ErrOwner.
//	J2  Answers equal the answers of one complete history of all events, except for the numbers of
//	    attributes: a member's numbers follow the previous members' numbers.
//	J3  A query goes only to the members that have its attributes, once to each.
//	J4  A History never changes, and keeps nothing from a query.
package union
