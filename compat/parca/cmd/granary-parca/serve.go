package main

import (
	"context"
	"embed"
	"errors"
	"net"
	"net/http"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/go-kit/log"
	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	profilestorepb "github.com/parca-dev/parca/gen/proto/go/parca/profilestore/v1alpha1"
	querypb "github.com/parca-dev/parca/gen/proto/go/parca/query/v1alpha1"
	"github.com/parca-dev/parca/pkg/demangle"
	"github.com/parca-dev/parca/pkg/kv"
	"github.com/parca-dev/parca/pkg/parcacol"
	"github.com/parca-dev/parca/pkg/profile"
	"github.com/parca-dev/parca/pkg/profilestore"
	"github.com/parca-dev/parca/pkg/query"
	"github.com/parca-dev/parca/pkg/server"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace/noop"
	otlppb "go.opentelemetry.io/proto/otlp/collector/profiles/v1development"
	"google.golang.org/grpc"

	"github.com/granarydb/granary/columnstore"
	"github.com/granarydb/granary/compat/parca"
)

// page is what a browser gets instead of Parca's page, which is not in its module.
//
//go:embed index.html
var page embed.FS

// Times for requests and for those under way at the end.
const (
	requestTime  = time.Minute
	shutdownTime = 10 * time.Second
)

// serve serves Parca's API on a store until ctx ends. It has ended all requests when it returns.
func serve(ctx context.Context, store *columnstore.Store, addr string, origins []string, logger log.Logger) error {
	write, ask, err := services(store, logger)
	if err != nil {
		return err
	}
	gateway, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the gateway's connections outlive requests
	defer cancel()
	s := server.NewServer(prometheus.NewRegistry(), "granary")
	failed := make(chan error, 1)
	go func() {
		failed <- s.ListenAndServe(gateway, logger, page, addr, requestTime, requestTime, origins, "", register(write, ask))
	}()
	if err := await(ctx, addr, failed); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer stop()
	if err = s.Shutdown(ending); errors.Is(err, context.DeadlineExceeded) {
		err = s.Close()
	}
	if ended := <-failed; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// await returns when the server listens, or with the error that prevents it. Parca's server can be shut
// down only from then on.
func await(ctx context.Context, addr string, failed <-chan error) error {
	for {
		select {
		case err := <-failed:
			return err
		default:
		}
		var d net.Dialer
		conn, err := d.DialContext(context.WithoutCancel(ctx), "tcp", addr)
		if err == nil {
			return conn.Close()
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// services returns the services that write into a store and answer from it.
func services(store *columnstore.Store, logger log.Logger) (*writer, *asker, error) {
	table, err := parca.Open(store)
	if err != nil {
		return nil, nil, err
	}
	schema, err := profile.Schema()
	if err != nil {
		return nil, nil, err
	}
	demangler, err := demangle.NewDefaultDemangler()
	if err != nil {
		return nil, nil, err
	}
	tracer := noop.NewTracerProvider().Tracer("")
	write := profilestore.NewProfileColumnStore(prometheus.NewRegistry(), logger, tracer, table, schema, memory.DefaultAllocator)
	ask := query.NewColumnQueryAPI(logger, tracer, nil, parca.NewQuerier(table, nil, demangler), memory.DefaultAllocator,
		parcacol.NewArrowToProfileConverter(tracer, kv.NewKeyMaker()), noSources{})
	return &writer{ProfileColumnStore: write}, &asker{ColumnQueryAPI: ask}, nil
}

// register returns a function that registers the services for gRPC, and for JSON over HTTP.
func register(write *writer, ask *asker) server.RegisterableFunc {
	return func(ctx context.Context, srv *grpc.Server, mux *runtime.ServeMux, endpoint string, opts []grpc.DialOption) error {
		profilestorepb.RegisterProfileStoreServiceServer(srv, write)
		profilestorepb.RegisterAgentsServiceServer(srv, write)
		otlppb.RegisterProfilesServiceServer(srv, write)
		querypb.RegisterQueryServiceServer(srv, ask)
		for _, add := range []func(context.Context, *runtime.ServeMux, string, []grpc.DialOption) error{
			profilestorepb.RegisterProfileStoreServiceHandlerFromEndpoint,
			profilestorepb.RegisterAgentsServiceHandlerFromEndpoint,
			querypb.RegisterQueryServiceHandlerFromEndpoint,
		} {
			if err := add(ctx, mux, endpoint, opts); err != nil {
				return err
			}
		}
		return nil
	}
}
