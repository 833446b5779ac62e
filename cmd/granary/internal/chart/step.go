package chart

import (
	"fmt"
	"slices"
	"time"

	"github.com/granarydb/granary/profile"
)

// chartSteps are the steps that a chart chooses from, besides whole days.
var chartSteps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// Step returns the step of a chart of profiles that is `columns` wide, with a line for each value of the
// labels `by`. The profiles of one source have equal labels except `without`. The step is 0, a point for each
// time, if there are few times and the sources of a line share them. If sources were profiled at different
// times, such points would alternate between sources; the step is then the least at which the number of
// profiles is steady. If there is none, the step is 0 for few times, otherwise the least that fits the
// columns.
func Step(infos []profile.ProfileInfo, by []string, without string, columns int) time.Duration {
	most := max(24, columns-16) // about one column per point
	lines, times := profileTimes(infos, by, without)
	apart := slices.ContainsFunc(lines, lineTimes.apart)
	if len(times) <= most && !apart {
		return 0
	}
	span := time.Duration(times[len(times)-1] - times[0])
	least := leastStep(span / time.Duration(most))
	if apart {
		for step := least; step <= span/4; step = leastStep(2 * step) {
			if steady(lines, step) {
				return step
			}
		}
	}
	if len(times) <= most {
		return 0
	}
	return least
}

// leastStep returns the least step of a chart that is at least d.
func leastStep(d time.Duration) time.Duration {
	for _, step := range chartSteps {
		if step >= d {
			return step
		}
	}
	const day = 24 * time.Hour
	return (d + day - 1).Truncate(day)
}

// lineTimes are the times of a line's profiles.
type lineTimes struct {
	times    []int64 // ascending
	ofSource int     // greatest number of distinct times in one source
}

// apart reports whether the sources of a line were profiled at different times, repeatedly.
func (l lineTimes) apart() bool {
	return l.ofSource > 1 && len(slices.Compact(slices.Clone(l.times))) > l.ofSource
}

// profileTimes returns the times of each line's profiles, and all distinct times.
func profileTimes(infos []profile.ProfileInfo, by []string, without string) (lines []lineTimes, all []int64) {
	type lineSource struct{ line, source string }
	byLine, bySource, most := map[string][]int64{}, map[lineSource]map[int64]bool{}, map[string]int{}
	for _, p := range infos {
		text := func(keep func(name string) bool) string {
			return fmt.Sprintf("%q", slices.DeleteFunc(slices.Clone(p.Labels), func(l profile.Label) bool { return !keep(l.Name) }))
		}
		line := text(func(name string) bool { return slices.Contains(by, name) })
		source := lineSource{line, text(func(name string) bool { return name != without })}
		if bySource[source] == nil {
			bySource[source] = map[int64]bool{}
		}
		bySource[source][p.Time] = true
		most[line] = max(most[line], len(bySource[source]))
		byLine[line] = append(byLine[line], p.Time)
		all = append(all, p.Time)
	}
	for line, times := range byLine {
		slices.Sort(times)
		lines = append(lines, lineTimes{times, most[line]})
	}
	slices.Sort(all)
	return lines, slices.Compact(all)
}

// steady reports whether the number of profiles per step, without the first and the last step, differs from
// the next step's by at most a fifth on average.
func steady(lines []lineTimes, step time.Duration) bool {
	changes, profiles := 0, 0
	for _, l := range lines {
		counts := map[int64]int{}
		for _, t := range l.times {
			counts[t/int64(step)]++
		}
		first, last := l.times[0]/int64(step), l.times[len(l.times)-1]/int64(step)
		for at := first + 1; at < last; at++ {
			profiles += counts[at]
			if at > first+1 {
				changes += max(counts[at]-counts[at-1], counts[at-1]-counts[at])
			}
		}
	}
	return profiles > 0 && 5*changes <= profiles
}
