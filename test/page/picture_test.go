package page

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/holdfast-gitops/holdfast/api/v1alpha1"
)

var update = flag.Bool("update", false, "take the picture in docs/status.md again")

const picture = "../../docs/status-page.png"

// The picture is taken by hand, with -update, since no two machines draw letters alike.
func TestThePictureInTheDocumentationIsThereAndSmall(t *testing.T) {
	if *update {
		take(t)
	}
	content, err := os.ReadFile(picture)
	if err != nil {
		t.Fatal(err)
	}
	size, err := png.DecodeConfig(bytes.NewReader(content))
	if err != nil || size.Width != 1120 || len(content) > 150<<10 {
		t.Errorf("%v, %d wide, %d bytes", err, size.Width, len(content))
	}
}

// take takes the picture.
func take(t *testing.T) {
	t.Helper()
	shown := slices.DeleteFunc(fleet(t), func(f v1alpha1.FluxTrigger) bool {
		return !slices.Contains([]string{"payments", "shop", "checkout", "docs", "web"}, f.Name)
	})
	b := open(t, serve(t, shown...), "/", chromedp.EmulateViewport(1120, 900), media("prefers-color-scheme", "light"))
	b.live()
	get[int](b, row("team-shop/shop")+`.querySelector(".history").open = 1`)
	taken, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		t.Fatal(err)
	}
	full, err := png.Decode(bytes.NewReader(taken))
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, reduced(full)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(picture, small.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// reduced returns a picture in its 256 most frequent colours, which are nearly all it has.
func reduced(full image.Image) image.Image {
	count, bounds := map[color.Color]int{}, full.Bounds()
	for y := range bounds.Dy() {
		for x := range bounds.Dx() {
			count[full.At(x, y)]++
		}
	}
	palette := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int { return count[b] - count[a] })
	few := image.NewPaletted(bounds, palette[:min(len(palette), 256)])
	draw.Draw(few, bounds, full, bounds.Min, draw.Src)
	return few
}
