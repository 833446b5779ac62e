package render

import (
	"fmt"
	"math"

	"github.com/granarydb/granary/profile"
)

// frameColor returns a node's fill: the hue of its package, in a shade that depends on the function, which
// keeps neighbours in one package distinct.
func frameColor(node *profile.FlameNode) string {
	return packageColor(packageOf(node), hash(node.Name)%3)
}

// packageColor returns a light colour, #rrggbb, that depends only on the package and the shade (0 to 2): a
// package looks the same in every profile. Hues are ten degrees apart, so that two packages look either alike
// or different. Lightness and chroma are in OKLCH, because equal numbers look equally light there. Dark text
// is legible on all colours. Packages of the runtime and frames without a package are grey.
func packageColor(name string, shade uint32) string {
	lightness := 0.79 + 0.03*float64(shade)
	switch {
	case name == "" || isRuntime(name):
		return oklch(lightness+0.05, 0.005, 260)
	default:
		return oklch(lightness, 0.105, float64(hash(name)%36*10))
	}
}

// oklch converts a colour to sRGB with Ottosson's matrices, clamped to the gamut.
func oklch(lightness, chroma, hue float64) string {
	sin, cos := math.Sincos(hue * math.Pi / 180)
	a, b := chroma*cos, chroma*sin
	cube := func(v float64) float64 { return v * v * v }
	l := cube(lightness + 0.3963377774*a + 0.2158037573*b)
	m := cube(lightness - 0.1055613458*a - 0.0638541728*b)
	s := cube(lightness - 0.0894841775*a - 1.2914855480*b)
	return fmt.Sprintf("#%02x%02x%02x",
		gamma(+4.0767416621*l-3.3077115913*m+0.2309699292*s),
		gamma(-1.2684380046*l+2.6097574011*m-0.3413193965*s),
		gamma(-0.0041960863*l-0.7034186147*m+1.7076147010*s))
}

// gamma encodes one linear channel in eight bits.
func gamma(linear float64) int {
	linear = min(max(linear, 0), 1)
	if linear <= 0.0031308 {
		return int(math.Round(255 * 12.92 * linear))
	}
	return int(math.Round(255 * (1.055*math.Pow(linear, 1/2.4) - 0.055)))
}
