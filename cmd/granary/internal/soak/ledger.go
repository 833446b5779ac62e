package soak

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// ledger has the sums of the pushed values. Its file lies beside the directory, so that a later run goes on with it. It is
// safe for concurrent use.
type ledger struct {
	file string

	// pushing is held for reading by each push, and for writing by a comparison.
	pushing sync.RWMutex

	mu   sync.Mutex
	Ways map[string]*account `json:"ways"` // by protocol
	Ran  int64               `json:"ran_seconds"`
	Runs []finished          `json:"runs"`
}

// account has the values of one protocol.
type account struct {
	Acknowledged int64 `json:"acknowledged"`
	Perhaps      int64 `json:"perhaps"` // without an answer, as when the server is killed
	Pushes       int64 `json:"pushes"`
	Refused      int64 `json:"refused"`
}

// finished is a run on the directory that has ended.
type finished struct {
	Seed    uint64 `json:"seed"`
	Seconds int64  `json:"seconds"`
	Kills   int    `json:"kills"`
	Ends    int    `json:"ends"`
	Checks  int    `json:"checks"`
	Answers int    `json:"answers"`
	MaxRSS  int64  `json:"max_rss"`
}

// openLedger reads the ledger of a directory, or begins one.
func openLedger(dir string) (*ledger, error) {
	l := &ledger{file: dir + ".soak.json", Ways: map[string]*account{}}
	data, err := os.ReadFile(l.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := os.Stat(dir); err == nil {
			return nil, fmt.Errorf("%s is there, and its ledger %s is not: want a new directory", dir, l.file)
		}
		return l, nil
	case err != nil:
		return nil, err
	}
	if err := json.Unmarshal(data, l); err != nil {
		return nil, fmt.Errorf("%s: %w", l.file, err)
	}
	return l, nil
}

// save writes the ledger.
func (l *ledger) save() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(l.file, append(data, '\n'), 0o600)
}

// note adds the result of a push.
func (l *ledger) note(way string, value int64, r result) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.Ways[way]
	if a == nil {
		a = new(account)
		l.Ways[way] = a
	}
	a.Pushes++
	switch r {
	case acknowledged:
		a.Acknowledged += value
	case refused:
		a.Refused++
	case perhaps:
		a.Perhaps += value
	}
}

// of returns an account as it is.
func (l *ledger) of(way string) account {
	l.mu.Lock()
	defer l.mu.Unlock()
	if a := l.Ways[way]; a != nil {
		return *a
	}
	return account{}
}

// result is the result of a push.
type result int

const (
	acknowledged result = iota
	refused             // nothing happened
	perhaps             // it may have arrived
)
