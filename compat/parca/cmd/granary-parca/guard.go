package main

import (
	"context"

	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/profilestore"
	"github.com/parca-dev/parca/pkg/query"
	otlppb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// guard turns a panic into the request's error, because Parca v0.28.0 panics over some profiles, such as a
// profile without a period type, and its server would end with it.
func guard(err *error) {
	if r := recover(); r != nil {
		*err = status.Errorf(codes.InvalidArgument, "parca cannot handle the request: %v", r)
	}
}

// writer is Parca's write service, guarded.
type writer struct {
	*profilestore.ProfileColumnStore
}

func (w *writer) WriteRaw(ctx context.Context, req *profilestorepb.WriteRawRequest) (res *profilestorepb.WriteRawResponse, err error) {
	defer guard(&err)
	return w.ProfileColumnStore.WriteRaw(ctx, req)
}

func (w *writer) WriteArrow(ctx context.Context, req *profilestorepb.WriteArrowRequest) (res *profilestorepb.WriteArrowResponse, err error) {
	defer guard(&err)
	return w.ProfileColumnStore.WriteArrow(ctx, req)
}

func (w *writer) Write(stream profilestorepb.ProfileStoreService_WriteServer) (err error) {
	defer guard(&err)
	return w.ProfileColumnStore.Write(stream)
}

func (w *writer) Export(ctx context.Context, req *otlppb.ExportProfilesServiceRequest) (res *otlppb.ExportProfilesServiceResponse, err error) {
	defer guard(&err)
	return w.ProfileColumnStore.Export(ctx, req)
}

// asker is Parca's query service, guarded.
type asker struct{ *query.ColumnQueryAPI }

func (a *asker) Query(ctx context.Context, req *querypb.QueryRequest) (res *querypb.QueryResponse, err error) {
	defer guard(&err)
	return a.ColumnQueryAPI.Query(ctx, req)
}

func (a *asker) QueryRange(ctx context.Context, req *querypb.QueryRangeRequest) (res *querypb.QueryRangeResponse, err error) {
	defer guard(&err)
	return a.ColumnQueryAPI.QueryRange(ctx, req)
}

// ShareProfile refuses, because it would send a profile to another party's server.
func (a *asker) ShareProfile(context.Context, *querypb.ShareProfileRequest) (*querypb.ShareProfileResponse, error) {
	return nil, status.Error(codes.Unimplemented, "profiles are not shared")
}

// noSources finds no source.
type noSources struct{}

func (noSources) FindSource(context.Context, *querypb.SourceReference) (string, error) {
	return "", query.ErrNoSourceForBuildID
}

func (noSources) SourceExists(context.Context, *querypb.SourceReference) (bool, error) {
	return false, nil
}
