package pprof

import (
	"strings"
	"sync"

	"github.com/ianlancetaylor/demangle"
)

// isMangled reports whether a name can be a mangled one: cheaply, because it is asked for each name.
func isMangled[T string | []byte](name T) bool {
	if len(name) < 4 || len(name) > maxMangled || name[0] != '_' {
		return false
	}
	switch name[1] {
	case 'Z', 'R', 'G': // _ZN, _RN, _GLOBAL_
		return true
	case '_': // of macOS, and of blocks in it
		return name[2] == 'Z' || name[2] == 'R' || name[2] == '_'
	}
	return false
}

// maxMangled bounds the mangled names that are read, in bytes. Their demangled form may have as many.
const (
	maxMangled = 1 << maxMangledBits

	maxMangledBits = 12
)

// Demangled returns the name of a function as go tool pprof shows it. Mangled names of C++ and Rust become names of their source,
// without parameters. It returns other names as they are. It is safe for concurrent use.
func Demangled(name string) string {
	if !isMangled(name) {
		return name
	}
	return demangled.of(name)
}

// DemangledBytes is Demangled for bytes. It returns name itself if that is not mangled.
func DemangledBytes(name []byte) []byte {
	if !isMangled(name) {
		return name
	}
	return []byte(demangled.of(string(name)))
}

// demangled keeps demangled names across answers, because a name takes some microseconds.
var demangled names

// names keeps the names that were asked for last.
type names struct {
	mu          sync.Mutex
	recent, old map[string]string
	bytes       int // of recent
}

// maxNames bounds the bytes of recent names, and of old ones.
const maxNames = 4 << 20

func (n *names) of(mangled string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	name, known := n.recent[mangled]
	if known {
		return name
	}
	if name, known = n.old[mangled]; !known {
		name = demangledName(mangled)
	}
	const entry = 64 // of a map, about
	if n.bytes += len(mangled) + len(name) + entry; n.recent == nil || n.bytes > maxNames {
		n.recent, n.old, n.bytes = map[string]string{}, n.recent, len(mangled)+len(name)+entry
	}
	n.recent[mangled] = name
	return name
}

// demangledName demangles a name. A name that the library does not know stays as it is.
func demangledName(mangled string) (name string) {
	defer func() {
		if recover() != nil { // names come from strangers, and the library panics on purpose inside
			name = mangled
		}
	}()
	options := []demangle.Option{demangle.NoParams, demangle.NoEnclosingParams, demangle.NoTemplateParams, demangle.MaxLength(maxMangledBits)}
	name, err := demangle.ToString(mangled, options...)
	if err != nil {
		name, err = demangle.ToString(mangled[1:], options...) // macOS adds an underscore
	}
	if err != nil || name == "" {
		return mangled
	}
	return strings.ToValidUTF8(name, "\ufffd")
}
