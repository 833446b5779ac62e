// Package fleet makes up the profiles of a fleet of servers.
//
// A fleet has 25 jobs of 8 pods. Each pod is scraped every ten seconds for one profile of each of four
// types. The shape follows real fleets: 30 label names of which a pod has 18, stacks from call trees that
// share their frames near the root, few hot stacks and many rare ones. A profile's rows depend only on the
// seed and its number, so every run inserts the same rows in the same order.
//
// A Variant has more jobs or fewer pods, function names, or trace ids. None of these changes the other
// columns in a job's rows.
//
// Coder turns a profile's values into a store's codes. PprofFile is a profile as a server receives it.
package fleet
