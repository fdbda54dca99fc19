package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// fileFlags select the file that a command writes, and its form.
type fileFlags struct {
	Format string `help:"Format of the file: ${enum}. auto: by the ending of its name, else NDJSON." enum:"auto,ndjson,csv,arrow,parquet" default:"auto" env:"-"`
	Output string `short:"o" help:"File to write; - is standard output." default:"-" env:"-" placeholder:"FILE"`
}

// decide replaces the format auto by that of the file.
func (f *fileFlags) decide() error {
	form, err := formOf(f.Format, f.Output)
	if err != nil {
		return faulty(err)
	}
	f.Format = form
	return nil
}

// checkTerminal refuses to write what no terminal can show to one.
func (f *fileFlags) checkTerminal(std streams) error {
	if f.Output == "-" && (f.Format == "arrow" || f.Format == "parquet") && isTerminal(std.out) {
		return faulty(fmt.Errorf("format: %s is not for terminals; name a file with --output", f.Format))
	}
	return nil
}

// formOf returns the form of a file by its format and the extension of its name,
// which must not contradict each other.
func formOf(format, name string) (string, error) {
	extension := strings.ToLower(filepath.Ext(name))
	ending := map[string]string{
		".ndjson": "ndjson", ".jsonl": "ndjson", ".csv": "csv", ".arrow": "arrow", ".arrows": "arrow", ".parquet": "parquet",
	}[extension]
	switch {
	case format == "auto" && slices.Contains([]string{".xlsx", ".xls", ".ods", ".json", ".tsv", ".txt", ".gz", ".zst", ".zip"}, extension):
		return "", fmt.Errorf("output: no format is called %s; name the file .ndjson, .csv, .arrow or .parquet, or say which --format it is", extension)
	case format == "auto" && ending == "":
		return "ndjson", nil
	case format == "auto":
		return ending, nil
	case ending != "" && ending != format:
		return "", fmt.Errorf("format: %s contradicts the name %s; leave one of them out", format, name)
	}
	return format, nil
}
