package profile

import (
	pprof "github.com/google/pprof/profile"
	"github.com/google/uuid"
)

// locationRecord appends the record of a location to dst and returns the id.
// program is the mapping of the program itself, or nil.
func locationRecord(dst []byte, l *pprof.Location, program *pprof.Mapping) ([]byte, uuid.UUID) {
	var f flat
	f.reset()
	m := newFlattener(&f)
	i := m.location(l)
	if k := m.mappings[program]; k != 0 {
		f.mappings[k].has |= isProgram
	}
	return f.appendLocation(dst, i)
}
