package schema

// Limits of a batch. Each bounds an allocation that input controls; a batch that exceeds one
// is refused whole with ErrLimit.
const (
	// MaxRows bounds the rows of one batch: sorting takes a few hundred bytes of working
	// memory a row.
	MaxRows = 4 << 20
	// MaxName bounds a column's name in bytes. Kubernetes allows 63+253.
	MaxName = 1 << 10
	// MaxString bounds a string value in bytes.
	MaxString = 64 << 10
	// MaxList bounds the elements of a list: ten times the deepest stacks that runtimes
	// report.
	MaxList = 16 << 10
	// MaxExpanded bounds the bytes of the strings outside of the series tuple, with a string
	// that stands for all rows counted for each: keys and plain columns hold them row by row.
	MaxExpanded = 512 << 20
	// MaxRecord bounds the record of one element of a list in bytes: the symbols of a
	// location, with the functions inlined there.
	MaxRecord = 1 << 20
	// MaxDynamic bounds the concrete dynamic columns of one batch.
	MaxDynamic = 1 << 10
	// MaxColumns bounds the columns of a schema.
	MaxColumns = 1 << 10
)
