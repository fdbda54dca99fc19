package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"preismon/deploy/embedded"
)

// sqlEngine is a ClickHouse for this process only, with one table.
type sqlEngine struct {
	server *embedded.ClickHouse
	files  string     // the folder whose files its statements may name
	limits url.Values // of one statement
}

// limits are those of one statement, and the format of its answer.
func (c *sqlCmd) limits(std streams) url.Values {
	memory := c.Memory << 20
	return url.Values{
		"database":                           {embedded.DefaultDatabase},
		"default_format":                     {c.form(std)},
		"max_execution_time":                 {strconv.FormatFloat(c.Time.Seconds(), 'f', -1, 64)},
		"max_memory_usage":                   {strconv.FormatInt(memory, 10)},
		"max_bytes_before_external_group_by": {strconv.FormatInt(memory/2, 10)},
		"max_bytes_before_external_sort":     {strconv.FormatInt(memory/2, 10)},
		"max_result_rows":                    {strconv.FormatInt(c.Rows, 10)}, // 0: any number
		"wait_end_of_query":                  {"1"},                           // otherwise a failure comes in the middle of an answer with status 200
	}
}

// fill creates the table from a file, or from the files of a folder of days, and
// returns the number of its rows.
func (e *sqlEngine) fill(ctx context.Context, source string) (int64, error) {
	source, err := filepath.Abs(source)
	if err != nil {
		return 0, err
	}
	info, err := os.Stat(source)
	if err != nil {
		return 0, err
	}
	// By a name of our own: theirs may contain characters that have a meaning in
	// a pattern.
	name, first := "results"+filepath.Ext(source), source
	if info.IsDir() {
		days, err := filepath.Glob(filepath.Join(source, "day=*", "rows.*"))
		if err != nil || len(days) == 0 {
			return 0, errors.Join(err, fmt.Errorf("%s is no folder of days; `preismon export --split day -o %s` writes one", source, quoteShell(source)))
		}
		name, first = "results/day=*/rows"+filepath.Ext(days[0]), days[0]
	}
	form, err := inputForm(first)
	if err != nil {
		return 0, err
	}
	link, _, _ := strings.Cut(name, "/")
	if err := os.Symlink(source, filepath.Join(e.files, link)); err != nil {
		return 0, err
	}
	err = e.server.Run(ctx, embedded.AdminUser, "CREATE TABLE results ENGINE = MergeTree ORDER BY tuple() AS SELECT * FROM file({path:String}, {form:String})",
		url.Values{"database": {embedded.DefaultDatabase}, "param_path": {filepath.Join(e.files, name)}, "param_form": {form}}, io.Discard)
	var count strings.Builder
	if err == nil {
		err = e.server.Run(ctx, embedded.AdminUser, "SELECT count() FROM results", url.Values{"database": {embedded.DefaultDatabase}}, &count)
	}
	if err != nil {
		return 0, fmt.Errorf("%s: %w", source, plainly(err))
	}
	return strconv.ParseInt(strings.TrimSpace(count.String()), 10, 64)
}

// inputForm returns ClickHouse's name for the form of a file, or "auto": it takes
// the form from the extension, but .arrow is for it what begins with a magic word,
// and no stream.
func inputForm(name string) (string, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".arrow", ".arrows":
	default:
		return "auto", nil
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close() //nolint:errcheck // was only read
	magic := make([]byte, len("ARROW1"))
	if _, err := io.ReadFull(f, magic); err == nil && string(magic) == "ARROW1" {
		return "Arrow", nil
	}
	return "ArrowStream", nil
}

// ask writes the answer of a statement. Its user may read the table, and nothing else.
func (e *sqlEngine) ask(ctx context.Context, statement string, to io.Writer) error {
	return plainly(e.server.Run(ctx, embedded.QueryUser, statement, e.limits, to))
}

var (
	exceptionName = regexp.MustCompile(`^Code: \d+\. DB::\w+: `)
	expectedList  = regexp.MustCompile(` Expected one of: [^()]*?\.? \(SYNTAX_ERROR\)`)
	serverVersion = regexp.MustCompile(` \(version [^()]*( \([^()]*\))?\)\s*$`)
)

// plainly returns what ClickHouse says about a statement, without the parts that
// mean nothing to its author.
func plainly(err error) error {
	if err == nil {
		return nil
	}
	text := serverVersion.ReplaceAllString(err.Error(), "")
	text = expectedList.ReplaceAllString(text, " (SYNTAX_ERROR)")
	return errors.New(strings.TrimSpace(exceptionName.ReplaceAllString(text, "")))
}
