package main

import (
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"

	"preismon/deploy/embedded"
	"preismon/query/explorer"
)

// uplot draws the charts of the explorer.
var uplot = embedded.Package{
	Name: "uplot", Version: uplotVersion,
	Integrity: "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
	Packed:    164_279, Unpacked: 52_938,
	Files: []string{"dist/" + explorer.ChartScript, "dist/" + explorer.ChartStyle},
	What:  "chart library", Instead: "do without charts in the explorer",
}

const uplotVersion = "1.6.32"

// fetchedCharts are the files of uPlot from the moment they are in the cache.
type fetchedCharts struct{ folder atomic.Pointer[fs.FS] }

// Open implements fs.FS.
func (f *fetchedCharts) Open(name string) (fs.File, error) {
	if folder := f.folder.Load(); folder != nil {
		return (*folder).Open(name)
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// fetchCharts gets uPlot from the cache, or into it, beside all else: nothing
// waits for charts.
func fetchCharts(l *lifecycle, log *slog.Logger) fs.FS {
	charts := &fetchedCharts{}
	l.run("charts", func(ctx context.Context) error {
		dir, err := embedded.PackageFiles(ctx, uplot, log)
		if err != nil {
			if ctx.Err() == nil {
				log.Warn("the explorer shows tables instead of charts", "error", err)
			}
			return nil
		}
		folder := os.DirFS(dir)
		charts.folder.Store(&folder)
		return nil
	})
	return charts
}

// chartsCmd puts the files where a query node without npm finds them.
type chartsCmd struct {
	Folder string `arg:"" help:"Folder for the files; made when missing." type:"path"`
}

func (c *chartsCmd) Run(ctx context.Context, std streams, log *slog.Logger) error {
	dir, err := embedded.PackageFiles(ctx, uplot, log)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(c.Folder, 0o755); err != nil {
		return err
	}
	for _, name := range []string{explorer.ChartScript, explorer.ChartStyle} {
		body, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(c.Folder, name), body, 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintf(std.out, "The files of uPlot %s are in %s.\n", uplotVersion, c.Folder)
	return nil
}
