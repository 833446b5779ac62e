// Package rows turns a flat profile of package profile/pprof into a batch of rows of the profiling
// schema.
//
//	Profile.Check   -> limits, and a column for each label of the samples
//	Batcher.Batch   -> schema.Batch: a row for each value of each sample, by sample type
//
// It names the columns in the schema and of labels. A label can have several values in a sample, and a
// number label has a unit. LabelColumn and NumLabelColumn encode both in a column's name, CutNumber and
// CutUnit decode it. Trace and span ids have their own columns, if ParseID accepts their text.
//
// It depends on neither the store nor queries.
package rows
