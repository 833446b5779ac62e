package push

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/granarydb/granary/server/internal/fault"
)

// SeriesAge is the least time for which a label set counts after its last push. It counts for at most
// twice as long.
const SeriesAge = 30 * time.Minute

// tenants has the label sets that each tenant pushed in about an hour. They bound a tenant's series. It is safe for
// concurrent use. Options.DB bounds the number of tenants.
type tenants struct {
	now  func() time.Time
	most func(tenant string) int

	mu  sync.Mutex
	all map[string]*generations
}

func newTenants(opts Options) *tenants {
	most := func(tenant string) int {
		if opts.Series != nil {
			return cmp.Or(opts.Series(tenant), opts.Limits.Series)
		}
		return opts.Limits.Series
	}
	return &tenants{now: opts.Now, most: most, all: map[string]*generations{}}
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
	most := t.most(s.tenant)
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.all[s.tenant]
	if g == nil {
		g = &generations{}
		t.all[s.tenant] = g
	}
	g.turn(t.now, SeriesAge, most+1) // by age alone, because most bounds the number of series
	isNew = !g.has(s.labels)
	if isNew && g.len() >= most {
		return false, fault.TooMany("%d sets of labels (series) of a tenant in an hour", most)
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
