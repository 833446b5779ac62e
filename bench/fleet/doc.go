// Package fleet makes up the profiles of a fleet of servers.
//
// A fleet has 25 jobs of 8 pods. Each pod is scraped every ten seconds for one profile of
// each of four types. The shape follows real fleets: 30 label names of which a pod has 18,
// stacks from call trees that share their frames near the root, few hot stacks and many rare
// ones. The seed and the number of a profile determine its rows, so every run inserts the
// same rows in the same order.
//
// A Variant has more jobs or fewer pods, the names of functions, or trace ids. None of these
// changes the other columns of the rows of a job.
//
// Coder turns the values of a profile into codes of a store. PprofFile is a profile as a
// server receives it.
package fleet
