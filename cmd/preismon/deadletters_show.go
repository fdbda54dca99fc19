package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"preismon/contracts"
	"preismon/ingest"

	"github.com/alecthomas/kong"
)

type lettersShowCmd struct {
	catalogueBus `embed:""`
	Letter       uint64 `arg:"" help:"Number of the letter, as \"list\" prints it."`
	Bytes        int    `help:"Show at most this many bytes of the message." default:"16384"`
	JSON         bool   `name:"json" xor:"form" help:"Print one JSON object; the message is in base64 if it is not JSON."`
	Raw          bool   `xor:"form" help:"Write the message alone, byte for byte; for a file or a pipe, not for a terminal."`
}

func (c *lettersShowCmd) Run(ctx context.Context, k *kong.Context, std streams, log *slog.Logger) error {
	var faults contracts.Faults
	faults.Check(!c.Raw || !isTerminal(std.out), "raw: standard output is a terminal")
	faults.Check(c.Bytes >= 0, "bytes: negative")
	return c.connected("deadletters", k, std, log, faults.Err(), func(b *bus) error { return c.show(ctx, std, b) })
}

func (c *lettersShowCmd) show(ctx context.Context, std streams, b *bus) error {
	l, err := ingest.NewDeadLetters(b.js).Letter(ctx, c.Letter)
	if err != nil {
		return err
	}
	switch {
	case c.Raw:
		_, err = std.out.Write(l.Data)
	case c.JSON:
		out := struct {
			ingest.DeadLetter
			Payload json.RawMessage `json:"payload,omitempty"`
			Base64  []byte          `json:"payload_base64,omitempty"`
		}{DeadLetter: l}
		if json.Valid(l.Data) {
			out.Payload = l.Data
		} else {
			out.Base64 = l.Data
		}
		err = json.NewEncoder(std.out).Encode(out)
	default:
		err = writeLetter(std.out, l, c.Bytes)
	}
	return err
}

// writeLetter prints a letter for people.
func writeLetter(w io.Writer, l ingest.DeadLetter, most int) error {
	var b strings.Builder
	row := func(name, value string) { fmt.Fprintf(&b, "%-9s %s\n", name, printable(value, "")) }
	row("Letter", strconv.FormatUint(l.Letter, 10))
	row("Reason", l.Reason)
	row("Found", l.At.Format(time.RFC3339))
	row("Message", fmt.Sprintf("%s, sequence %d of epoch %d, subject %s, %d bytes", l.Stream, l.Seq, l.Epoch, l.Subject, l.Size))
	if l.Replayed != nil {
		row("Replayed", fmt.Sprintf("%s, as sequence %d of %s", l.Replayed.At.Format(time.RFC3339), l.Replayed.Seq, l.Replayed.Stream))
	}
	if l.Cut {
		row("Cut", fmt.Sprintf("the letter holds the first %d bytes", len(l.Data)))
	}
	data, rest := l.Data, 0
	var pretty bytes.Buffer
	if json.Indent(&pretty, data, "", "  ") == nil {
		data = pretty.Bytes()
	}
	if len(data) > most {
		data, rest = data[:most], len(data)-most
	}
	fmt.Fprintf(&b, "\n%s\n", printable(string(data), "\n\t"))
	if rest > 0 {
		fmt.Fprintf(&b, "... and %d bytes more; see --bytes and --raw\n", rest)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
