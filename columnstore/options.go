package columnstore

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"time"
)

// Options configures a store. The zero value is a good choice.
type Options struct {
	// GranuleRows is the number of rows above which a granule is split.
	// 0 means 65,536; at least 1.
	GranuleRows int
	// FreshParts is the number of parts since the last rewrite at which a
	// granule is compacted, once they hold half as many rows as the base.
	// 0 means 16; at least 2.
	FreshParts int
	// MaxParts is the number of fresh parts at which a granule is compacted
	// whatever they hold. 0 means 256; at least FreshParts.
	MaxParts int
	// FutureLimit is how far ahead of the clock a row's time may be, in
	// tables with a time bucket. 0 means 10 minutes; negative, no limit.
	FutureLimit time.Duration
	// Retention is how long rows are kept, in tables with a time bucket: a
	// bucket is dropped when all of it is older than the newest committed row
	// by more than this. Data time decides, so replays work; a row far in the
	// future would drop what is before it, and FutureLimit keeps it out.
	// 0 means for ever; at least 0.
	Retention time.Duration
	// Manual leaves maintenance to the caller: no goroutine is started, and
	// Maintain or Compact must be called.
	Manual bool
	// Now is the clock. nil means time.Now.
	Now func() time.Time
	// Rand is where hash seeds come from; CreateTable reads 8 bytes of it,
	// one call at a time. nil means crypto/rand.
	Rand io.Reader
	// Yield, if set, is called at named points between the steps of inserts,
	// commits, scans and maintenance, outside of every lock. A simulator
	// switches tasks there. It must be safe for concurrent use.
	Yield func(point string)
}

// withDefaults checks the options and fills in what is zero.
func (o Options) withDefaults() (Options, error) {
	check := func(name string, value *int, zero, least int) error {
		if *value == 0 {
			*value = zero
		}
		if *value < least {
			return fmt.Errorf("%w: %s is %d, want at least %d", ErrOptions, name, *value, least)
		}
		return nil
	}
	err := cmp.Or(
		check("GranuleRows", &o.GranuleRows, 64<<10, 1),
		check("FreshParts", &o.FreshParts, 16, 2),
	)
	if err == nil {
		err = check("MaxParts", &o.MaxParts, max(256, o.FreshParts), o.FreshParts)
	}
	if err != nil {
		return o, err
	}
	if o.Retention < 0 {
		return o, fmt.Errorf("%w: Retention is %v, want at least 0", ErrOptions, o.Retention)
	}
	if o.FutureLimit == 0 {
		o.FutureLimit = 10 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Rand == nil {
		o.Rand = rand.Reader
	}
	if o.Yield == nil {
		o.Yield = func(string) {}
	}
	return o, nil
}
