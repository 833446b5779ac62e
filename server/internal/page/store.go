package page

import (
	"context"
	"net/http"
	"time"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/internal/query/filter"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/source"
	"github.com/granarydb/granary/server/internal/web"
)

// StoreAnswer is the answer to GET /api/v1/store: the tenant's present rows, and for the tenant Anonymous, without a token
// that is bound to it, the memory, the files and the losses of the whole store. Sizes are in bytes. A budget of 0 means no limit.
type StoreAnswer struct {
	Head
	Tenant string `json:"tenant,omitempty"` // empty for Anonymous
	Oldest string `json:"oldest,omitempty"` // start of the oldest rows
	Newest string `json:"newest,omitempty"` // time of the newest profile
	// Floor is the start of the times that the store accepts. Earlier rows were evicted or dropped. It is
	// empty if none were.
	Floor string `json:"floor,omitempty"`
	// Older is true if profiles before the oldest rows can be read under /older/.
	Older bool `json:"older,omitempty"`
	// Self is the path of a page about the server itself, relative to its own.
	Self string `json:"self,omitempty"`
	// Files are the names of the opened files that the store is of.
	Files []string `json:"files,omitempty"`

	Rows     int64       `json:"rows"`
	ColdRows int64       `json:"cold_rows"` // only in files
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
	Bytes     int64 `json:"bytes"` // sum of the following
	Parts     int64 `json:"parts"`
	Series    int64 `json:"series"`
	Stacks    int64 `json:"stacks"`
	Records   int64 `json:"records"`
	Histories int64 `json:"histories"`
	Cache     int64 `json:"cache"`
	Pinned    int64 `json:"pinned"` // only by snapshots
	Pending   int64 `json:"pending"`
}

type storeDisk struct {
	Budget int64 `json:"budget"`
	Files  int64 `json:"files"`
	Log    int64 `json:"log"`
	Failed bool  `json:"failed"` // files cannot be written
}

// storeGone counts evicted and dropped data.
type storeGone struct {
	EvictedRows   int64 `json:"evicted_rows"`   // for the memory budget
	EvictedStates int64 `json:"evicted_states"` // bytes of histories, for the memory budget
	DroppedRows   int64 `json:"dropped_rows"`   // by retention and for the disk budget
	DiskRows      int64 `json:"disk_rows"`      // part of DroppedRows, for the disk budget
	Snapshots     int64 `json:"snapshots"`      // expired for a budget
}

// storeState answers GET /api/v1/store.
func (p *page) storeState(w http.ResponseWriter, r *http.Request) error {
	store, err := p.Source.Store(source.Page("store"))
	if err != nil {
		return err
	}
	if _, err := pageParameters(r.URL.RawQuery, nil); err != nil {
		return err
	}
	var out *StoreAnswer
	err = p.Gate.InTime(r.Context(), func(ctx context.Context) error {
		return store.At(ctx, func(v *source.At) error {
			var touched filter.Counts
			newest, err := v.Newest(filter.Counting(ctx, &touched))
			if err != nil {
				return err
			}
			out = newStoreAnswer(v.DB, web.CallerOf(ctx).Bound)
			out.Older, out.Files = p.HasOlder, p.Files
			if out.Tenant == "" && !web.CallerOf(ctx).InPath {
				out.Self = p.Self
			}
			out.Head = newPageHead(v.Commit(), &touched)
			if newest != 0 {
				out.Newest = instantText(newest)
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	return web.SendJSON(w, r, p.ResultBytes, out)
}

func newStoreAnswer(db *profile.DB, isBound bool) *StoreAnswer {
	own := db.Table().Stats()
	out := &StoreAnswer{
		Oldest: timeText(own.Oldest), Floor: timeText(own.Floor),
		Rows: own.Rows, ColdRows: own.ColdRows, Series: own.Series, Stacks: own.Stacks, Granules: own.Granules, Parts: own.Parts,
	}
	if db.Tenant() != profile.Anonymous {
		out.Tenant = db.Tenant()
	}
	if out.Tenant != "" || isBound {
		out.setSizes(own)
	} else {
		out.setSizes(db.Store().Stats())
	}
	return out
}

// setSizes sets the memory, the files and the losses.
func (a *StoreAnswer) setSizes(s columnstore.Stats) {
	a.Memory = storeMemory{
		Budget: s.MemoryBudget, Bytes: s.Bytes(), Parts: s.PartBytes, Series: s.SeriesBytes, Stacks: s.StackBytes, Records: s.RecordBytes,
		Histories: s.HistoryBytes, Cache: s.CacheBytes, Pinned: s.PinnedBytes, Pending: s.PendingBytes,
	}
	a.Disk = storeDisk{Budget: s.DiskBudget, Files: s.FileBytes, Log: s.LogBytes, Failed: s.FlushError != nil}
	a.Gone = storeGone{EvictedRows: s.EvictedRows, EvictedStates: s.EvictedStates, DroppedRows: s.DroppedRows, DiskRows: s.DiskDroppedRows, Snapshots: s.Expired}
}

// timeText returns a time in RFC 3339 with nanoseconds, or "" for the zero time.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}
