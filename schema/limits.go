package schema

// Limits of a batch. Each bounds an allocation that input controls; a batch that exceeds a limit is refused
// whole with ErrLimit.
const (
	// MaxRows bounds the rows in a batch, because sorting takes a few hundred bytes of working memory a
	// row.
	MaxRows = 4 << 20
	// MaxName bounds a column's name, in bytes. Kubernetes allows 63+253.
	MaxName = 1 << 10
	// MaxString bounds a string value, in bytes.
	MaxString = 64 << 10
	// MaxList bounds the elements of a list: ten times the deepest stacks that runtimes report.
	MaxList = 16 << 10
	// MaxExpanded bounds the bytes of strings outside the series tuple. A string for all rows counts
	// once per row, because keys and plain columns hold it row by row.
	MaxExpanded = 512 << 20
	// MaxRecord bounds a list element's record, in bytes: a location's symbols, with the functions
	// inlined there.
	MaxRecord = 1 << 20
	// MaxDynamic bounds the concrete dynamic columns in a batch.
	MaxDynamic = 1 << 10
	// MaxColumns bounds the columns of a schema.
	MaxColumns = 1 << 10
)
