package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"preismon/contracts/openapi"
	"preismon/deploy/embedded"
	"preismon/query"
	"preismon/query/docs"
	"preismon/query/explorer"
	"preismon/query/look"
)

// explorerLibraries are what the explorer needs in addition to its own script.
var explorerLibraries = []struct {
	embedded.Package
	without string // what the explorer does without it
}{
	{embedded.Package{
		Name: "preact", Version: preactVersion,
		Integrity: "sha512-ej2aVZ+vZ8WO7tvlQWRM9N63A0KzF9q4mWJfDUHgYaIofWY9hu74QdnQrjoPMmZi2/nZ5gN0bJCQF49xQqx09Q==",
		Packed:    407_547, Unpacked: 11_693,
		Files: []string{"dist/" + explorer.ViewScript},
		What:  "view library", Instead: "do without the explorer",
	}, "the explorer shows nothing but that Preact is missing"},
	{embedded.Package{
		Name: "uplot", Version: uplotVersion,
		Integrity: "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
		Packed:    164_279, Unpacked: 52_938,
		Files: []string{"dist/" + explorer.ChartScript, "dist/" + explorer.ChartStyle},
		What:  "chart library", Instead: "do without charts in the explorer",
	}, "the explorer shows tables instead of charts"},
}

// explorerFilters are the filters of results, with what the contract says about
// each.
func explorerFilters() (all []explorer.Filter, err error) {
	described, err := openapi.Parameters("listResults")
	if err != nil {
		return nil, err
	}
	for _, p := range described {
		f := query.ResultsParameter(p.Name)
		if f.Kind != query.FilterParameter {
			continue
		}
		about := map[string]string{}
		for _, lang := range look.Languages {
			text, err := docs.Translated(lang, p.About)
			if err != nil {
				return nil, err
			}
			about[lang] = strings.ReplaceAll(text, "`", "")
		}
		all = append(all, explorer.Filter{Name: f.Name, Type: f.Type(), Values: f.Values, About: about})
	}
	return all, nil
}

const (
	preactVersion = "10.29.8"
	uplotVersion  = "1.6.32"
)

// fetchedAssets are the files of libraries, available as soon as they are in the cache.
type fetchedAssets struct{ folders sync.Map } // fs.FS by the name of a file

// Open implements fs.FS.
func (f *fetchedAssets) Open(name string) (fs.File, error) {
	if folder, ok := f.folders.Load(name); ok {
		return folder.(fs.FS).Open(name)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// fetchAssets finds the libraries of the explorer in the cache, or fetches them
// there, in the background: no part of the service waits for them. A page that
// is opened earlier waits by itself.
func fetchAssets(l *lifecycle, log *slog.Logger) fs.FS {
	assets := &fetchedAssets{}
	l.run("explorer assets", func(ctx context.Context) error {
		for _, library := range explorerLibraries {
			dir, err := embedded.PackageFiles(ctx, library.Package, log)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				log.Warn(library.without, "error", err)
				continue
			}
			for _, file := range library.Files {
				assets.folders.Store(path.Base(file), os.DirFS(dir))
			}
		}
		return nil
	})
	return assets
}

// assetsCmd puts the files where a query node without npm can find them.
type assetsCmd struct {
	Folder string `arg:"" help:"Folder for the files; created if it is missing." type:"path"`
}

func (c *assetsCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return err
	}
	for _, library := range explorerLibraries {
		dir, err := embedded.PackageFiles(ctx, library.Package, log)
		if err != nil {
			return err
		}
		for _, file := range library.Files {
			name := path.Base(file)
			body, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(c.Folder, name), body, 0o644); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(std.out, "The files of Preact %s and uPlot %s are in %s.\n", preactVersion, uplotVersion, c.Folder)
	return nil
}
