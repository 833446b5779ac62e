// Command build bundles the page: the files of src and vendor become those of dist, whose names have a hash of their
// content. The same sources give the same bytes in every folder. go generate in server/ui runs it, in the folder compat.
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

func main() {
	if err := run(filepath.Join("..", "server", "ui")); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

// run checks the vendored files of a folder and makes its dist.
func run(root string) error {
	if err := checkVendor(root); err != nil {
		return err
	}
	outputs, err := bundle(root)
	if err != nil {
		return err
	}
	page, err := os.ReadFile(filepath.Join(root, "src", "index.html"))
	if err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	if err := os.MkdirAll(dist, 0o755); err != nil {
		return err
	}
	text := string(page)
	for _, out := range outputs {
		name := filepath.Base(out.Path)
		base, _, _ := strings.Cut(name, "-")
		text = strings.ReplaceAll(text, base+filepath.Ext(name), name)
		if err := os.WriteFile(filepath.Join(dist, name), out.Contents, 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dist, "index.html"), []byte(text), 0o644)
}

// bundle returns the files that the page loads. The first script is no module: a module waits for the styles.
func bundle(root string) ([]api.OutputFile, error) {
	first, errFirst := bundled(root, api.FormatIIFE, [2]string{"first.ts", "first"})
	rest, err := bundled(root, api.FormatESModule, [2]string{"main.tsx", "app"}, [2]string{"style.css", "style"}, [2]string{"icon.svg", "icon"})
	return append(first, rest...), errors.Join(errFirst, err)
}

// bundled returns the files of some sources, each with its name in dist.
func bundled(root string, format api.Format, sources ...[2]string) ([]api.OutputFile, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var entries []api.EntryPoint
	for _, s := range sources {
		entries = append(entries, api.EntryPoint{InputPath: filepath.Join(root, "src", s[0]), OutputPath: s[1]})
	}
	result := api.Build(api.BuildOptions{
		AbsWorkingDir: root, EntryPointsAdvanced: entries,
		EntryNames: "[name]-[hash]", Outdir: filepath.Join(root, "dist"),
		NodePaths: []string{filepath.Join(root, "vendor")},
		Bundle:    true, MinifyWhitespace: true, MinifyIdentifiers: true, MinifySyntax: true,
		Format: format, Target: api.ES2022, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsInline,
		JSX: api.JSXAutomatic, JSXImportSource: "preact",
		Loader: map[string]api.Loader{".svg": api.LoaderCopy},
	})
	var all []error
	for _, m := range append(result.Errors, result.Warnings...) {
		where := ""
		if m.Location != nil {
			where = fmt.Sprintf("%s:%d: ", m.Location.File, m.Location.Line)
		}
		all = append(all, errors.New(where+m.Text))
	}
	return result.OutputFiles, errors.Join(all...)
}

// checkVendor returns an error unless the vendored files are those of vendor.sha256, and no others.
func checkVendor(root string) error {
	list, err := os.Open(filepath.Join(root, "vendor.sha256"))
	if err != nil {
		return err
	}
	defer list.Close()
	known := map[string]bool{}
	for lines := bufio.NewScanner(list); lines.Scan(); {
		want, name, _ := strings.Cut(lines.Text(), "  ")
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("%s is not the file of vendor.sha256", name)
		}
		known[name] = true
	}
	return filepath.WalkDir(filepath.Join(root, "vendor"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err == nil && !known[filepath.ToSlash(name)] {
			err = fmt.Errorf("%s is not in vendor.sha256", name)
		}
		return err
	})
}
