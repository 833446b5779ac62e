package push

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
)

// SeriesAge is the least time for which a label set counts after its last push. It counts for at most
// twice as long.
const SeriesAge = 30 * time.Minute

// tenants has the label sets that each tenant pushed in about an hour. They bound a tenant's series. They
// separate nothing, because all tenants' profiles are in one table. It is safe for concurrent use.
type tenants struct {
	now               func() time.Time
	maxSeries, maxAll int

	mu  sync.Mutex
	all map[string]*generations
}

func newTenants(l Limits, now func() time.Time) *tenants {
	return &tenants{now: now, maxSeries: l.Series, maxAll: l.Tenants, all: map[string]*generations{}}
}

// series is a label set of a tenant.
type series struct {
	tenant string
	labels hash
}

func seriesOf(tenant string, labels map[string]string) series {
	texts := make([]string, 0, 2*len(labels))
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		texts = append(texts, name, labels[name])
	}
	return series{tenant, hashOf(texts...)}
}

// admit counts a series, and reports whether it is new. The error is an ErrLimit. A new series that is
// not inserted must be withdrawn.
func (t *tenants) admit(s series) (isNew bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.all[s.tenant]
	if g == nil {
		if len(t.all) >= t.maxAll {
			t.forget()
		}
		if len(t.all) >= t.maxAll {
			return false, fault.TooMany("%d tenants that push in an hour", t.maxAll)
		}
		g = &generations{}
		t.all[s.tenant] = g
	}
	t.turn(g)
	isNew = !g.has(s.labels)
	if isNew && g.len() >= t.maxSeries {
		return false, fault.TooMany("%d sets of labels (series) of a tenant in an hour", t.maxSeries)
	}
	g.add(s.labels)
	return isNew, nil
}

// withdraw undoes admit for new series.
func (t *tenants) withdraw(fresh []series) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range fresh {
		g := t.all[s.tenant]
		if g == nil {
			continue
		}
		g.remove(s.labels)
		if g.len() == 0 {
			delete(t.all, s.tenant)
		}
	}
}

// forget drops the tenants without series.
func (t *tenants) forget() {
	for name, g := range t.all {
		if t.turn(g); g.len() == 0 {
			delete(t.all, name)
		}
	}
}

// turn turns g by age alone, because admit bounds the number of series.
func (t *tenants) turn(g *generations) { g.turn(t.now(), SeriesAge, t.maxSeries+1) }
