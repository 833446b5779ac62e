package server

import (
	"context"
	"net/http"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/query/filter"
)

// storeAnswer is the answer of GET /api/v1/store: the store as it is now. Sizes are bytes, and budgets of 0 are none.
type storeAnswer struct {
	pageHead
	Oldest string `json:"oldest,omitempty"` // start of the oldest rows
	Newest string `json:"newest,omitempty"` // time of the newest profile
	// Floor is the start of what the store takes: rows before were evicted or dropped. Without one none was.
	Floor string `json:"floor,omitempty"`
	// Older says that profiles before the oldest rows can be read: those of /older/.
	Older bool `json:"older,omitempty"`

	Rows     int64       `json:"rows"`
	ColdRows int64       `json:"cold_rows"` // in files alone
	Series   int         `json:"series"`
	Stacks   int         `json:"stacks"`
	Granules int         `json:"granules"`
	Parts    int         `json:"parts"`
	Memory   storeMemory `json:"memory"`
	Disk     storeDisk   `json:"disk"`
	Gone     storeGone   `json:"gone"`
}

type storeMemory struct {
	Budget    int64 `json:"budget"`
	Bytes     int64 `json:"bytes"` // all that follow
	Parts     int64 `json:"parts"`
	Series    int64 `json:"series"`
	Stacks    int64 `json:"stacks"`
	Records   int64 `json:"records"`
	Histories int64 `json:"histories"`
	Cache     int64 `json:"cache"`
	Pinned    int64 `json:"pinned"` // by snapshots alone
	Pending   int64 `json:"pending"`
}

type storeDisk struct {
	Budget int64 `json:"budget"`
	Files  int64 `json:"files"`
	Log    int64 `json:"log"`
	Failed bool  `json:"failed"` // files cannot be written
}

// storeGone is what the store has no more.
type storeGone struct {
	EvictedRows   int64 `json:"evicted_rows"`   // for the memory budget
	EvictedStates int64 `json:"evicted_states"` // bytes of histories, for the memory budget
	DroppedRows   int64 `json:"dropped_rows"`   // by retention and for the disk budget
	DiskRows      int64 `json:"disk_rows"`      // of these, for the disk budget
	Snapshots     int64 `json:"snapshots"`      // taken back for a budget
}

// storeState answers GET /api/v1/store.
func (s *Server) storeState(w http.ResponseWriter, r *http.Request) error {
	if _, err := pageParameters(r.URL.RawQuery, nil); err != nil {
		return err
	}
	var out *storeAnswer
	err := s.query(r.Context(), func(ctx context.Context, snap *columnstore.Snapshot) error {
		var touched filter.Touched
		newest, err := (&pageQuestion{s: s, snap: snap}).newest(filter.Counting(ctx, &touched))
		if err != nil {
			return err
		}
		out = newStoreAnswer(s.db.Store().Stats())
		out.Older = s.opts.Older != nil
		out.pageHead = newPageHead(uint64(snap.Commit()), &touched)
		if newest != 0 {
			out.Newest = timeText(time.Unix(0, newest))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.sendJSON(w, r, out)
}

func newStoreAnswer(s columnstore.Stats) *storeAnswer {
	return &storeAnswer{
		Oldest: timeText(s.Oldest), Floor: timeText(s.Floor),
		Rows: s.Rows, ColdRows: s.ColdRows, Series: s.Series, Stacks: s.Stacks, Granules: s.Granules, Parts: s.Parts,
		Memory: storeMemory{
			Budget: s.MemoryBudget, Bytes: s.Bytes(), Parts: s.PartBytes, Series: s.SeriesBytes, Stacks: s.StackBytes, Records: s.RecordBytes,
			Histories: s.HistoryBytes, Cache: s.CacheBytes, Pinned: s.PinnedBytes, Pending: s.PendingBytes,
		},
		Disk: storeDisk{Budget: s.DiskBudget, Files: s.FileBytes, Log: s.LogBytes, Failed: s.FilingError != nil},
		Gone: storeGone{EvictedRows: s.EvictedRows, EvictedStates: s.EvictedStates, DroppedRows: s.DroppedRows, DiskRows: s.DiskDroppedRows, Snapshots: s.Expired},
	}
}

// timeText returns a time in RFC 3339 with nanoseconds, "" for none.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
