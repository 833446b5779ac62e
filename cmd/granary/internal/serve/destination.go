package serve

import (
	"context"
	"io"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/granarydb/granary/cmd/granary/internal/cli"
	"github.com/granarydb/granary/server"
)

// TenantHeader names the tenant of a request.
const TenantHeader = server.TenantHeader

// destination is a server that a command sends to, and in whose name.
type destination struct {
	address, tokenFile string // flags
	tenant             string

	url   *url.URL
	token string
}

// add adds the flags to a command.
func (d *destination) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&d.address, "to", "", "the `URL` of the server, such as http://localhost:4040 or localhost:4040")
	cli.AddTenant(cmd.Flags(), &d.tenant, "push as the tenant `NAME`")
	cmd.Flags().StringVar(&d.tokenFile, "token-file", "", "a `FILE` with the token to push with")
}

// parse parses the flags.
func (d *destination) parse() (err error) {
	if d.url, err = cli.ServerURL("to", d.address); err == nil {
		d.token, err = cli.ReadToken("token-file", d.tokenFile)
	}
	return err
}

// request returns a POST of unmodified bytes to a URL on the server.
func (d *destination) request(ctx context.Context, to string, body io.Reader) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, body)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/octet-stream")
	if d.tenant != "" {
		req.Header.Set(TenantHeader, d.tenant)
	}
	if d.token != "" {
		req.Header.Set("Authorization", "Bearer "+d.token)
	}
	return req, nil
}
