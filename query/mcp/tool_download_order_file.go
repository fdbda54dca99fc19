package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"preismon/contracts/fault"
	"preismon/query"
	"preismon/query/wire"
)

// download is the answer: the file's entry in the history and its content, or
// lines of it.
type download struct {
	Metadata    any             `json:"metadata"`
	ContentType string          `json:"contentType"` // as in the metadata (ART-04a)
	SizeBytes   int64           `json:"sizeBytes"`   // of the file itself (ART-04b)
	SHA256      string          `json:"sha256"`      // of the file itself, in hex
	Encoding    contentEncoding `json:"encoding,omitempty"`
	Text        *string         `json:"text,omitempty"`
	Data        *string         `json:"data,omitempty"`
	Excerpt     *excerpt        `json:"excerpt,omitempty"`
	Link        string          `json:"link,omitempty"` // of the resource with the next lines, if there is an excerpt and lines follow it
}

// contentEncoding is how the content is shown.
type contentEncoding string

const (
	asText   contentEncoding = "utf-8"
	asBase64 contentEncoding = "base64"
)

func downloads(d query.Direction) runner {
	return func(ctx context.Context, s *query.Service, c Call) (Result, error) {
		req, part, err := wire.DecodeFilePart(c.params(), d)
		if err != nil {
			return Result{}, err
		}
		most := max(0, c.Budget.MaxRaw())
		found, err := s.Download(ctx, c.Principal, req)
		if err != nil {
			return Result{}, within(explained(ctx, s, c, err), most)
		}
		if part.From > 0 {
			return showLines(ctx, s, found, part)
		}
		if found.SizeBytes > most { // LIM-D3: nothing of it is read
			return Result{}, tooLargeFile(found.SizeBytes, most)
		}
		if !part.Whole && found.SizeBytes > smallFile {
			return showLines(ctx, s, found, wire.FilePart{From: 1, To: previewLines})
		}
		giveBack, err := s.Charge(ctx, fileCopies*found.SizeBytes)
		if err != nil {
			return Result{}, err
		}
		defer giveBack() // what is left of it is charged with the answer
		content, err := found.Content(ctx)
		if err != nil {
			return Result{}, err
		}
		return showFile(found, content, c.Budget.Less(2*(len(c.BaseURL)+pageBytes)))
	}
}

// smallFile is the largest file, in bytes, that is shown whole even if that was
// not requested: at most about 5,000 tokens, as Base64.
const smallFile = 6 << 10

// previewLines are the header and ten more lines.
const previewLines = 11

// showLines shows lines of the content, and where to read those after them.
func showLines(ctx context.Context, s *query.Service, found *query.Download, part wire.FilePart) (Result, error) {
	e, err := excerptOf(ctx, s, found, part)
	if err != nil {
		return Result{}, err
	}
	answer := describe(found)
	answer.Excerpt = e
	var link *sdk.ResourceLink
	if e.To > 0 && e.To <= min(*e.Rows, lastLine-1) { // lines follow, perhaps of this part
		part.To = e.To
		link = fileLink(found.FileEntry, part)
		answer.Link = link.URI
	}
	r, err := answer.result(completeness{Complete: e.whole(), Reason: e.reason()})
	r.Link = link
	return r, err
}

// describe returns an answer without any content.
func describe(d *query.Download) download {
	return download{Metadata: wire.FileRecord(d.FileEntry), ContentType: d.ContentType(), SizeBytes: d.SizeBytes, SHA256: d.SHA256}
}

// fileCopies is how many copies of the content are held at most while an answer
// is built from it: unchanged, as base64, and in the object.
const fileCopies = 5

func tooLargeFile(size, most int64) error {
	return &fault.Error{
		Kind: fault.TooLarge, Code: query.CodePayloadTooLarge, ActualBytes: size, MaxBytes: most,
		Msg: "The archived file does not fit into what is left of the answer. Ask for lines of it, for all of it in a request of its own, or read it over REST.",
	}
}

// within makes a refusal of the service name the smaller of the two limits.
func within(err error, most int64) error {
	if e, ok := errors.AsType[*fault.Error](err); ok && e.Kind == fault.TooLarge && e.MaxBytes > most {
		return tooLargeFile(e.ActualBytes, most)
	}
	return err
}

// showFile shows the content as text if it is text and fits the budget
// (TOOL-05b); otherwise as Base64, which fits what MaxRaw reserves.
func showFile(d *query.Download, content []byte, budget Budget) (Result, error) {
	answer, all := describe(d), completeness{Complete: true}
	if utf8.Valid(content) {
		text := string(content)
		answer.Encoding, answer.Text = asText, &text
		if r, err := answer.result(all); err != nil || budget.Fits(r.Object) {
			return r, err
		}
	}
	data := base64.StdEncoding.EncodeToString(content)
	answer.Encoding, answer.Text, answer.Data = asBase64, nil, &data
	return answer.result(all)
}

// result composes the answer. The content stays unchanged; the texts around it
// are made presentable.
func (a download) result(c completeness) (Result, error) {
	metadata, err := bodyOf(a.Metadata, nil)
	if err != nil {
		return Result{}, err
	}
	a.Metadata = json.RawMessage(metadata)
	body, err := wire.Marshal(a)
	if err != nil {
		return Result{}, err
	}
	return compose(head{Summary: counted{1}, Completeness: c}, body)
}

// downloadAnswer returns the answer's schema, with metadata like that of the
// history.
func downloadAnswer(d query.Direction) func() (schema, error) {
	return func() (schema, error) {
		answer := answerOf(countedSchema(), object(schema{
			"metadata":    described(kind("object"), "As list_order_"+string(d)+"_history has it"),
			"contentType": kind("string"), "sizeBytes": kind("integer"), "sha256": described(kind("string"), "Digest of the file"),
			"encoding": schema{"enum": []any{asText, asBase64}, "description": "Of the whole content"},
			"text":     described(kind("string"), "Content, if UTF-8"), "data": described(kind("string"), "Content in Base64, if not"),
			"excerpt": described(object(schema{
				"rows": described(kind("integer", "null"), "Lines of the file after the header; null: no lines to show"),
				"from": described(kind("integer"), "First line here"), "to": described(kind("integer"), "Last line here"),
				"header": described(kind("string"), "Line 1"), "lines": described(listOf(kind("string")), "As CSV, if of a sheet"),
			}), "In place of the content"),
			"link": described(kind("string"), "With excerpt: resource with the lines; other ranges too"),
		}, "metadata", "contentType", "sizeBytes", "sha256"))
		answer["properties"].(schema)["completeness"].(schema)["description"] = "Complete: all content is here"
		return answer, nil
	}
}
