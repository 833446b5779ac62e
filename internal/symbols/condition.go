package symbols

import (
	"regexp"
	"sync"

	"github.com/granarydb/granary/encoding/dict"
	"github.com/granarydb/granary/internal/pattern"
	codec "github.com/granarydb/granary/profile/pprof"
)

// Condition is a condition on a frame, which must match all fields that are not nil. Patterns are not
// anchored.
type Condition struct {
	// Name matches the function's name or file, or the binary's file. A function without a name has the
	// name "" here.
	Name *regexp.Regexp
	// Function matches Symbol.Name, File the function's file.
	Function, File *regexp.Regexp
	// Binary and BuildID match the fields of Symbol.Place. The address in it is at least From and below
	// To; a To of 0 is no bound.
	Binary, BuildID *regexp.Regexp
	From, To        uint64
}

// Holds reports whether a condition holds for the location of an element. Goroutines may call it at once, each with a reader of its
// own. It forgets a reader's codes when another reader comes.
type Holds func(from *dict.RecordReader, element uint32) bool

// HasFrame returns a function that reports whether a location has a frame that matches c.
// After stop its results mean nothing, as those of HasShown and HasFunction.
func HasFrame(c Condition, namer codec.Namer, stop pattern.Stop) Holds {
	name, function, file := newMemo(c.Name), newMemo(c.Function), newMemo(c.File)
	binary, buildID := newMemo(c.Binary), newMemo(c.BuildID)
	return onLocations(namer, func(l *codec.LocationRecord) bool {
		y := Of(l)
		of, id, address := y.Place()
		if address < c.From || c.To != 0 && address >= c.To || !binary.matches(of, stop) || !buildID.matches(id, stop) {
			return false
		}
		for i := range y.Frames() {
			line := i
			if len(l.Lines) == 0 {
				line = -1
			}
			if function.matches(y.Name(i), stop) && file.matches(y.file(i), stop) && name.names(l, line, stop) {
				return true
			}
		}
		return false
	})
}

// HasShown returns a function that reports whether a location has a frame that a Resolver with the
// same patterns shows.
func HasShown(hide, show *regexp.Regexp, namer codec.Namer, stop pattern.Stop) Holds {
	f := newFilter(hide, show)
	return onLocations(namer, func(l *codec.LocationRecord) bool { return f == nil || !f.hides(l, stop) })
}

// onLocations returns f as a function of elements. f is called by one goroutine at a time, and may change the
// location. namer, if not nil, names addresses.
func onLocations(namer codec.Namer, f func(l *codec.LocationRecord) bool) Holds {
	var mu sync.Mutex
	var l codec.LocationRecord
	decoder := codec.NewRecordDecoder()
	decoder.Namer = namer
	return func(from *dict.RecordReader, element uint32) bool {
		mu.Lock()
		defer mu.Unlock()
		if _, err := decoder.DecodeElement(&l, from, element); err != nil {
			l = codec.LocationRecord{}
		}
		return f(&l)
	}
}
