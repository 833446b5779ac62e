package rules

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/granarydb/granary/internal/pattern"
	"github.com/granarydb/granary/profile"
	"github.com/granarydb/granary/server/internal/question"
)

// ErrRule reports an invalid file of rules. The text names the line or the rule.
var ErrRule = errors.New("invalid rules")

// Bounds of a file of rules.
const (
	MaxBytes      = 1 << 20
	maxName       = 200
	maxText       = 1000 // bytes of a selector, a pattern or a help
	maxBy         = 8
	maxSteps      = 5000 // of a pattern
	leastInterval = time.Second
	mostInterval  = time.Hour
	basicInterval = time.Minute
)

// Rule is a metric that is made from profiles.
type Rule struct {
	Name     string   `yaml:"name" json:"name"`
	Help     string   `yaml:"help" json:"help,omitempty"`
	Tenant   string   `yaml:"tenant" json:"tenant,omitempty"`
	Type     string   `yaml:"type" json:"type"`
	Selector string   `yaml:"selector" json:"selector,omitempty"`
	Function string   `yaml:"function" json:"function,omitempty"`
	By       []string `yaml:"by" json:"by,omitempty"`

	sum     profile.SumChoice
	labels  []string // Prometheus' names of By
	isGauge bool
}

// List is a file of rules, which Parse has checked.
type List struct {
	Interval time.Duration
	Rules    []Rule
}

// file is the form of a file.
type file struct {
	Interval string `yaml:"interval"`
	Rules    []Rule `yaml:"rules"`
}

// Parse reads rules in YAML, of which JSON is a part: at most `most`. Errors are ErrRule. Empty text has no rules.
func Parse(data []byte, most int) (List, error) {
	l := List{Interval: basicInterval}
	if len(data) > MaxBytes {
		return l, fmt.Errorf("%w: %d bytes, at most %d", ErrRule, len(data), MaxBytes)
	}
	var f file
	in := yaml.NewDecoder(bytes.NewReader(data))
	in.KnownFields(true)
	if err := in.Decode(&f); errors.Is(err, io.EOF) {
		return l, nil
	} else if err != nil {
		return l, fmt.Errorf("%w: %s", ErrRule, strings.TrimPrefix(strings.ReplaceAll(err.Error(), "\n ", ""), "yaml: "))
	}
	if err := in.Decode(new(any)); !errors.Is(err, io.EOF) {
		return l, fmt.Errorf("%w: want one document, without ---", ErrRule)
	}
	if len(f.Rules) > most {
		return l, fmt.Errorf("%w: %d rules, at most %d", ErrRule, len(f.Rules), most)
	}
	if f.Interval != "" {
		var err error
		if l.Interval, err = time.ParseDuration(f.Interval); err != nil || l.Interval < leastInterval || l.Interval > mostInterval || mostInterval%l.Interval != 0 {
			return l, fmt.Errorf("%w: interval %.50q: want a divisor of an hour of at least a second, such as 1m", ErrRule, f.Interval)
		}
	}
	l.Rules = f.Rules
	names := map[[2]string]bool{}
	for i := range l.Rules {
		r := &l.Rules[i]
		err := r.compile()
		if key := [2]string{r.Tenant, r.Name}; err == nil && names[key] {
			err = errors.New("the name is there twice")
		} else {
			names[key] = true
		}
		if err != nil {
			return l, fmt.Errorf("%w: rule %d, %.100q: %w", ErrRule, i+1, r.Name, err)
		}
	}
	return l, nil
}

var (
	metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	labelName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
)

// compile checks a rule, and prepares it.
func (r *Rule) compile() error {
	err := cmp.Or(r.checkName(), r.checkType(), r.checkBy())
	if err != nil {
		return err
	}
	for name, text := range map[string]string{"help": r.Help, "selector": r.Selector, "function": r.Function} {
		if len(text) > maxText {
			return fmt.Errorf("%s: %d bytes, at most %d", name, len(text), maxText)
		}
	}
	if r.Tenant = cmp.Or(r.Tenant, profile.Anonymous); profile.CheckTenant(r.Tenant) != nil {
		return fmt.Errorf("tenant: %w", profile.CheckTenant(r.Tenant))
	}
	if r.sum.Selector, err = profile.ParseSelector(r.Selector); err != nil {
		return err
	}
	selection, err := question.ParseSelection(r.Selector)
	if err != nil {
		return fmt.Errorf("selector: %w", err)
	}
	if len(selection.Types) > 0 {
		return errors.New("selector: a type is chosen by type")
	}
	for _, m := range selection.Labels {
		if m.Pattern != nil && pattern.New(m.Pattern).Size() > maxSteps {
			return fmt.Errorf("selector: the pattern of %s has more than %d steps", m.Name, maxSteps)
		}
	}
	r.sum.By = r.By
	if r.Function == "" {
		return nil
	}
	if r.sum.Function, err = regexp.Compile(r.Function); err != nil {
		return fmt.Errorf("function: %w", err)
	}
	if pattern.New(r.sum.Function).Size() > maxSteps {
		return fmt.Errorf("function: a pattern of more than %d steps", maxSteps)
	}
	return nil
}

func (r *Rule) checkName() error {
	switch {
	case r.Name == "":
		return errors.New("name is missing")
	case len(r.Name) > maxName || !metricName.MatchString(r.Name):
		return fmt.Errorf("name: want one of Prometheus: letters, digits, _ and :, without a digit first, of at most %d bytes", maxName)
	}
	for _, own := range []string{"granary_", "go_", "process_", "promhttp_"} {
		if strings.HasPrefix(r.Name, own) {
			return fmt.Errorf("name: names that begin with %s are the server's own", own)
		}
	}
	return nil
}

// checkType tells a gauge from a counter by its type, whose name says so.
func (r *Rule) checkType() error {
	switch {
	case r.Type == "":
		return errors.New("type is missing, such as cpu")
	case len(r.Type) > maxText:
		return fmt.Errorf("type: %d bytes, at most %d", len(r.Type), maxText)
	case !question.IsShort(r.Type):
		return fmt.Errorf(`type: want a name such as cpu or inuse_space:bytes; the selector {__name__="process_cpu"} chooses the kind`)
	}
	sample, _, _ := strings.Cut(strings.TrimSpace(r.Type), ":")
	r.isGauge = profile.Type{Sample: profile.KnownSample(sample)}.IsGauge()
	switch isTotal := strings.HasSuffix(r.Name, "_total"); {
	case r.isGauge && isTotal:
		return fmt.Errorf("name: %s is a gauge, whose name does not end in _total", sample)
	case !r.isGauge && !isTotal:
		return fmt.Errorf("name: %s is a counter, whose name ends in _total", sample)
	}
	return nil
}

func (r *Rule) checkBy() error {
	if len(r.By) > maxBy {
		return fmt.Errorf("by: %d labels, at most %d", len(r.By), maxBy)
	}
	r.labels = nil
	for _, name := range r.By {
		label := profile.UnderscoreLabel(name)
		switch {
		case len(name) > maxName || !labelName.MatchString(label):
			return fmt.Errorf("by: %.100q is no name of a label", name)
		case strings.HasPrefix(label, "__") || label == tenantLabel:
			return fmt.Errorf("by: %s is a label of Prometheus or of the server", name)
		case name == profile.ColumnTraceID || name == profile.ColumnSpanID || name == "profile_id":
			return fmt.Errorf("by: %s has a value of its own in each request", name)
		case slices.Contains(r.labels, label):
			return fmt.Errorf("by: %s is there twice", label)
		}
		r.labels = append(r.labels, label)
	}
	return nil
}

// isEqual reports whether two rules ask the same, so that one can go on with the values of the other.
func (r *Rule) isEqual(o *Rule) bool {
	return r.Name == o.Name && r.Tenant == o.Tenant && r.Type == o.Type && r.Selector == o.Selector && r.Function == o.Function && slices.Equal(r.By, o.By)
}

// Of returns the rules of a tenant.
func (l List) Of(tenant string) List {
	own := List{Interval: l.Interval}
	for _, r := range l.Rules {
		if r.Tenant == tenant {
			own.Rules = append(own.Rules, r)
		}
	}
	return own
}

// Tenants returns the tenants with rules, sorted.
func (l List) Tenants() (names []string) {
	for _, r := range l.Rules {
		names = append(names, r.Tenant)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// tenantLabel is the label of the samples of other tenants than Anonymous.
const tenantLabel = "tenant"
