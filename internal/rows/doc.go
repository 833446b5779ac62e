// Package rows turns a flat profile of package profile/pprof into a batch of rows of the
// profiling schema.
//
//	Profile.Check   -> limits, and a column for each label of the samples
//	Batcher.Batch   -> schema.Batch: a row for each value of each sample, by sample type
//
// It names the columns: those of the schema, and those of labels. A label can have several
// values in a sample, and a number label has a unit; LabelColumn and NumLabelColumn make the
// name of a column of that, CutNumber and CutUnit read it. Trace and span ids are columns of
// their own, if their text is that of ParseID.
//
// It knows neither the store nor questions.
package rows
