// Command oracle says what the rows of profiles are, for other engines' answers to be
// held to. It shares no code with the store: it reads pprof files with
// google/pprof, looks at every value of every sample, and adds up in maps.
//
//	oracle DIR          the answers for all profiles in a directory, as JSON
//	oracle -wide DIR    writes profiles of 10,000 labels to a directory
//
// The labels of a profile are the folders of its path that are called name=value, as
// granary demo --profiles writes them; without one it is file, the path itself.
//
// What it knows of the rows is what granary export --help says, and no more:
//
//   - a row is one value that is not zero of one sample;
//   - a stack is the names of functions, the leaf first, inlined ones too;
//     without lines it is "[binary]", or "<unknown>" where not even that is known;
//   - a label that a row does not have is null, and so is an empty text.
package main
