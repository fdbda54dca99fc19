package notify

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"mime/quotedprintable"
	"net"
	"net/mail"
	"net/smtp"
	"os"
	"strings"
	"time"
)

// Email is a mail server and the recipients of its mail.
type Email struct {
	Server string   `yaml:"server"` // HOST:PORT
	From   string   `yaml:"from"`
	To     []string `yaml:"to"`
	// TLS is starttls (the default), tls from the first byte, or none, which is
	// only allowed for a host in allowHosts, and without a password.
	TLS string `yaml:"tls"`
	// CAFile has the certificates that the server's is verified with, in PEM;
	// empty: those of the system.
	CAFile       string `yaml:"caFile"`
	Username     string `yaml:"username"`
	PasswordFile string `yaml:"passwordFile"`

	host, password string
	from           *mail.Address
	to             []*mail.Address
	roots          *x509.CertPool
}

func (c *checker) email(name string, e *Email) {
	at, of := "$.targets."+name+".email", "targets."+name
	host, port, err := net.SplitHostPort(e.Server)
	c.want(err == nil && host != "" && port != "", at+".server", "%s: server: not of the form HOST:PORT", of)
	e.host = host
	e.TLS = cmp.Or(e.TLS, "starttls")
	c.want(e.TLS == "starttls" || e.TLS == "tls" || e.TLS == "none", at+".tls", "%s: tls: %q is none of starttls, tls, none", of, e.TLS)
	c.want(e.TLS != "none" || c.file.allows(host) && e.Username == "", at+".tls", "%s: tls: none goes to a host of allowHosts only, and without a username", of)
	e.from, err = mail.ParseAddress(e.From)
	c.want(err == nil, at+".from", "%s: from: %q is no address", of, e.From)
	c.want(len(e.To) > 0, at+".to", "%s: to: none", of)
	for _, to := range e.To {
		address, err := mail.ParseAddress(to)
		c.want(err == nil, at+".to", "%s: to: %q is no address", of, to)
		e.to = append(e.to, address)
	}
	c.want((e.Username == "") == (e.PasswordFile == ""), at, "%s: username and passwordFile go together", of)
	if e.PasswordFile != "" {
		text, err := os.ReadFile(e.PasswordFile)
		c.want(err == nil, at+".passwordFile", "%s: passwordFile: %v", of, err)
		e.password = strings.TrimRight(string(text), "\r\n")
	}
	if e.CAFile != "" {
		text, err := os.ReadFile(e.CAFile)
		e.roots = x509.NewCertPool()
		if err == nil && !e.roots.AppendCertsFromPEM(text) {
			err = errors.New("has no certificate")
		}
		c.want(err == nil, at+".caFile", "%s: caFile: %v", of, err)
	}
}

// deliver sends a mail to the server: it is delivered when the server accepts it
// for all recipients. anywhere: the host is in allowHosts.
func (e *Email) deliver(anywhere bool) deliver {
	secured := &tls.Config{ServerName: e.host, MinVersion: tls.VersionTLS12, RootCAs: e.roots}
	return func(ctx context.Context, m message) error {
		text, err := e.mail(m, time.Now())
		if err != nil {
			return err
		}
		conn, err := dialer(anywhere).DialContext(ctx, "tcp", e.Server)
		if err != nil {
			return err
		}
		return e.send(conn, secured, text)
	}
}

// Limits of a mail after dialling. A server that scans the text before it
// accepts it needs long: without waiting for that, the mail would be sent again
// and again, and accepted each time (RFC 5321, 4.5.3.2.6).
const (
	talkLimit   = time.Minute     // up to the text
	acceptLimit = 5 * time.Minute // from there to the answer
)

// send sends a mail over a connection, and closes it.
func (e *Email) send(conn net.Conn, secured *tls.Config, text []byte) error {
	defer conn.Close() //nolint:errcheck // it is over, one way or the other
	if err := conn.SetDeadline(time.Now().Add(talkLimit)); err != nil {
		return err
	}
	if e.TLS == "tls" {
		conn = tls.Client(conn, secured)
	}
	c, err := smtp.NewClient(conn, e.host)
	if err != nil {
		return err
	}
	if e.TLS == "starttls" {
		if err := c.StartTLS(secured); err != nil {
			return fmt.Errorf("STARTTLS: %w", err)
		}
	}
	return e.hand(conn, c, text)
}

// hand sends a mail to a server that has greeted.
func (e *Email) hand(conn net.Conn, c *smtp.Client, text []byte) error {
	if e.Username != "" {
		if err := c.Auth(smtp.PlainAuth("", e.Username, e.password, e.host)); err != nil {
			return fmt.Errorf("the login is refused: %w", err)
		}
	}
	if err := c.Mail(e.from.Address); err != nil {
		return fmt.Errorf("from: %w", err)
	}
	for _, to := range e.to {
		if err := c.Rcpt(to.Address); err != nil {
			return fmt.Errorf("to %s: %w", to.Address, err)
		}
	}
	w, err := c.Data()
	if err != nil {
		return err
	}
	_, err = w.Write(text)
	if err = errors.Join(err, conn.SetDeadline(time.Now().Add(acceptLimit)), w.Close()); err != nil {
		return err
	}
	_ = errors.Join(conn.SetDeadline(time.Now().Add(time.Second)), c.Quit()) // it has the mail
	return nil
}

// mail returns the text of a message. The id of the alert is in its Message-ID,
// which is the same for each attempt.
func (e *Email) mail(m message, now time.Time) ([]byte, error) {
	var of struct {
		Rule string `json:"rule"`
		Data struct {
			ItemID string `json:"itemId"`
			Site   string `json:"site"`
		} `json:"data"`
	}
	if err := json.Unmarshal(m.Body, &of); err != nil {
		return nil, err
	}
	subject := of.Rule
	if of.Data.ItemID != "" {
		subject += ": item " + of.Data.ItemID
	}
	if of.Data.Site != "" {
		subject += " at " + of.Data.Site
	}
	_, domain, _ := strings.Cut(e.from.Address, "@")
	var to []string // formatted for a header: nothing in them ends the line
	for _, address := range e.to {
		to = append(to, address.String())
	}
	var b bytes.Buffer
	for _, header := range [][2]string{
		{"From", e.from.String()},
		{"To", strings.Join(to, ", ")},
		{"Subject", mime.QEncoding.Encode("utf-8", subject)},
		{"Date", now.Format("Mon, 02 Jan 2006 15:04:05 -0700")},
		{"Message-ID", "<" + m.ID + "@" + domain + ">"},
		{"Auto-Submitted", "auto-generated"},
		{"MIME-Version", "1.0"},
		{"Content-Type", "text/plain; charset=utf-8"},
		{"Content-Transfer-Encoding", "quoted-printable"},
	} {
		fmt.Fprintf(&b, "%s: %s\r\n", header[0], header[1])
	}
	b.WriteString("\r\n")
	var body bytes.Buffer
	if err := json.Indent(&body, m.Body, "", "  "); err != nil {
		return nil, err
	}
	w := quotedprintable.NewWriter(&b)
	_, err := w.Write(append(body.Bytes(), '\n'))
	return b.Bytes(), errors.Join(err, w.Close())
}
