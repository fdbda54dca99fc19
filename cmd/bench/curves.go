package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
)

// Forecast is a value of the largest data set as one would have predicted it from
// the smaller ones, and as it was measured.
type Forecast struct {
	Key, What, Unit     string
	Values              []float64 // by size, ascending; the last one is what was measured
	Predicted, Measured float64
}

// Off is how far the prediction was off, as a share of what was measured.
func (f Forecast) Off() float64 { return f.Predicted/f.Measured - 1 }

// readResults reads results that --json wrote, in the order of their size. Those
// of the same data set, with other parts, become one.
func readResults(files []string) (all []*Result, err error) {
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		r := new(Result)
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s is no result of bench --json: %w", name, err)
		}
		if r.Observations == 0 || r.Mandates == 0 {
			return nil, fmt.Errorf("%s does not say how large its data set was; measure it again", name)
		}
		same := slices.IndexFunc(all, func(o *Result) bool { return o.Observations == r.Observations && o.Mandates == r.Mandates })
		if same >= 0 {
			all[same].Ratios, all[same].Seconds = append(all[same].Ratios, r.Ratios...), all[same].Seconds+r.Seconds
			continue
		}
		all = append(all, r)
	}
	if len(all) < 2 {
		return nil, errors.New("curves need at least two results of data sets of different size")
	}
	slices.SortFunc(all, func(a, b *Result) int {
		if a.Observations != b.Observations {
			return int(a.Observations - b.Observations)
		}
		return a.Mandates - b.Mandates
	})
	return all, nil
}

// join returns one result of several of different size: a curve for each value
// that more than one of them has, by observations among those of as many
// mandates, and by mandates among those of as many observations.
func join(all []*Result) *Result {
	last := all[len(all)-1]
	r := &Result{Machine: last.Machine, Began: last.Began, Observations: last.Observations, Mandates: last.Mandates, Values: map[string]float64{}}
	var sets []string
	for _, one := range all {
		r.Seconds += one.Seconds
		sets = append(sets, fmt.Sprintf("%s observations and %d mandates (%s)", grouped(one.Observations), one.Mandates, one.Machine))
	}
	r.DataSet = "of several runs: " + strings.Join(sets, "; ")
	keys := map[string]bool{}
	for _, one := range all {
		for _, of := range one.Ratios {
			if keys[of.Key] {
				continue
			}
			keys[of.Key] = true
			sameMandates := func(o *Result) bool { return o.Mandates == last.Mandates }
			sameRows := func(o *Result) bool { return near(o.Observations, all[0].Observations) }
			r.grow(of, all, "observations", sameMandates, func(o *Result) float64 { return float64(o.Observations) })
			r.grow(of, all, "mandates", sameRows, func(o *Result) float64 { return float64(o.Mandates) })
		}
	}
	return r
}

// near is true for sizes that were asked for as the same: data sets are made of
// whole events.
func near(a, b int64) bool { return math.Abs(float64(a-b)) < 0.02*float64(b) }

// grow adds the curve of a value over the results that belong to it.
func (r *Result) grow(of Ratio, all []*Result, by string, belongs func(*Result) bool, x func(*Result) float64) {
	line := Line{Name: of.Key}
	for _, one := range all {
		at := slices.IndexFunc(one.Ratios, func(v Ratio) bool { return v.Key == of.Key })
		if at < 0 || !belongs(one) {
			continue
		}
		v := one.Ratios[at]
		line.Points = append(line.Points, Point{x(one), v.Value, v.Low, v.High})
	}
	if len(line.Points) > 1 && line.Points[0].X < line.Points[len(line.Points)-1].X {
		r.Growth = append(r.Growth, Curve{Title: of.What, X: by, Y: of.Unit, LogX: true, Lines: []Line{line}})
	}
}

// forecasts predicts each value of the largest data set from the two next smaller
// ones of as many mandates: a straight line over the logarithm of the
// observations, since an index grows deeper by the logarithm of what it holds.
func forecasts(all []*Result) (found []Forecast) {
	last := all[len(all)-1]
	var sizes []*Result
	for _, one := range all {
		if one.Mandates == last.Mandates {
			sizes = append(sizes, one)
		}
	}
	if len(sizes) < 3 {
		return nil
	}
	sizes = sizes[len(sizes)-3:]
	for _, of := range last.Ratios {
		f := Forecast{Key: of.Key, What: of.What, Unit: of.Unit, Measured: of.Value}
		for _, one := range sizes {
			if at := slices.IndexFunc(one.Ratios, func(v Ratio) bool { return v.Key == of.Key }); at >= 0 {
				f.Values = append(f.Values, one.Ratios[at].Value)
			}
		}
		if len(f.Values) < len(sizes) || f.Measured == 0 {
			continue
		}
		x := func(n int) float64 { return math.Log(float64(sizes[n].Observations)) }
		f.Predicted = f.Values[1] + (f.Values[1]-f.Values[0])*(x(2)-x(1))/(x(1)-x(0))
		found = append(found, f)
	}
	return found
}

// writeForecasts writes the predictions for a person.
func writeForecasts(w io.Writer, all []Forecast) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KEY\tSMALLEST\tNEXT\tPREDICTED\tMEASURED\tOFF\tWHAT")
	for _, f := range all {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s %s\t%+.0f %%\t%s\n", f.Key, number(f.Values[0]), number(f.Values[1]), number(f.Predicted), number(f.Measured), f.Unit, 100*f.Off(), f.What)
	}
	return t.Flush()
}
