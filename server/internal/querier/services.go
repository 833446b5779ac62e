package querier

import (
	"context"
	"net/http"
	"runtime"
	"runtime/debug"
	"strings"

	"connectrpc.com/connect"
	adhocv1 "github.com/grafana/pyroscope/api/gen/proto/go/adhocprofiles/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/adhocprofiles/v1/adhocprofilesv1connect"
	capabilitiesv1 "github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1/capabilitiesv1connect"
	settingsv1 "github.com/grafana/pyroscope/api/gen/proto/go/settings/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/settings/v1/settingsv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/vcs/v1/vcsv1connect"
	versionv1 "github.com/grafana/pyroscope/api/gen/proto/go/version/v1"
	"github.com/grafana/pyroscope/api/gen/proto/go/version/v1/versionv1connect"

	"github.com/granarydb/granary/server/internal/fault"
	"github.com/granarydb/granary/server/internal/web"
)

// serviceRoutes returns the handlers of the services that Grafana's Profiles Drilldown and probes ask beside the querier. What
// this server does not keep is listed as nothing. All else about it is refused, because an empty answer would say that it was
// kept or found.
func serviceRoutes() []web.Route {
	routes := []web.Route{{Pattern: "GET /api/v1/status/buildinfo", Name: "/api/v1/status/buildinfo", Handler: web.Handler(getBuildInfo)}}
	for name, why := range map[string]string{
		settingsv1connect.SettingsServiceName:          "settings are not kept: clients have defaults of their own",
		settingsv1connect.RecordingRulesServiceName:    "there are no recording rules: ask SelectSeries for values over time",
		vcsv1connect.VCSServiceName:                    "repositories are not read: link to them by the lines in a profile",
		adhocprofilesv1connect.AdHocProfileServiceName: "profiles are not uploaded to look at: push them, or run granary view FILE",
		capabilitiesv1connect.FeatureFlagsServiceName:  "there are no further methods",
		versionv1connect.VersionName:                   "there are no further methods",
	} {
		routes = append(routes, web.Route{Pattern: "/" + name + "/", Name: name, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			web.Refuse(w, r, true, fault.Refused("%s: %s", r.URL.Path, why))
		})})
	}
	return append(routes,
		service[settingsv1.GetSettingsRequest](settingsv1connect.SettingsServiceGetProcedure, &settingsv1.GetSettingsResponse{}),
		service[settingsv1.ListRecordingRulesRequest](settingsv1connect.RecordingRulesServiceListRecordingRulesProcedure, &settingsv1.ListRecordingRulesResponse{}),
		service[adhocv1.AdHocProfilesListRequest](adhocprofilesv1connect.AdHocProfileServiceListProcedure, &adhocv1.AdHocProfilesListResponse{}),
		service[capabilitiesv1.GetFeatureFlagsRequest](capabilitiesv1connect.FeatureFlagsServiceGetFeatureFlagsProcedure, &capabilitiesv1.GetFeatureFlagsResponse{}),
		service[versionv1.VersionRequest](versionv1connect.VersionVersionProcedure, &versionv1.VersionResponse{QuerierAPI: 1}))
}

// service returns the handler of a method that has the same answer to every request.
func service[Q, A any](procedure string, answer *A) web.Route {
	h := connect.NewUnaryHandler(procedure, func(context.Context, *connect.Request[Q]) (*connect.Response[A], error) {
		return connect.NewResponse(answer), nil
	}, web.ConnectOptions(maxQuestion, maxQuestionMessages)...)
	name, _, _ := strings.Cut(procedure[1:], "/")
	return web.Route{Pattern: procedure, Name: name, Handler: web.Speaks(h, nil)}
}

// buildInfo is an answer of Prometheus' API about the program.
type buildInfo struct {
	Status string        `json:"status"`
	Data   buildInfoData `json:"data"`
}

type buildInfoData struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	Branch    string `json:"branch"`
	BuildUser string `json:"buildUser"`
	BuildDate string `json:"buildDate"`
	GoVersion string `json:"goVersion"`
}

// getBuildInfo handles GET /api/v1/status/buildinfo.
func getBuildInfo(w http.ResponseWriter, r *http.Request) error {
	out := buildInfo{Status: "success", Data: buildInfoData{GoVersion: runtime.Version()}}
	if info, ok := debug.ReadBuildInfo(); ok {
		out.Data.Version = info.Main.Version
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				out.Data.Revision = s.Value
			case "vcs.time":
				out.Data.BuildDate = s.Value
			}
		}
	}
	const most = 64 << 10
	return web.SendJSON(w, r, most, out)
}
