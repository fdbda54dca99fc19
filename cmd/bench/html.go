package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strings"
)

// HTML returns a self-contained page with plots: no scripts, nothing to fetch.
func (r *Result) HTML() []byte {
	var b bytes.Buffer
	if err := page.Execute(&b, r); err != nil {
		panic("bench: report: " + err.Error()) // a mistake in the page
	}
	return b.Bytes()
}

//go:embed report.html
var report string

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"gauge": gauge, "bars": bars, "curve": curve, "number": number, "grouped": func(v float64) string { return grouped(int64(v)) },
	"target": Ratio.target, "verdict": Ratio.verdict, "spread": Ratio.spread, "join": strings.Join,
	"targeted": func(r *Result, with bool) (some []Ratio) {
		for _, x := range r.Ratios {
			if (x.Target != 0) == with {
				some = append(some, x)
			}
		}
		return some
	},
	"timed": func(t Table) bool {
		return slices.ContainsFunc(t.Series, func(s Series) bool { return len(s.Seconds) > 0 })
	},
	"mega": func(n int64) string { return fmt.Sprintf("%.1f MB", float64(n)/1e6) },
}).Parse(report))

// gauge draws a value, its spread and its target on one scale.
func gauge(r Ratio) template.HTML {
	const w, h, y = 274.0, 42.0, 14.0
	top := 1.25 * max(r.Value, r.Target, min(r.High, 2*max(r.Value, r.Target)))
	x := func(v float64) float64 { return w * min(max(v, 0), top) / top }
	colour := "var(--good)"
	if !r.Met {
		colour = "var(--bad)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img"><rect x="0" y="%g" width="%g" height="6" rx="3" fill="var(--line)"/>`, w, h, y-3, w)
	fmt.Fprintf(&b, `<rect x="0" y="%g" width="%.1f" height="6" rx="3" fill="%s"/>`, y-3, x(r.Value), colour)
	if r.Low < r.High {
		fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%g" y2="%g" stroke="var(--ink)" stroke-width="1.5" opacity=".55"/>`, x(r.Low), x(r.High), y, y)
	}
	fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="4" y2="24" stroke="var(--ink)" stroke-width="1.5"/>`, x(r.Target), x(r.Target))
	fmt.Fprintf(&b, `<text class="soft" x="%.1f" y="37" text-anchor="middle">%s</text></svg>`, min(max(x(r.Target), 24), w-24), template.HTMLEscapeString(r.target()))
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
}

var colours = []string{"var(--ours)", "var(--other)", "var(--third)"}

// bars draws the series of a table with whiskers.
func bars(t Table) template.HTML {
	const w, left, right, row = 1000.0, 330.0, 190.0, 30.0
	top := 0.0
	for _, s := range t.Series {
		top = max(top, s.Greatest())
	}
	x := func(v float64) float64 { return left + (w-left-right)*v/top }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img">`, w, row*float64(len(t.Series))+6)
	several := len(t.Series) <= len(colours)
	for i, s := range t.Series {
		y := row*float64(i) + 18
		colour := colours[0]
		if several {
			colour = colours[i]
		}
		fmt.Fprintf(&b, `<text x="%g" y="%g" text-anchor="end">%s</text>`, left-12, y+4, template.HTMLEscapeString(s.Name))
		fmt.Fprintf(&b, `<rect x="%g" y="%g" width="%.1f" height="16" rx="3" fill="%s"/>`, left, y-8, max(1, x(s.Median())-left), colour)
		fmt.Fprintf(&b, `<path d="M%.1f %gH%.1fM%.1f %gv8M%.1f %gv8" stroke="var(--ink)" opacity=".6" fill="none"/>`, x(s.Least()), y, x(s.Greatest()), x(s.Least()), y-4, x(s.Greatest()), y-4)
		label := milliseconds(s.Median())
		if s.Rows > 0 && s.Rate() >= 1 {
			label += " · " + rate(s.Rate())
		}
		fmt.Fprintf(&b, `<text class="soft" x="%.1f" y="%g">%s</text>`, x(s.Greatest())+10, y+4, label)
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
}

func rate(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.2f M rows/s", v/1e6)
	case v >= 1e3:
		return fmt.Sprintf("%.0f k rows/s", v/1e3)
	}
	return fmt.Sprintf("%.0f rows/s", v)
}

// curve draws lines with whiskers over axes from zero.
func curve(c Curve) template.HTML {
	const w, h, left, right, top, bottom = 1000.0, 300.0, 64.0, 30.0, 28.0, 44.0
	maxX, maxY, minX := 0.0, 0.0, math.Inf(1)
	for _, l := range c.Lines {
		for _, p := range l.Points {
			maxX, maxY, minX = max(maxX, p.X), max(maxY, p.High), min(minX, p.X)
		}
	}
	if maxX == 0 || maxY == 0 {
		return ""
	}
	step := niceStep(maxY / 5)
	maxY = step * math.Ceil(maxY/step*1.02)
	x := func(v float64) float64 { return left + (w-left-right)*v/maxX }
	if c.LogX {
		low, high := math.Log10(minX)-0.1, math.Log10(maxX)+0.1
		x = func(v float64) float64 { return left + (w-left-right)*(math.Log10(v)-low)/(high-low) }
	}
	y := func(v float64) float64 { return h - bottom - (h-top-bottom)*v/maxY }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %g %g" role="img">`, w, h)
	for v := 0.0; v <= maxY*1.001; v += step {
		fmt.Fprintf(&b, `<line x1="%g" x2="%g" y1="%.1f" y2="%.1f" stroke="var(--line)"/><text class="soft" x="%g" y="%.1f" text-anchor="end">%s</text>`, left, w-right, y(v), y(v), left-8, y(v)+4, short(v))
	}
	fmt.Fprintf(&b, `<text class="soft" x="%g" y="14" text-anchor="end">%s</text>`, left-8, template.HTMLEscapeString(c.Y))
	var ticks []float64
	if c.LogX {
		for e := math.Floor(math.Log10(minX)); e <= math.Ceil(math.Log10(maxX)); e++ {
			for _, m := range []float64{1, 2, 5} {
				if v := m * math.Pow(10, e); v >= minX*0.8 && v <= maxX*1.25 {
					ticks = append(ticks, v)
				}
			}
		}
	} else {
		for v, s := 0.0, niceStep(maxX/8); v <= maxX*1.001; v += s {
			ticks = append(ticks, v)
		}
	}
	for _, v := range ticks {
		fmt.Fprintf(&b, `<text class="soft" x="%.1f" y="%g" text-anchor="middle">%s</text>`, x(v), h-bottom+18, short(v))
	}
	fmt.Fprintf(&b, `<text class="soft" x="%g" y="%g" text-anchor="end">%s</text>`, w-right, h-6, template.HTMLEscapeString(c.X))
	for i, l := range c.Lines {
		colour := colours[i%len(colours)]
		var path strings.Builder
		for n, p := range l.Points {
			fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(n, 1)], x(p.X), y(p.Y))
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2.5" stroke-linejoin="round"/>`, path.String(), colour)
		if len(l.Points) <= 20 {
			for _, p := range l.Points {
				fmt.Fprintf(&b, `<line x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f" stroke="%s" opacity=".6"/><circle cx="%.1f" cy="%.1f" r="4" fill="%s"/>`, x(p.X), x(p.X), y(p.Low), y(p.High), colour, x(p.X), y(p.Y), colour)
			}
		}
		fmt.Fprintf(&b, `<rect x="%g" y="5" width="12" height="12" rx="3" fill="%s"/><text x="%g" y="15">%s</text>`, left+20+float64(i)*260, colour, left+38+float64(i)*260, template.HTMLEscapeString(l.Name))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) //nolint:gosec // numbers and escaped texts
}

func niceStep(v float64) float64 {
	scale := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*scale >= v {
			return m * scale
		}
	}
	return v
}

func short(v float64) string {
	switch {
	case v >= 1e6:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v/1e6), ".0") + " M"
	case v >= 1e4:
		return fmt.Sprintf("%.0f k", v/1e3)
	case v >= 10 || v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2g", v)
}
