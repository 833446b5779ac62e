package browser

import (
	"context"
	"errors"
	"net/url"
	"sync/atomic"
	"testing"
	"time"

	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server"
)

// TestOlder: a range before the oldest profiles is read, with its progress, into a page of its own.
func TestOlder(t *testing.T) {
	type call struct {
		db       *profile.DB
		progress func(read, of int64)
		end      chan error
	}
	calls := make(chan call)
	var readings atomic.Int64
	s := newServerOf(t, server.Options{Older: func(ctx context.Context, db *profile.DB, _, _ int64, progress func(read, of int64)) error {
		readings.Add(1)
		c := call{db, progress, make(chan error)}
		select {
		case calls <- c:
			return <-c.end
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
	p := read(t, "etcd", "cpu-1")
	p.TimeNanos = last.UnixNano()
	push(t, s, p, url.Values{"service_name": {"etcd"}})

	b := open(t, s, "/?utc=1&from=latest-5m")
	// follow clicks a link, and goes where it leads: a page that navigates by itself fails what is asked of it meanwhile.
	follow := func(selector string) {
		t.Helper()
		b.until("document.querySelector(" + quoted(selector) + ")")
		b.goTo(eval[string](b, `(() => {
			const a = document.querySelector(`+quoted(selector)+`);
			addEventListener("click", (e) => e.preventDefault(), { once: true });
			a.click();
			return a.pathname + a.search;
		})()`))
	}
	b.says("Older ones can be read:")
	b.goTo("/?utc=1&from=latest-5m&v=difference&bfrom=latest-24h5m&bto=latest-24h")
	b.says("2026-11-22 09:55:00 to 2026-11-23 10:00:00")
	b.goTo("/?utc=1&from=2026-11-20T08:00:00Z&to=2026-11-20T09:00:00Z")
	b.says("Here are the profiles from")
	b.shot("older-offer")
	follow(".note a")
	c := <-calls
	c.progress(1000, 4000)
	b.until("document.querySelector('progress')?.value === 1000")
	b.says("1,000 of at most 4,000 rows")
	b.shot("older-reading")
	c.end <- errors.New("the lake is frozen")
	b.says("older profiles: the lake is frozen")
	b.press("try again")
	c = <-calls
	older := read(t, "compile", "cpu-1")
	older.TimeNanos = time.Date(2026, 11, 20, 8, 30, 0, 0, time.UTC).UnixNano()
	if _, err := c.db.Insert(t.Context(), older, profile.InsertOptions{Labels: map[string]string{"service_name": "compile"}}); err != nil {
		t.Error(err)
	}
	c.end <- nil
	b.ready("location.pathname.startsWith('/older/2026-11-20T08:00:00Z--2026-11-20T09:00:00.001Z/')")
	b.says("Older profiles, of 2026-11-20 08:00:00 to 2026-11-20 09:00:00")
	b.until(`document.querySelector('.panel').textContent.includes('compile')`)
	b.axe()
	b.shot("older")
	b.goTo(eval[string](b, "location.pathname") + "?utc=1&from=2026-11-20T07:00:00Z&to=2026-11-20T08:15:00Z")
	b.says("read those of 2026-11-20 07:00:00 to 2026-11-20 08:15:00")
	follow(".note a")
	c = <-calls
	c.end <- nil
	b.says("Older profiles, of 2026-11-20 07:00:00")
	b.goTo("/older/2026-11-20T01:00:00Z--2026-11-20T02:00:00Z/?utc=1&from=2026-11-20T01:00:00Z&to=2026-11-20T02:00:00Z")
	b.says("are not in the memory of the server") // a link of others begins nothing
	b.shot("older-unread")
	b.press("read them")
	c = <-calls
	c.end <- nil
	b.until("document.querySelectorAll('.note a').length === 1") // the range is the whole of what was read
	b.says("There is no profile of this time.")
	follow(".note a:last-child")
	b.ready("location.pathname === '/'")
	if n := readings.Load(); n != 4 {
		t.Errorf("%d readings", n)
	}
}
