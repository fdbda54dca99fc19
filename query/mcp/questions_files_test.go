package mcp_test

import (
	"fmt"
	"strings"

	"preismon/contracts"
)

// Exports of the core order.
const (
	dailyExport  = "Preisexport täglich (CSV)"
	weeklyExport = "Preisexport wöchentlich (Excel)"
)

// questionsOfFiles are about the contents of archived files.
func questionsOfFiles() []question {
	return []question{
		{
			name: "export_rows", asks: "How many rows has the newest daily CSV export of the core order, and what is in the first ten?",
			holds: cost{2, 1322},
			ask: func(a *analyst) any {
				answer, _ := a.call("download_order_export_file", object{"orderId": a.order(askedOrder), "exportName": dailyExport, "latest": true})
				return object{"rows": number(at(answer, "excerpt", "rows")), "first": texts(list(answer, "excerpt", "lines"))}
			},
			truth: func(d *demo) any {
				lines := strings.Split(strings.TrimRight(string(d.newestExport(".csv")), "\r\n"), "\n")
				first := []string{}
				for _, l := range lines[1:11] {
					first = append(first, strings.TrimSuffix(l, "\r"))
				}
				return object{"rows": len(lines) - 1, "first": first}
			},
		},
		{
			name: "export_lines", asks: "What do the rows 20 to 29 of that export say?",
			holds: cost{2, 1537},
			ask: func(a *analyst) any {
				answer, _ := a.call("download_order_export_file", object{"orderId": a.order(askedOrder), "exportName": dailyExport, "latest": true, "lines": "21-30"})
				return texts(list(answer, "excerpt", "lines"))
			},
			truth: func(d *demo) any {
				lines := []string{}
				for _, l := range strings.Split(string(d.newestExport(".csv")), "\n")[20:30] {
					lines = append(lines, strings.TrimSuffix(l, "\r"))
				}
				return lines
			},
		},
		{
			name: "workbook_columns", asks: "Which columns has the weekly workbook of the core order?",
			holds: cost{2, 1353},
			ask: func(a *analyst) any {
				answer, _ := a.call("download_order_export_file", object{"orderId": a.order(askedOrder), "exportName": weeklyExport, "latest": true})
				return fmt.Sprint(at(answer, "excerpt", "header"))
			},
			truth: func(d *demo) any { // the header of the daily export
				header, _, _ := strings.Cut(strings.TrimPrefix(string(d.newestExport(".csv")), "\ufeff"), "\n")
				return strings.ReplaceAll(strings.TrimSuffix(header, "\r"), ";", ",")
			},
		},
	}
}

// newestExport returns the content of the newest export of the core order whose
// filename has the given suffix.
func (d *demo) newestExport(end string) []byte {
	var newest contracts.FileArchive
	for _, e := range d.exports {
		if strings.HasSuffix(e.Files[0].Filename, end) && e.ArchivedAt.After(newest.ArchivedAt) {
			newest = e
		}
	}
	return d.files[newest.ArchiveID]
}
