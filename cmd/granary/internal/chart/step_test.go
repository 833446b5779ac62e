package chart

import (
	"fmt"
	"testing"
	"time"

	"github.com/granarydb/granary/profile"
)

// Many times have steps, few have none.
func TestStepOfManyTimes(t *testing.T) {
	for _, tc := range []struct {
		seconds int // of the time between profiles
		want    time.Duration
	}{{1, 2 * time.Second}, {30, time.Minute}, {3600, 2 * time.Hour}, {86400, 2 * 24 * time.Hour}, {1000000, 18 * 24 * time.Hour}} {
		var infos []profile.ProfileInfo
		for k := range 100 {
			infos = append(infos, profile.ProfileInfo{Time: int64(k) * int64(tc.seconds) * 1e9})
		}
		if got := Step(infos, nil, "file", 80); got != tc.want {
			t.Errorf("100 profiles, %d seconds apart: steps of %v, want %v", tc.seconds, got, tc.want)
		}
		if got := Step(infos[:64], nil, "file", 80); got != 0 {
			t.Errorf("64 profiles: steps of %v", got)
		}
	}
}

func TestStepOfPods(t *testing.T) {
	pods := func(pods, scrapes int, every time.Duration, offset func(pod, scrape int) time.Duration) []profile.ProfileInfo {
		var infos []profile.ProfileInfo
		for pod := range pods {
			for k := range scrapes {
				infos = append(infos, profile.ProfileInfo{
					Time:   epoch.UnixNano() + int64(time.Duration(k)*every+offset(pod, k)),
					Labels: []profile.Label{{Name: "file", Value: fmt.Sprint(pod, " ", k)}, {Name: "pod", Value: fmt.Sprint(pod)}},
				})
			}
		}
		return infos
	}
	const second = time.Second
	own := func(pod, _ int) time.Duration { return time.Duration(pod) * 37 * time.Millisecond * 17 }
	late := func(pod, k int) time.Duration { return own(pod, k) + time.Duration(k*pod%7)*20*time.Millisecond }
	around := func(pod, k int) time.Duration { // a boundary of steps
		return time.Duration(k*k%5-2)*3*time.Millisecond + time.Duration(pod)
	}
	for _, tc := range []struct {
		name  string
		infos []profile.ProfileInfo
		by    []string
		want  time.Duration
	}{
		{"together", pods(5, 20, 10*second, func(int, int) time.Duration { return 0 }), nil, 0},
		{"one pod", pods(1, 20, 10*second, late), nil, 0},
		{"apart", pods(5, 10, 10*second, own), nil, 10 * second},
		{"apart and late", pods(20, 100, 10*second, late), nil, 30 * second},
		{"apart by pod", pods(5, 10, 10*second, late), []string{"pod"}, 0},
		{"apart by file", pods(5, 10, 10*second, late), []string{"file"}, 0},
		{"around a boundary", pods(30, 40, 10*second, around), nil, time.Minute},
		{"once", pods(20, 1, second, own), nil, 0},
		{"once, many", pods(200, 1, second, own), nil, 2 * second},
	} {
		if got := Step(tc.infos, tc.by, "file", 80); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
	}
}
