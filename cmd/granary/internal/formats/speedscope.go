package formats

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/granarydb/granary/profile"
)

// speedscopeFile is a speedscope file.
type speedscopeFile struct {
	Schema string `json:"$schema"`
	Shared struct {
		Frames []speedscopeFrame `json:"frames"`
	} `json:"shared"`
	Profiles []speedscopeProfile `json:"profiles"`
	Active   int                 `json:"activeProfileIndex"` // the profile to show first
	Exporter string              `json:"exporter"`
}

type speedscopeFrame struct {
	Name string `json:"name"`
	File string `json:"file,omitempty"`
}

// speedscopeProfile is the profile for one sample type. A sample is a list of frame numbers, root first.
type speedscopeProfile struct {
	Type    string  `json:"type"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Start   int64   `json:"startValue"`
	End     int64   `json:"endValue"`
	Samples [][]int `json:"samples"`
	Weights []int64 `json:"weights"`
}

// speedscopeUnits are the units that speedscope knows.
var speedscopeUnits = []string{"nanoseconds", "microseconds", "milliseconds", "seconds", "bytes"}

// WriteSpeedscope writes a speedscope file with a profile for each element of all, named by its type. active
// is the index of the profile to show first. It omits negative values, because speedscope cannot show them.
func WriteSpeedscope(w io.Writer, all []*profile.Stacks, active int, name func(profile.Type) string) error {
	file := speedscopeFile{Active: active, Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "granary", Profiles: []speedscopeProfile{}}
	file.Shared.Frames = []speedscopeFrame{}
	index := map[speedscopeFrame]int{}
	for _, stacks := range all {
		p := speedscopeProfile{Type: "sampled", Name: name(stacks.Type), Unit: "none", Samples: [][]int{}, Weights: []int64{}}
		if slices.Contains(speedscopeUnits, stacks.Type.SampleUnit) {
			p.Unit = stacks.Type.SampleUnit
		}
		for frames, value := range stacks.All() {
			if value < 0 {
				continue
			}
			sample := make([]int, 0, len(frames))
			for _, f := range slices.Backward(frames) {
				frame := speedscopeFrame{f.Function, f.File}
				i, ok := index[frame]
				if !ok {
					i = len(file.Shared.Frames)
					index[frame] = i
					file.Shared.Frames = append(file.Shared.Frames, frame)
				}
				sample = append(sample, i)
			}
			p.Samples, p.Weights = append(p.Samples, sample), append(p.Weights, value)
			p.End += value
		}
		file.Profiles = append(file.Profiles, p)
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return errors.Join(encoder.Encode(file), out.Flush())
}
