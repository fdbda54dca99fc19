package clientdoc_test

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"preismon/deploy/testserver/equals"
	"preismon/query/oauth/clientdoc"
)

// programs are schemes that are not reversed domains.
var programs = []string{"cursor", "vscode", "claude"}

// Where responses may go (line 12 of the OAuth checklist, RFC 8252).
func TestValidRedirect(t *testing.T) {
	for _, uri := range []string{
		"https://app.example.com/callback", "https://app.example.com", "https://app.example.com/", "https://app.example.com:8443/cb?a=b&c=%2Fd",
		"https://claude.ai/api/mcp/auth_callback", "https://203.0.113.7/cb", "https://[2001:db8::1]:8443/cb", "https://xn--bcher-kva.example/cb",
		"https://app.example.com/a..b/...c/.well-known/x", "https://app.example.com/?next=../x", "https://app.example.com/a%20b/%C3%A4",
		"http://127.0.0.1/cb", "http://127.0.0.1:33418/", "http://127.0.0.1:1", "http://[::1]:5000/cb", "http://localhost:3000/oauth/callback", "http://localhost/callback",
		"com.example.app:/cb", "com.example.app:/", "com.example.app://cb", "com.example.app://oauth/cb?x=y", "com.example-2.app:/oauth2redirect/example-provider",
		"cursor://anysphere.cursor-mcp/oauth/callback", "vscode://vscode.github-authentication/cb", "claude://x/cb",
		"https://app.example.com/" + strings.Repeat("a", clientdoc.MaxRedirectBytes-24),
	} {
		equals.NoError(t, clientdoc.ValidRedirect(uri, programs), "%s", uri)
	}
	for _, uri := range []string{
		"", "/callback", "callback", "//app.example.com/cb", "https:", "https:/app.example.com/cb", "https:app.example.com", "https://", "https:///cb", "https://?x", "https://:443/cb",
		"https://app.example.com/cb#", "https://app.example.com/cb#x", "https://user@app.example.com/cb", "https://user:pw@app.example.com/cb", "https://@app.example.com/cb",
		"https://*.example.com/cb", "https://app.example.com/*", "https://app.example.com\\@evil.example/cb", "https://app.example.com\\cb", "https:\\\\app.example.com", "https://app.example.com/%5Ccb",
		"https://app.example.com/a/../b", "https://app.example.com/..", "https://app.example.com/./a", "https://app.example.com/a/%2e%2E/b", "https://app.example.com/a/.%2e/b",
		"https://app.example.com/a%2F..%2Fb", "https://app.example.com/a/%252e%252e/b", "https://app.example.com/a/%25252e%25252e", "https://app.example.com/%2525252525252e", "https://app.example.com/a/..;x/b",
		"com.example.app:/a/../b", "com.example.app:/..",
		"https://app.example.com/a b", "https://app.example.com/a\tb", "https://app.example.com/\r\nSet-Cookie:x", "https://app.example.com/%0d%0aSet-Cookie:x", "https://app.example.com/?x=%00", "https://app.example.com/\x00", " https://app.example.com/", "https://app.example.com/\u202e", "https://bücher.example/", "https://app.example.com/%zz", "https://app.example.com/%4", "https://app.example.com/%", "https://app.example.com/?%+1", "https://%61pp.example.com/",
		"https://app.example.com:0/", "https://app.example.com:65536/", "https://app.example.com:/", "https://app.example.com:x/", "https://app.example.com:+1/", "https://app.example.com:0443/",
		"https://app..example.com/", "https://.example.com/", "https://-x.example.com/", "https://[::1/cb", "https://[127.0.0.1]/cb", "https://[fe80::1%25eth0]/cb", "https://[v1.x]/", "https://a,b/", "https://a;b/",
		"http://app.example.com/cb", "http://127.0.0.2/cb", "http://127.1/cb", "http://2130706433/cb", "http://0x7f000001/", "http://[::]/cb", "http://[::ffff:127.0.0.1]/cb", "http://[0:0:0:0:0:0:0:1]/", "http://localhost.example.com/cb", "http://localhost./cb", "http://127.0.0.1.example.com/cb", "http://localhost@evil.example/", "http://LOCALHOST/", "http:/cb", "http:///cb",
		"javascript:alert(1)", "javascript://app.example.com/%0aalert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "blob:https://app.example.com/x", "about:blank", "ftp://app.example.com/", "ws://app.example.com/", "mailto:a@example.com", "intent://x/#Intent;end", "view-source:https://app.example.com/",
		"HTTPS://app.example.com/cb", "Com.Example.App:/cb", "myapp:/cb", "cursors://x/y", "Cursor://x/y", "com.example.app:", "com.example.app:cb", "com.example.app:?x", ".example:/cb", "com.:/cb", "com..example:/cb", "1com.example:/cb", "com.example.app://user@host/cb", "com.example.app://ho*st/cb", "urn:ietf:wg:oauth:2.0:oob",
		"https://app.example.com/" + strings.Repeat("a", clientdoc.MaxRedirectBytes-23),
	} {
		if err := clientdoc.ValidRedirect(uri, programs); err == nil {
			t.Errorf("%q was taken", uri)
		} else if len(uri) > 8 && strings.Contains(err.Error(), uri) {
			t.Errorf("%q: the error repeats it: %v", uri, err)
		}
	}
}

// Only configured schemes are accepted, and none that browsers handle.
func TestSchemes(t *testing.T) {
	if clientdoc.ValidRedirect("cursor://anysphere.cursor-mcp/oauth/callback", nil) == nil {
		t.Error("taken without a word of the configuration")
	}
	for name, want := range map[string]bool{
		"zed": true, "vscode-insiders": true, "a.b+c": true,
		"": false, "Zed": false, "1x": false, "a b": false, "javascript": false, "http": false, "data": false,
	} {
		cfg := clientdoc.Defaults()
		cfg.Schemes = []string{name}
		if err := cfg.Validate(); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Every accepted URI reads the same to a strict URL parser.
func FuzzValidRedirect(f *testing.F) {
	for _, uri := range []string{"https://app.example.com:8443/cb?a=b", "http://127.0.0.1:1/cb", "http://[::1]/", "com.example.app:/cb", "https://a/%2e%2e", "https://a@b/", "javascript:x", "https://a\\b/*#"} {
		f.Add(uri)
	}
	private := regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z0-9-]+)+$`)
	f.Fuzz(func(t *testing.T, uri string) {
		if clientdoc.ValidRedirect(uri, programs) != nil {
			return
		}
		u, err := url.Parse(uri)
		switch {
		case err != nil, !u.IsAbs(), u.User != nil, u.Fragment != "", u.Opaque != "", len(uri) > clientdoc.MaxRedirectBytes, strings.ContainsAny(uri, "#*\\<>\"`\x00\r\n\t "):
			t.Fatalf("%q: %v", uri, err)
		case u.Scheme == "https" && u.Hostname() != "":
		case u.Scheme == "http" && (u.Hostname() == "localhost" || u.Hostname() == "127.0.0.1" || u.Hostname() == "::1"):
		case (private.MatchString(u.Scheme) || slices.Contains(programs, u.Scheme)) && strings.HasPrefix(uri, u.Scheme+":/"):
		default:
			t.Fatalf("%q: %+v", uri, u)
		}
		for segment := range strings.SplitSeq(u.Path, "/") {
			if segment == "." || segment == ".." {
				t.Fatalf("%q: a dot segment", uri)
			}
		}
		base, _ := url.Parse("https://base.example/x/y")
		if resolved := base.ResolveReference(u).String(); u.Scheme != "https" && strings.HasPrefix(resolved, "https://base") {
			t.Fatalf("%q: relative", uri)
		}
	})
}
