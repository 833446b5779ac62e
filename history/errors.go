package history

import (
	"errors"

	"github.com/granarydb/granary/internal/names"
)

// Errors of writes and reads. An error that wraps one of these names the attribute and the time. An error
// means that nothing happened.
var (
	// ErrAttribute is returned for an unknown attribute.
	ErrAttribute = names.ErrAttribute
	// ErrTime is wrapped by the four errors of times.
	ErrTime = errors.New("time out of order or range")
	// ErrOutside is returned by reads at an instant outside the view.
	ErrOutside error = timeError("time outside of the view")
	// ErrOrder is returned for a time before the attribute's ongoing interval, or before another write
	// that must come first. The transaction can go on with later times.
	ErrOrder error = timeError("time out of order")
	// ErrFinal is returned for a time that a commit made final.
	ErrFinal error = timeError("time is final")
	// ErrGap is returned for a closed interval that does not begin where the previous one ended, or
	// that ends before it begins.
	ErrGap error = timeError("interval out of place")
	// ErrKind is returned for a value whose kind is not the attribute's.
	ErrKind = errors.New("value of another kind")
	// ErrFeed is returned for an Add to an attribute that Change feeds, and for the opposite.
	ErrFeed = errors.New("attribute is fed otherwise")
	// ErrLimit is returned for a name or value that is too long or not valid text, and if there are too
	// many.
	ErrLimit = names.ErrLimit
	// ErrDepth is returned for a full stack or queue, or if the child that its depth names does not
	// exist.
	ErrDepth = errors.New("invalid depth")
	// ErrClosed is returned for writes to a closed history.
	ErrClosed = errors.New("history is closed")
	// ErrBusy is returned while another writer of the history has not ended.
	ErrBusy = errors.New("history has a writer")
	// ErrDone is returned by a writer after its commit or abort.
	ErrDone = errors.New("writer has ended")
	// ErrJournal is returned for bytes that are not a journal, and for a journal that does not follow
	// the history's last commit.
	ErrJournal = errors.New("invalid journal")
	// ErrImage is returned for bytes that are not an image of a history.
	ErrImage = errors.New("invalid image of a history")
	// ErrQuery is returned for an invalid query: a range that ends before it begins, a negative
	// resolution, or a number of pixels that is not positive.
	ErrQuery = names.ErrQuery
)

// timeError is an error that wraps ErrTime.
type timeError string

// Error returns the cause.
func (e timeError) Error() string { return string(e) }

// Unwrap returns ErrTime.
func (e timeError) Unwrap() error { return ErrTime }
