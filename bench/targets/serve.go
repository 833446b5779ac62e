package targets

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/granarydb/granary/bench/results"
)

// serve measures a server by this module's command serve, which builds it and loads it over HTTP.
func serve(o Options, c *collector) error {
	progress("a server, for %v and as fast as it answers", o.load)
	steady, err := load(o, "-duration", o.load.String())
	if err != nil {
		return err
	}
	c.add("serve-insert-p99", 0, steady.Push.P99/1e3)
	c.add("serve-query-p99", 0, steady.Ask.P99/1e3)
	c.details["serve-insert-p99"] = map[string]float64{
		"rows_s": steady.Rate, "rss_mib": steady.RSS, "noop_p99_ms": steady.Noop.P99 / 1e3,
	}
	most, err := load(o, "-most", "-duration", max(time.Second, o.load/4).String())
	if err != nil {
		return err
	}
	c.add("serve-rate", 0, most.Rate)
	return nil
}

// loaded is the used part of command serve's report.
type loaded struct {
	Rate float64           `json:"rows_s"`
	Push results.Latencies `json:"push"`
	Ask  results.Latencies `json:"ask_all"`
	Noop results.Latencies `json:"noop"`
	RSS  float64           `json:"server_rss_mib"`
}

// load runs command serve.
func load(o Options, args ...string) (l loaded, err error) {
	folder, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/granarydb/granary/bench").Output()
	if err != nil {
		return l, fmt.Errorf("find the folder of this module: %w", err)
	}
	cmd := exec.Command("go", append([]string{"run", "./serve", "-pods", strconv.Itoa(o.pods)}, args...)...)
	cmd.Dir, cmd.Stderr = string(folder[:len(folder)-1]), os.Stderr
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	if err != nil {
		return l, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	if err := json.Unmarshal(out, &l); err != nil {
		return l, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	return l, nil
}
