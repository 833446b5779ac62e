package mirror

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// store is Objects in memory, of which requests go wrong.
type store struct {
	mu      sync.Mutex
	objects map[string][]byte
	rng     *rand.Rand
	one     int // one request in this number goes wrong; 0 for none
	left    int // requests until all fail, if it is above 0
	away    bool
	gone    func() // called when it goes away; it kills the processes that ask
	between func() // called before some requests, for what another process does then
	inside  bool   // between is being called
}

func newStore(seed uint64) *store {
	return &store{objects: map[string][]byte{}, rng: rand.New(rand.NewPCG(seed, 1))}
}

var errRequest = errors.New("a request went wrong")

// do does a request: it may be refused, or be done and answered with an error.
func (s *store) do(ctx context.Context, request func() error) error {
	s.step(5)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.left > 0 {
		if s.left--; s.left == 0 {
			s.away = true
			if s.gone != nil {
				s.gone()
			}
			if s.rng.IntN(2) == 0 {
				_ = request() // its answer is lost
			}
		}
	}
	if s.away {
		return errRequest
	}
	wrong := s.one > 0 && s.rng.IntN(s.one) == 0
	if wrong && s.rng.IntN(2) == 0 {
		return errRequest
	}
	if err := request(); err != nil || !wrong {
		return err
	}
	return errRequest
}

// step calls between once in `one` times.
func (s *store) step(one int) {
	s.mu.Lock()
	// While it is away the number of requests depends on the time, and they must not draw.
	calls := s.between != nil && !s.inside && !s.away && s.rng.IntN(one) == 0
	s.inside = s.inside || calls
	s.mu.Unlock()
	if calls {
		s.between()
		s.mu.Lock()
		s.inside = false
		s.mu.Unlock()
	}
}

// fail sets how many requests go wrong, and after how many more all do.
func (s *store) fail(one, left int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.one, s.left, s.away = one, left, false
}

func (s *store) isAway() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.away
}

func (s *store) Create(ctx context.Context, name string, body []byte) error {
	return s.do(ctx, func() error {
		if _, ok := s.objects[name]; ok {
			return fs.ErrExist
		}
		s.objects[name] = bytes.Clone(body)
		return nil
	})
}

func (s *store) Put(ctx context.Context, name string, body io.Reader) error {
	b, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return s.do(ctx, func() error {
		s.objects[name] = b
		return nil
	})
}

func (s *store) Get(ctx context.Context, name string) (r io.ReadCloser, err error) {
	err = s.do(ctx, func() error {
		b, ok := s.objects[name]
		if !ok {
			return fs.ErrNotExist
		}
		r = io.NopCloser(bytes.NewReader(b))
		return nil
	})
	return r, err
}

func (s *store) Remove(ctx context.Context, name string) error {
	return s.do(ctx, func() error {
		delete(s.objects, name)
		return nil
	})
}

func (s *store) List(ctx context.Context, prefix string) (names []string, err error) {
	s.step(2) // because what two lists have need not be of one moment
	err = s.do(ctx, func() error {
		names = slices.DeleteFunc(slices.Sorted(maps.Keys(s.objects)), func(name string) bool { return !strings.HasPrefix(name, prefix) })
		return nil
	})
	return names, err
}

// The objects of each kind do what Objects says. checkObjects is for those of an S3 too.
func TestFolder(t *testing.T) { checkObjects(t, Folder(t.TempDir())) }

// The store of these tests does too.
func TestStore(t *testing.T) { checkObjects(t, newStore(1)) }

func checkObjects(t *testing.T, o Objects) {
	t.Helper()
	ctx := context.Background()
	want := func(err, is error) {
		t.Helper()
		if !errors.Is(err, is) || err != nil && is == nil {
			t.Fatalf("%v, want %v", err, is)
		}
	}
	names := func(prefix string, list ...string) {
		t.Helper()
		if have, err := o.List(ctx, prefix); err != nil || !slices.Equal(have, list) {
			t.Fatalf("%q, %v; want %q", have, err, list)
		}
	}
	body := func(name, text string) {
		t.Helper()
		if have, err := read(ctx, o, name); err != nil || string(have) != text {
			t.Fatalf("%s: %q, %v; want %q", name, have, err, text)
		}
	}
	names("journal/")
	_, err := o.Get(ctx, "journal/1")
	want(err, fs.ErrNotExist)
	want(o.Create(ctx, "journal/1", []byte("a")), nil)
	want(o.Create(ctx, "journal/1", []byte("a")), fs.ErrExist)
	want(o.Create(ctx, "journal/1", []byte("b")), fs.ErrExist)
	body("journal/1", "a")
	want(o.Put(ctx, "files/1/x", strings.NewReader("one")), nil)
	want(o.Put(ctx, "files/1/x", strings.NewReader("other")), nil)
	want(o.Put(ctx, "files/1/a", strings.NewReader("")), nil)
	body("files/1/x", "other")
	body("files/1/a", "")
	names("files/", "files/1/a", "files/1/x")
	names("files/1/", "files/1/a", "files/1/x")
	names("journal/", "journal/1")
	want(o.Remove(ctx, "files/1/x"), nil)
	want(o.Remove(ctx, "files/1/x"), nil)
	want(o.Remove(ctx, "files/1/a"), nil)
	names("files/")
	want(o.Put(ctx, "files/1/x", io.MultiReader(strings.NewReader("be"), &failing{})), errFile)
	names("files/")
	want(o.Put(ctx, "files/1/x", strings.NewReader("back")), nil)
	body("files/1/x", "back")
	ended, end := context.WithCancel(ctx)
	end()
	want(o.Create(ended, "journal/2", nil), context.Canceled)
	names("journal/", "journal/1")
}

var errFile = errors.New("the file cannot be read")

// failing is a reader of a file that cannot be read.
type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, errFile }
