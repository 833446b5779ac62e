package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/granarydb/granary/bench/trees/sht"
)

// kind is one of the trees, with blocks of a size.
type kind struct {
	name string
	sht.Options
}

var kinds = []kind{
	{"SHT", sht.Options{Kind: sht.SHT}},
	{"oSHT", sht.Options{Kind: sht.OSHT}},
	{"eSHT", sht.Options{Kind: sht.ESHT}},
	{"R2", sht.Options{Kind: sht.R2}},
	{"R3", sht.Options{Kind: sht.R3}},
	{"R4", sht.Options{Kind: sht.R4}},
	{"vR", sht.Options{Kind: sht.VR}},
}

// sized returns the kind of a name with the size of its blocks behind it, as SHT@16K. Without one it is
// that of the papers.
func (k kind) sized(name string) (kind, error) {
	of, size, has := strings.Cut(name, "@")
	if of != k.name || !has {
		return k, nil
	}
	n, err := strconv.Atoi(strings.TrimSuffix(size, "K"))
	if err != nil || n < 4 || !strings.HasSuffix(size, "K") {
		return k, fmt.Errorf("%s: want a size of blocks in KiB, as %s@16K", name, of)
	}
	k.name, k.Size = name, n<<10
	return k, nil
}
