package stackfile

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/granarydb/granary/columnstore"
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

// frameBytes and weightBytes are the memory of a frame and of a sample, beside the text of the first and the frames of the second.
const (
	frameBytes  = 96
	weightBytes = 40
)

// WriteSpeedscope writes a speedscope file with a profile for each element of all, named by its index and type. active
// is the index of the profile to show first. It omits negative values, because speedscope cannot show them. most bounds the bytes
// of memory; 0 means no bound. Errors are those of w, ctx.Err() and columnstore.ErrQueryMemory.
func WriteSpeedscope(ctx context.Context, w io.Writer, most int64, all []*profile.Stacks, active int, name func(int, profile.Type) string) error {
	s := speedscope{most: most, index: map[speedscopeFrame]int{}}
	s.file = speedscopeFile{Active: active, Schema: "https://www.speedscope.app/file-format-schema.json", Exporter: "granary", Profiles: []speedscopeProfile{}}
	s.file.Shared.Frames = []speedscopeFrame{}
	for i, stacks := range all {
		if err := s.add(ctx, stacks, name(i, stacks.Type)); err != nil {
			return err
		}
	}
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	return errors.Join(encoder.Encode(s.file), out.Flush())
}

// speedscope is a file in the making.
type speedscope struct {
	file        speedscopeFile
	index       map[speedscopeFrame]int
	most, bytes int64
	stacks      int
}

// add adds a profile.
func (s *speedscope) add(ctx context.Context, stacks *profile.Stacks, name string) error {
	p := speedscopeProfile{Type: "sampled", Name: name, Unit: "none", Samples: [][]int{}, Weights: []int64{}}
	if slices.Contains(speedscopeUnits, stacks.Type.SampleUnit) {
		p.Unit = stacks.Type.SampleUnit
	}
	for frames, value := range stacks.All() {
		if value < 0 {
			continue
		}
		if s.stacks++; s.stacks%stacksAtOnce == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		const encoded = 2 // the number of a frame as it is, and in the text
		if s.bytes += weightBytes + encoded*8*int64(len(frames)); s.most > 0 && s.bytes > s.most {
			return fmt.Errorf("%w: stopped at %d stacks", columnstore.ErrQueryMemory, s.stacks)
		}
		sample := make([]int, 0, len(frames))
		for _, f := range slices.Backward(frames) {
			sample = append(sample, s.frame(speedscopeFrame{f.Function, f.File}))
		}
		p.Samples, p.Weights = append(p.Samples, sample), append(p.Weights, value)
		p.End += value
	}
	s.file.Profiles = append(s.file.Profiles, p)
	return nil
}

// frame returns the number of a frame.
func (s *speedscope) frame(f speedscopeFrame) int {
	i, ok := s.index[f]
	if !ok {
		i = len(s.file.Shared.Frames)
		s.index[f] = i
		s.file.Shared.Frames = append(s.file.Shared.Frames, f)
		s.bytes += frameBytes + int64(len(f.Name)+len(f.File))
	}
	return i
}
