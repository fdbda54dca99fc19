package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// Result is everything a run found.
type Result struct {
	Machine      string
	DataSet      string
	Observations int64
	Mandates     int
	Began        time.Time
	Seconds      float64
	Quick        bool
	Seed         uint64
	Values       map[string]float64 // by their public key
	Ratios       []Ratio
	Tables       []*Table
	Growth       []Curve
	Missing      []string // what this run could not measure
}

// Ratio is a value with a target.
type Ratio struct {
	Key    string  `json:"key"`
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	Target float64 `json:"target,omitempty"`
	AtMost bool    `json:"atMost"` // the target is an upper bound
	Unit   string  `json:"unit"`
	Met    bool    `json:"met"`
	Note   string  `json:"note,omitempty"`
}

// Table is a comparison or a list of reads.
type Table struct {
	Title  string   `json:"title"`
	Note   string   `json:"note,omitempty"`
	Series []Series `json:"series"`
	Work   []Work   `json:"work,omitempty"`
}

// Work is what ClickHouse did for the statements of a table, by its query log.
type Work struct {
	Name      string  `json:"name"`
	Queries   int     `json:"queries"`
	ReadRows  float64 `json:"readRows"` // of one statement, the median
	ReadBytes float64 `json:"readBytes"`
	Marks     float64 `json:"marks"`
	Written   float64 `json:"written,omitempty"` // rows of all of them
	Memory    float64 `json:"memory"`
	Failed    int     `json:"failed"` // statements that were ended early or failed
	CPU       float64 `json:"cpu"`    // seconds of all of them
	Seconds   float64 `json:"seconds"`

	allRows float64 // read by all of them
}

// Curve shows how something grows.
type Curve struct {
	Title string `json:"title"`
	X     string `json:"x"`
	Y     string `json:"y"`
	Lines []Line `json:"lines"`
	LogX  bool   `json:"logX"`
}

// Line is one line of a curve.
type Line struct {
	Name   string  `json:"name"`
	Points []Point `json:"points"`
}

// Point is a point of a line, with its spread.
type Point struct {
	X    float64 `json:"x"`
	Y    float64 `json:"y"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// table adds a table, which has no series yet.
func (r *Result) table(title, note string) *Table {
	t := &Table{Title: title, Note: note}
	r.Tables = append(r.Tables, t)
	return t
}

// miss records, once, what this run could not measure.
func (r *Result) miss(what string) {
	if !slices.Contains(r.Missing, what) {
		r.Missing = append(r.Missing, what)
	}
}

// put records a value under its public key; target 0: none.
func (r *Result) put(key, what, unit string, s spread, target float64, atMost bool, note string) {
	r.Values[key] = s.value
	met := target == 0 || (atMost && s.value <= target) || (!atMost && s.value >= target)
	r.Ratios = append(r.Ratios, Ratio{
		Key: key, What: what, Value: s.value, Low: s.low, High: s.high, Target: target, AtMost: atMost, Unit: unit, Met: met, Note: note,
	})
}

// MarshalJSON writes one object: the values by key, and the details. Of those,
// what curves need is read into the fields of the same names.
func (r *Result) MarshalJSON() ([]byte, error) {
	all := map[string]any{
		"machine": r.Machine, "data_set": r.DataSet, "observations": r.Observations, "mandates": r.Mandates, "began": r.Began, "seconds": round3(r.Seconds), "quick": r.Quick, "seed": r.Seed,
		"ratios": r.Ratios, "comparisons": r.Tables, "growth": r.Growth, "not_measured": r.Missing,
	}
	for k, v := range maps.All(r.Values) {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			all[k] = round3(v)
		}
	}
	return json.Marshal(all)
}

func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

func number(v float64) string {
	switch a := math.Abs(v); {
	case a >= 100:
		return fmt.Sprintf("%.0f", v)
	case a >= 10:
		return fmt.Sprintf("%.1f", v)
	case a >= 0.1 || a == 0:
		return fmt.Sprintf("%.2f", v)
	default:
		return fmt.Sprintf("%.4f", v)
	}
}

func (r Ratio) spread() string {
	if r.Low == r.High {
		return ""
	}
	return number(r.Low) + " – " + number(r.High)
}

func (r Ratio) target() string {
	if r.Target == 0 {
		return ""
	}
	if r.AtMost {
		return "≤ " + number(r.Target)
	}
	return "≥ " + number(r.Target)
}

func (r Ratio) verdict() string {
	switch {
	case r.Target == 0:
		return ""
	case r.Met:
		return "met"
	}
	return "MISSED"
}

func grouped(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + " " + s[i:]
	}
	return s
}

func milliseconds(s float64) string {
	if s >= 1 {
		return fmt.Sprintf("%.2f s", s)
	}
	return fmt.Sprintf("%.1f ms", s*1000)
}
