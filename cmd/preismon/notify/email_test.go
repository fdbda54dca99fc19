package notify_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/mail"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"preismon/cmd/preismon/notify"
	"preismon/deploy/testserver/equals"
	"preismon/deploy/testserver/must"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// mailbox is a mail server that keeps the mails that it accepts.
type mailbox struct {
	addr    string
	mu      sync.Mutex
	mails   []*mail.Message
	bodies  []string
	to      [][]string
	refuses int // the number of mails to refuse
}

// newMailbox starts a server whose certificate is in the world's ca.pem.
func newMailbox(t *testing.T, w *world, secured *tls.Config, login string) *mailbox {
	t.Helper()
	m := &mailbox{}
	s := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) { return &session{box: m, login: login, in: login == ""}, nil }))
	s.Domain, s.TLSConfig, s.ErrorLog = "mail.example", secured, quiet{}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	m.addr = l.Addr().String()
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return m
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}
func (quiet) Println(...any)        {}

// session is one connection to a mailbox.
type session struct {
	box   *mailbox
	login string // user and password, as "user:password"
	in    bool
	to    []string
}

func (s *session) AuthMechanisms() []string { return []string{sasl.Plain} }

func (s *session) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user+":"+password != s.login {
			return smtp.ErrAuthFailed
		}
		s.in = true
		return nil
	}), nil
}

func (s *session) Reset()        { s.to = nil }
func (s *session) Logout() error { return nil }

func (s *session) Mail(string, *smtp.MailOptions) error {
	if !s.in {
		return smtp.ErrAuthRequired
	}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

func (s *session) Data(r io.Reader) error {
	m, err := mail.ReadMessage(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(m.Body)
	if err != nil {
		return err
	}
	s.box.mu.Lock()
	defer s.box.mu.Unlock()
	if s.box.refuses > 0 {
		s.box.refuses--
		return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0}, Message: "Later."}
	}
	s.box.mails, s.box.bodies, s.box.to = append(s.box.mails, m), append(s.box.bodies, string(body)), append(s.box.to, s.to)
	return nil
}

// ids returns the Message-IDs of the accepted mails.
func (m *mailbox) ids() (ids []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.mails {
		ids = append(ids, one.Header.Get("Message-ID"))
	}
	return ids
}

// certificate issues one for 127.0.0.1 that the world's ca.pem verifies.
func certificate(t *testing.T, w *world) *tls.Config {
	t.Helper()
	key := must.Get(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key))(t)
	w.write("ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

func (m *mailbox) target(more string) string {
	return "  post: {email: {server: '" + m.addr + "', from: 'Prices <prices@shop.example>', to: [a@shop.example, 'B <b@shop.example>']" + more + "}}"
}

// Alerts are mailed in order, over a connection that is secured before the
// password is sent; a refused one is sent again with the same Message-ID.
func TestMails(t *testing.T) {
	w := newWorld(t)
	m := newMailbox(t, w, certificate(t, w), "prices:s3cret")
	w.write("password", "s3cret\n")
	f := w.rules("", m.target(", caFile: DIR/ca.pem, username: prices, passwordFile: DIR/password"), "post")
	stop := w.start(f)
	w.eventually("it began", func() bool { return w.feed.begins() == 1 })
	m.mu.Lock()
	m.refuses = 2
	m.mu.Unlock()
	w.feed.set(func() { w.feed.alerts = 3 })
	want := []string{"<a0_drops@shop.example>", "<a1_drops@shop.example>", "<a2_drops@shop.example>"}
	w.eventually("all is delivered", func() bool { return slices.Equal(m.ids(), want) })
	stop()
	head := m.mails[0].Header
	if head.Get("From") != `"Prices" <prices@shop.example>` || head.Get("To") != `<a@shop.example>, "B" <b@shop.example>` || head.Get("Subject") != "drops" ||
		!slices.Equal(m.to[0], []string{"a@shop.example", "b@shop.example"}) || !strings.Contains(m.bodies[0], `"alertId": "a0"`) {
		t.Errorf("%v to %v\n%s", head, m.to[0], m.bodies[0])
	}
	if _, err := head.Date(); err != nil {
		t.Error(err)
	}
	if !strings.Contains(w.logged(), "delivered=3 retried=2") || strings.Contains(w.logged(), "s3cret") {
		t.Error(w.logged())
	}
}

// No password is sent over an unsecured connection, and no mail to a server
// that is not the right one or is at a forbidden address.
func TestMailsAreRefused(t *testing.T) {
	w := newWorld(t)
	w.write("password", "s3cret")
	open, other := newMailbox(t, w, nil, ""), newWorld(t)
	secured, wrong := newMailbox(t, w, certificate(t, w), "prices:other"), newMailbox(t, other, certificate(t, other), "")
	for name, c := range map[string]struct{ target, want string }{
		"no STARTTLS":    {open.target(""), "STARTTLS"},
		"another's":      {wrong.target(", caFile: DIR/ca.pem"), "certificate"},
		"wrong password": {secured.target(", caFile: DIR/ca.pem, username: prices, passwordFile: DIR/password"), "the login is refused"},
		"no TLS":         {secured.target(", tls: tls, caFile: DIR/ca.pem"), "does not look like a TLS handshake"},
		"private":        {strings.ReplaceAll(open.target(""), "127.0.0.1", "localhost"), "prohibited"},
	} {
		w.write("state", "{}")
		w.feed.set(func() { w.feed.alerts = 0 })
		f := w.rules("", c.target, "post")
		must.Do(t, w.once(f))
		w.feed.set(func() { w.feed.alerts = 1 })
		if err := w.once(f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	equals.Is(t, 0, len(open.ids())+len(secured.ids())+len(wrong.ids()), "mails were sent")
	f := w.rules("", open.target(", tls: none"), "post")
	must.Do(t, w.once(f))
	w.feed.set(func() { w.feed.alerts++ })
	if err := w.once(f); err != nil || len(open.ids()) == 0 {
		t.Errorf("to a host of allowHosts without TLS: %v, %v", err, open.ids())
	}
}

// TestFaultsOfMail: faults are named with their lines.
func TestFaultsOfMail(t *testing.T) {
	w := newWorld(t)
	w.write("rules.yaml", fmt.Sprintf(`targets:
  a:
    giveUpAfter: 5
    email:
      server: mail.example
      from: nobody
      to: [x]
      tls: maybe
      username: u
      caFile: %s
  b: {email: {server: "mail.example:25", from: a@x.example, to: [b@x.example], tls: none}}
rules: [{name: s, silentFor: 1s, percent: 5, targets: [a, b]}]
`, w.file("secret")))
	_, err := notify.Load(w.file("rules.yaml"))
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{
		"line 3: targets.a: giveUpAfter", "line 5: targets.a: server", "line 6: targets.a: from", "line 7: targets.a: to", "line 8: targets.a: tls",
		"targets.a: username and passwordFile", "line 10: targets.a: caFile: has no certificate", "line 11: targets.b: tls: none goes to a host of allowHosts",
		"line 12: rules[0]: silentFor: \"1s\"", "rules[0]: silentFor goes with site",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("not said: %s in\n%v", want, err)
		}
	}
}
