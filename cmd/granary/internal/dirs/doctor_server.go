package dirs

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
)

// server looks at a server.
func (d *diagnosis) server(cmd *cobra.Command, address, tokenFile string) error {
	at, err := cli.ServerURL("server", address)
	if err != nil {
		return err
	}
	token, err := cli.ReadToken("token-file", tokenFile)
	if err != nil {
		return err
	}
	status, text, err := get(cmd, at.JoinPath("readyz"), token)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		d.wrong("it is not ready: "+firstLine(text), "clients are sent elsewhere until it is")
	}
	status, text, err = get(cmd, at.JoinPath("metrics"), token)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("%s: the server answers %d: %s", at.Redacted(), status, firstLine(text))
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil || families["granary_panics_total"] == nil {
		return fmt.Errorf("%s: the answer to /metrics is none of granary serve", at.Redacted())
	}
	d.metrics(metrics(families), time.Now())
	return nil
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return cli.Printable(line)
}

// get returns a server's answer.
func get(cmd *cobra.Command, at *url.URL, token string) (status int, text string, err error) {
	resp, err := ask(cmd, http.MethodGet, at, token)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	const most = 64 << 20
	body, err := io.ReadAll(io.LimitReader(resp.Body, most))
	if err != nil {
		return 0, "", fmt.Errorf("%s: %w", at.Redacted(), err)
	}
	return resp.StatusCode, string(body), nil
}

// metrics are a server's metrics by name.
type metrics map[string]*dto.MetricFamily

// sum returns the sum of a metric's values, of those with a value of a label if one is given.
func (m metrics) sum(name string, label ...string) (sum float64) {
	for _, one := range m[name].GetMetric() {
		if len(label) == 2 && labelOf(one, label[0]) != label[1] {
			continue
		}
		sum += one.GetGauge().GetValue() + one.GetCounter().GetValue() + one.GetUntyped().GetValue()
	}
	return sum
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

// over returns the share of a histogram's values that are greater than a bound of its buckets.
func (m metrics) over(name string, bound float64) float64 {
	for _, one := range m[name].GetMetric() {
		h := one.GetHistogram()
		for _, b := range h.GetBucket() {
			if b.GetUpperBound() >= bound && h.GetSampleCount() > 0 {
				return 1 - float64(b.GetCumulativeCount())/float64(h.GetSampleCount())
			}
		}
	}
	return 0
}

// metrics looks at a server's metrics. docs/serving.md has the same as alerts.
func (d *diagnosis) metrics(m metrics, now time.Time) {
	bytes := func(name string) string { return cli.Size(int64(m.sum(name))) }
	up := now.Sub(time.UnixMilli(int64(1000 * m.sum("process_start_time_seconds")))).Round(time.Second)
	d.fact("up %s, %s of memory, %s in files, %s of log", up, bytes("process_resident_memory_bytes"), bytes("granary_store_file_bytes"), bytes("granary_store_log_bytes"))
	d.fact("%s, %s pushed since the start", cli.Many(int64(m.sum("granary_store_rows")), "row"), cli.Many(int64(m.sum("granary_push_profiles_total")), "profile"))
	for _, one := range m["granary_tenant_rows"].GetMetric() {
		tenant := labelOf(one, "tenant")
		d.fact("tenant %s: %s, %s of rows in files", cli.Printable(tenant), cli.Many(int64(one.GetGauge().GetValue()), "row"), cli.Size(int64(m.sum("granary_tenant_file_bytes", "tenant", tenant))))
	}
	if m.sum("granary_store_filing_failed") > 0 {
		d.wrong("files cannot be written", "look at the disk and at the log: in the end pushes are refused")
	}
	if n := m.sum("granary_panics_total"); n > 0 {
		d.wrong(cli.Many(int64(n), "panic"), "a fault of Granary: the log has the stacks")
	}
	for _, cause := range []struct{ name, remedy string }{
		{"disk", "the disk is full or fails: see --disk"}, {"memory", "see --memory"}, {"internal", "a fault of Granary: the log has the errors"},
	} {
		if n := m.sum("granary_http_failures_total", "cause", cause.name); n > 0 {
			d.wrong(fmt.Sprintf("%s failed for the cause %s", cli.Many(int64(n), "request"), cause.name), cause.remedy)
		}
	}
	if share := m.over("granary_store_log_sync_seconds", .5); share > .01 {
		d.wrong(fmt.Sprintf("%.0f %% of the syncs of the log take half a second or more", 100*share), "the disk is slow: see --sync")
	}
	if open, most := m.sum("process_open_fds"), m.sum("process_max_fds"); most > 0 && open > .8*most {
		d.wrong(fmt.Sprintf("%.0f of %.0f files are open", open, most), "raise the limit (ulimit -n)")
	}
	for _, n := range []struct{ name, what, remedy string }{
		{"granary_store_disk_dropped_rows_total", "were dropped for the disk budget", "--disk holds less than --retention"},
		{"granary_store_evicted_rows_total", "were evicted for the memory budget", "--in-memory holds what --memory does"},
	} {
		if rows := m.sum(n.name); rows > 0 {
			d.note(cli.Many(int64(rows), "row")+" "+n.what, n.remedy)
		}
	}
	if n := m.sum("granary_http_failures_total", "cause", "limit"); n > 0 {
		d.note(cli.Many(int64(n), "request")+" exceeded a limit", "the log names the limits")
	}
	if up > time.Hour && m.sum("granary_push_profiles_total") == 0 {
		d.note("no profile came since the start", "look at the clients: docs/serving.md has what they need")
	}
}
