package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestPictures makes the pictures of the documentation, and with -update writes them.
func TestPictures(t *testing.T) {
	s := fleet(t)
	for name, p := range map[string]struct{ path, scheme string }{
		"page":            {`/?by=service_name&from=latest-2h`, "light"},
		"page-difference": {`/?v=difference&q={service_name="etcd"}&from=latest-30m&bfrom=latest-90m&bto=latest-60m`, "dark"},
	} {
		b := open(t, s, p.path)
		b.colours(p.scheme)
		run(b, chromedp.EmulateViewport(1280, 720))
		b.ready("document.querySelector('.total') && document.fonts.status === 'loaded' && document.querySelectorAll('.legend tbody tr').length > 0")
		data := few(t, run(b, chromedp.FullScreenshot(100)))
		if len(data) > 150_000 {
			t.Errorf("%s has %d bytes, at most 150,000", name, len(data))
		}
		if *update {
			if err := os.WriteFile(filepath.Join("../../docs/pictures", name+".png"), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// few returns a picture with at most 256 colours: those of most pixels.
func few(t *testing.T, data []byte) []byte {
	t.Helper()
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[color.RGBA]int{}
	r := from.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			counts[color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	var all color.Palette
	for c := range counts {
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b color.Color) int {
		p, q := a.(color.RGBA), b.(color.RGBA)
		if n := counts[q] - counts[p]; n != 0 {
			return n
		}
		return bytes.Compare([]byte{p.R, p.G, p.B}, []byte{q.R, q.G, q.B})
	})
	to := image.NewPaletted(r, all[:min(256, len(all))])
	draw.Draw(to, r, from, r.Min, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}
