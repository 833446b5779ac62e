// Package fault has the errors of requests: the text, and its meaning to a client as an HTTP status, a
// Connect code and a name for metrics. The packages below the server return them, and the server answers
// with them.
package fault

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"connectrpc.com/connect"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/disk"
	"github.com/granarydb/granary/profile"
)

// ErrLimit reports a request beyond a limit of Limits. The text names the limit and its value.
var ErrLimit = errors.New("limit")

// ErrNode reports a node of a front: an invalid address, or a node that did not answer. The text names
// the node.
var ErrNode = errors.New("node")

// ErrHistory reports a history that the store lacks.
var ErrHistory = errors.New("there is no such history")

// ErrRequest reports an invalid request. The text names the invalid part.
var ErrRequest = errors.New("invalid request")

// LimitError is an ErrLimit with the status of its answer.
type LimitError struct {
	Status int // HTTP status
	Text   string
}

func (e *LimitError) Error() string { return e.Text }
func (e *LimitError) Unwrap() error { return ErrLimit }

// TooLarge returns the error for a request that is larger than a limit.
func TooLarge(format string, args ...any) error {
	return &LimitError{http.StatusRequestEntityTooLarge, "limit: " + fmt.Sprintf(format, args...)}
}

// TooMany returns the error for a request that can be retried later.
func TooMany(format string, args ...any) error {
	return &LimitError{http.StatusTooManyRequests, "limit: " + fmt.Sprintf(format, args...)}
}

// TooCostly returns the error for a query whose answer exceeds a limit.
func TooCostly(format string, args ...any) error {
	return &LimitError{http.StatusUnprocessableEntity, "limit: " + fmt.Sprintf(format, args...)}
}

// Invalid returns an ErrRequest.
func Invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrRequest, fmt.Errorf(format, args...))
}

// Text returns an error's text for answers and logs. It is one line of at most 1,000 bytes, because
// errors can repeat parts of a request.
func Text(err error) string {
	const most, end = 1000, "..."
	text := strings.ToValidUTF8(strings.ReplaceAll(err.Error(), "\n", " "), "\ufffd")
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most-len(end)], "") + end
	}
	return text
}

// requestError is an ErrRequest with a cause of its own.
type requestError struct {
	cause Cause
	text  string
}

func (e *requestError) Error() string { return e.text }
func (e *requestError) Unwrap() error { return ErrRequest }

// Unsupported returns the error for a request in an unsupported format.
func Unsupported(format string, args ...any) error {
	cause := Cause{http.StatusUnsupportedMediaType, connect.CodeInvalidArgument, "format"}
	return &requestError{cause, "invalid request: " + fmt.Sprintf(format, args...)}
}

// Missing returns an error for data that the store does not have.
func Missing(format string, args ...any) error {
	return &requestError{Cause{http.StatusNotFound, connect.CodeNotFound, "not_found"}, fmt.Sprintf(format, args...)}
}

// Gone returns an error for data that was dropped: a commit, or units.
func Gone(format string, args ...any) error {
	return &requestError{Cause{http.StatusGone, connect.CodeFailedPrecondition, "gone"}, fmt.Sprintf(format, args...)}
}

// Origin returns the error for a request that a browser sends for a page of another site.
func Origin(format string, args ...any) error {
	return &requestError{Cause{http.StatusForbidden, connect.CodePermissionDenied, "origin"}, fmt.Sprintf(format, args...)}
}

// Denied returns the error for a request whose token, or tenant, has no right to it.
func Denied(format string, args ...any) error {
	return &requestError{Cause{http.StatusForbidden, connect.CodePermissionDenied, "denied"}, fmt.Sprintf(format, args...)}
}

// Unread returns an error about older profiles that are not in memory.
func Unread(format string, args ...any) error {
	return &requestError{Cause{http.StatusConflict, connect.CodeFailedPrecondition, "unread"}, fmt.Sprintf(format, args...)}
}

// Refused returns an error for a query, or a part of it, that has no answer here.
func Refused(format string, args ...any) error {
	return connect.NewError(connect.CodeUnimplemented, fmt.Errorf(format, args...))
}

// At adds the place in a request to an error. An error of a node is not about the request.
func At(where string, err error) error {
	if where == "" || errors.Is(err, ErrNode) {
		return err
	}
	return fmt.Errorf("%s: %w", where, err)
}

// In adds the part of a query to an error that is about the query: a damaged file is none. An error of Connect keeps its code.
func In(part string, err error) error {
	if c, ok := errors.AsType[*connect.Error](err); ok {
		return connect.NewError(c.Code(), fmt.Errorf("%s: %s", part, c.Message()))
	}
	if CauseOf(err).Status >= http.StatusInternalServerError {
		return err
	}
	return At(part, err)
}

// Quoted returns a quoted text of a request for an error. It truncates a long text.
func Quoted(text string) string {
	if len(text) > 100 {
		return strconv.QuoteToASCII(text[:100]) + "..."
	}
	return strconv.QuoteToASCII(text)
}

// Cause is the meaning of an error to a client: the answer's status, the Connect code, and the name for
// metrics.
type Cause struct {
	Status int
	Code   connect.Code
	Name   string
}

// CauseOf returns the cause of an error.
func CauseOf(err error) Cause {
	var limit *LimitError
	var refusal *connect.Error
	var bytes *http.MaxBytesError
	var own *requestError
	switch {
	case errors.Is(err, ErrNode):
		return Cause{http.StatusBadGateway, connect.CodeUnavailable, "node"}
	case errors.As(err, &refusal) && refusal.Code() == connect.CodeUnimplemented:
		return Cause{http.StatusNotImplemented, connect.CodeUnimplemented, "unimplemented"}
	case errors.As(err, &refusal) && refusal.Code() == connect.CodeInvalidArgument:
		return Cause{http.StatusBadRequest, connect.CodeInvalidArgument, "invalid"}
	case errors.As(err, &own):
		return own.cause
	case errors.As(err, &limit) && limit.Status == http.StatusServiceUnavailable:
		return Cause{limit.Status, connect.CodeUnavailable, "limit"}
	case errors.As(err, &limit) && limit.Status == http.StatusRequestTimeout:
		return Cause{limit.Status, connect.CodeDeadlineExceeded, "limit"}
	case errors.As(err, &limit):
		return Cause{limit.Status, connect.CodeResourceExhausted, "limit"}
	case errors.As(err, &bytes), errors.Is(err, profile.ErrTooLarge), errors.Is(err, columnstore.ErrLimit):
		return Cause{http.StatusRequestEntityTooLarge, connect.CodeResourceExhausted, "limit"}
	case errors.Is(err, columnstore.ErrQueryMemory), errors.Is(err, ErrLimit):
		return Cause{http.StatusUnprocessableEntity, connect.CodeResourceExhausted, "limit"}
	case errors.Is(err, context.DeadlineExceeded):
		return Cause{http.StatusUnprocessableEntity, connect.CodeDeadlineExceeded, "limit"}
	case errors.Is(err, context.Canceled):
		return Cause{499, connect.CodeCanceled, "canceled"} // the client has gone
	case errors.Is(err, profile.ErrUnknownType), errors.Is(err, ErrHistory):
		return Cause{http.StatusNotFound, connect.CodeNotFound, "not_found"}
	case errors.Is(err, ErrRequest), errors.Is(err, profile.ErrTenant), errors.Is(err, profile.ErrProfile), errors.Is(err, profile.ErrSelector),
		errors.Is(err, profile.ErrAmbiguousType), errors.Is(err, profile.ErrMixed), errors.Is(err, profile.ErrScale),
		errors.Is(err, columnstore.ErrBatch), errors.Is(err, columnstore.ErrQuery), errors.Is(err, columnstore.ErrPast),
		errors.Is(err, columnstore.ErrFuture), errors.Is(err, columnstore.ErrTooOld):
		return Cause{http.StatusBadRequest, connect.CodeInvalidArgument, "invalid"}
	case errors.Is(err, columnstore.ErrMemory), errors.Is(err, columnstore.ErrSnapshotExpired):
		return Cause{http.StatusServiceUnavailable, connect.CodeUnavailable, "memory"}
	case errors.Is(err, disk.ErrDisk), errors.Is(err, disk.ErrNotDurable):
		return Cause{http.StatusServiceUnavailable, connect.CodeUnavailable, "disk"}
	case errors.Is(err, columnstore.ErrClosed):
		return Cause{http.StatusServiceUnavailable, connect.CodeUnavailable, "closed"}
	}
	return Cause{http.StatusInternalServerError, connect.CodeInternal, "internal"}
}
