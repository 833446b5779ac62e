package push

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/granarydb/granary/profile"
)

// CountedHeader is the header of an answer that tells how profiles with values since the start of a process were counted:
// growth=2, first=1.
const CountedHeader = "Granary-Cumulative"

// counted has the numbers of profiles by how they were counted, and their types.
type counted struct {
	of    map[profile.Counting]int
	types []string
}

func (c *counted) add(since profile.Subtraction) {
	if c.of == nil {
		c.of = map[profile.Counting]int{}
	}
	c.of[since.Counted]++
	for _, name := range since.Types {
		if !slices.Contains(c.types, name) {
			c.types = append(c.types, name)
		}
	}
}

// tell sets CountedHeader.
func (o *outcome) tell(h http.Header) {
	var parts []string
	for how := profile.CountedGrowth; how <= profile.CountedLate; how++ {
		if n := o.counted.of[how]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s=%d", how, n))
		}
	}
	if parts != nil {
		h.Set(CountedHeader, strings.Join(parts, ", "))
	}
}

// sentence tells how a profile was counted, in a line, or returns "" for one as it was sent.
func (c *counted) sentence(whole bool) string {
	anew := "as 0"
	if whole {
		anew = "whole"
	}
	for how, text := range map[profile.Counting]string{
		profile.CountedGrowth:  "as the growth since the profile before",
		profile.CountedFirst:   anew + ", because this is the first profile of its source: the next ones count by their growth",
		profile.CountedRestart: anew + ", because a value fell: the process has restarted",
		profile.CountedGap:     anew + ", because the profile before is too old",
		profile.CountedLate:    "as 0, because a later profile of its source came before",
	} {
		if c.of[how] > 0 {
			return strings.Join(c.types, ", ") + " count from the start of the process: counted " + text + "\n"
		}
	}
	return ""
}
