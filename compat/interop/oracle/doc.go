// Command oracle computes reference answers about the rows of profiles, for comparison with
// other engines. It shares no code with the store: it reads pprof files with google/pprof,
// visits every value of every sample, and adds up in maps.
//
//	oracle DIR          prints the answers for all profiles in a directory, as JSON
//	oracle -wide DIR    writes profiles of 10,000 labels to a directory
//
// The labels of a profile are the folders of its path with names NAME=VALUE, as granary demo --profiles
// writes them. Without such a folder the only label is file, the path itself.
//
// It follows only the definition of rows in granary export --help:
//
//   - a row is one nonzero value of one sample;
//   - a stack is the names of functions, the leaf first, inlined ones too;
//     without lines it is "[libc.so.6]", or "<unknown>" without a mapping either;
//   - an absent label is null, and so is an empty text.
package main
