package debugfiles

import (
	"cmp"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/granarydb/granary/internal/debuginfo"
)

// Options says where files are.
type Options struct {
	// Files are binaries, debug files or Breakpad files.
	Files []string
	// Dirs are directories with such files.
	Dirs []string
	// Keep is a directory of the Finder's own, which is made when the first file is kept. Empty means that it keeps none.
	Keep string
	// KeepBytes bounds the files in Keep. The oldest go. 0 means 1 GiB.
	KeepBytes int64
	// Debuginfod is the URL of a server, or empty. It needs Keep.
	Debuginfod string
	// Client asks it. nil means http.DefaultClient.
	Client *http.Client
	// FetchBytes and FetchTime bound an answer of it. 0 means KeepBytes, and a minute.
	FetchBytes int64
	FetchTime  time.Duration
	// Pool has the open files. nil means one of the Finder's own.
	Pool *Pool
	// Now returns the time. nil means time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.KeepBytes = cmp.Or(o.KeepBytes, 1<<30)
	o.FetchBytes = cmp.Or(o.FetchBytes, o.KeepBytes)
	o.FetchTime = cmp.Or(o.FetchTime, time.Minute)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Client == nil {
		o.Client = http.DefaultClient
	}
	return o
}

// Binary is what a profile says about a binary.
type Binary struct {
	File    string // its path, or empty
	BuildID string // or empty
}

// Finder finds the files for a binary. It is safe for concurrent use.
type Finder struct {
	opts  Options
	named []indexed // Options.Files
	pool  *Pool

	mu      sync.Mutex
	files   map[string]indexed  // of directories, by path
	byID    map[string][]string // paths, by build id
	scanned time.Time
	wanted  []string             // build ids
	failed  map[string]time.Time // when a fetch failed, by build id
}

// indexed is a file that was looked at.
type indexed struct {
	debuginfo.Identity
	path    string
	changed time.Time
	size    int64
}

// New returns a Finder. The error is of a file of Options.Files. Close the Finder at the end.
func New(opts Options) (*Finder, error) {
	s := &Finder{opts: opts.withDefaults(), files: map[string]indexed{}, byID: map[string][]string{}, failed: map[string]time.Time{}}
	if s.pool = opts.Pool; s.pool == nil {
		s.pool = NewPool(0)
	}
	for _, path := range opts.Files {
		id, err := debuginfo.Identify(path)
		if err != nil {
			return nil, pathError(path, err)
		}
		s.named = append(s.named, indexed{Identity: id, path: path})
	}
	return s, nil
}

// Close closes the files, unless they are in Options.Pool. No question may follow.
func (s *Finder) Close() error {
	if s.opts.Pool != nil {
		return nil
	}
	return s.pool.Close()
}

// Problem is that of the Finder's pool.
func (s *Finder) Problem() error { return s.pool.Problem() }

// Frames returns the frames at a place in a binary, innermost first, or none if no file has a name for it. Of several files
// one with lines is preferred.
func (s *Finder) Frames(b Binary, at debuginfo.MappedAddress) []debuginfo.NamedFrame {
	var best []debuginfo.NamedFrame
	for _, path := range s.find(b) {
		frames := s.pool.ask(path, at)
		if len(frames) > 0 && (best == nil || best[0].Line == 0 && frames[0].Line > 0) {
			best = frames
		}
		if best != nil && best[0].Line > 0 {
			break
		}
	}
	return best
}

// Has reports whether there is a file for a binary.
func (s *Finder) Has(b Binary) bool { return len(s.find(b)) > 0 }

// find returns the paths of the files for a binary. It wants a binary that has none.
func (s *Finder) find(b Binary) (paths []string) {
	id, ok := cleanID(b.BuildID)
	for _, f := range s.named {
		if ok && f.hasID(id) || (!ok || len(f.BuildIDs) == 0) && filepath.Base(f.path) == filepath.Base(b.File) {
			paths = append(paths, f.path)
		}
	}
	if !ok || len(s.opts.Dirs) == 0 && s.opts.Keep == "" {
		return paths
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scan()
	paths = append(paths, s.byID[id]...)
	if len(id) > shortID {
		paths = append(paths, s.byID[id[:shortID]]...)
	}
	if len(paths) == 0 {
		s.want(id)
	}
	return paths
}

// shortID is the digits of a build id that a Breakpad file has at least.
const shortID = 32

func (f indexed) hasID(id string) bool {
	for _, of := range f.BuildIDs {
		if of == id || len(of) == shortID && strings.HasPrefix(id, of) {
			return true
		}
	}
	return false
}

// cleanID returns a build id as it is in paths and URLs, and false if it is none.
func cleanID(id string) (string, bool) {
	const least, most = 8, 128
	if len(id) < least || len(id) > most || strings.Trim(strings.ToLower(id), "0123456789abcdef") != "" {
		return "", false
	}
	return strings.ToLower(id), true
}
