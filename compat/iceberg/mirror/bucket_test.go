package mirror

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/io/gocloud/blobfs"
	_ "github.com/apache/iceberg-go/io/gocloud/s3" // for s3:// URLs
)

var s3Endpoint = flag.String("s3.endpoint", "", "the `URL` of an S3 with a bucket named granary; AWS_ACCESS_KEY_ID and so on are of the environment")

// TestBucket asks an S3, which s3.run starts.
func TestBucket(t *testing.T) {
	if *s3Endpoint == "" {
		t.Skip("there is no -s3.endpoint")
	}
	props := map[string]string{iceio.S3EndpointURL: *s3Endpoint, iceio.S3Region: "us-east-1"}
	files, err := iceio.LoadFS(context.Background(), props, "s3://granary/x")
	if err != nil {
		t.Fatal(err)
	}
	blobs, ok := files.(*blobfs.FileIO)
	if !ok {
		t.Fatalf("%T", files)
	}
	checkObjects(t, Bucket(blobs.Bucket, fmt.Sprintf("objects-%d/", time.Now().UnixNano())))
}
