package rest

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"preismon/contracts"
	"preismon/contracts/fault"
	"preismon/contracts/strictjson"
	"preismon/query"
	"preismon/query/admission"
	"preismon/query/auth"
	"preismon/query/wire"
)

const (
	limitHeader     = "X-RateLimit-Limit"
	remainingHeader = "X-RateLimit-Remaining"
	resetHeader     = "X-RateLimit-Reset"

	// From draft-ietf-httpapi-ratelimit-headers.
	policyField = "RateLimit-Policy"
	quotaField  = "RateLimit"
)

func setQuota(h http.Header, q auth.Quota) {
	// Set would spell them X-Ratelimit-...; this keeps the contract's own
	// spelling.
	h[limitHeader] = []string{strconv.Itoa(q.Limit)}
	h[remainingHeader] = []string{strconv.Itoa(q.Remaining)}
	h[resetHeader] = []string{strconv.FormatInt(q.Reset.Add(time.Second-1).Unix(), 10)}
	h[policyField] = []string{fmt.Sprintf("%q;q=%d;w=%d", q.Policy, q.Limit, seconds(q.Window))}
	h[quotaField] = []string{fmt.Sprintf("%q;r=%d;t=%d", q.Policy, q.Remaining, seconds(q.Wait))}
}

// seconds rounds up, so that a client that waits this long has waited long
// enough.
func seconds(d time.Duration) int64 { return max(0, int64((d+time.Second-1)/time.Second)) }

// bearer returns the token of a request.
func bearer(r *http.Request) (string, error) {
	scheme, token := auth.Credential(r)
	switch scheme {
	case "bearer":
		return token, nil
	case "basic":
		return "", &fault.Error{Kind: fault.Unauthenticated, Code: wire.CodeSchemeNotAllowed}
	}
	return "", auth.TokenMissing()
}

// caller identifies the sender of a request and counts the request: for its
// account, or for its address if the account is not known.
func (a *api) caller(c *gin.Context) (*auth.Token, error) {
	token, err := func() (*auth.Token, error) {
		raw, err := bearer(c.Request)
		if err != nil {
			return nil, err
		}
		return a.auth.Verify(raw, auth.RESTAudience)
	}()
	if err != nil {
		quota, throttled := a.throttle.Anonymous(a.cfg.TrustedProxies.Client(c.Request))
		setQuota(c.Writer.Header(), quota)
		if throttled != nil {
			return nil, throttled
		}
		return nil, err
	}
	exchangeOf(c.Request).account = token.Account
	quota, err := a.throttle.Read(token.Account)
	setQuota(c.Writer.Header(), quota)
	return token, err
}

// reads calls a handler only with a valid token. A body is read and ignored: it
// has no meaning, and does no harm below the limit.
func (a *api) reads(next reader) handler {
	return a.readsBody(a.cfg.MaxBodyBytes, func(c *gin.Context, p query.Principal, _ []byte) error { return next(c, p) })
}

// readsBody is reads for a handler that accepts a body of at most the given
// size.
func (a *api) readsBody(most int64, next func(c *gin.Context, p query.Principal, body []byte) error) handler {
	return func(c *gin.Context) error {
		token, err := a.caller(c)
		if err != nil {
			return err
		}
		body, err := a.bodyWithin(c, most)
		if err != nil {
			return err
		}
		c.Request = c.Request.WithContext(admission.WithAccount(c.Request.Context(), token.Account))
		return a.held(c, token, func(c *gin.Context, p query.Principal) error { return next(c, p, body) })
	}
}

// heavy bounds how many of a caller's reads run at the same time, and reports
// that alongside the other limit.
func (a *api) heavy(next reader) reader {
	return func(c *gin.Context, p query.Principal) error {
		release, err := a.throttle.Heavy(p.Account)
		limit, free := a.throttle.HeavySlots(p.Account)
		h := c.Writer.Header()
		other := func(field string) string { // without what an earlier read of the same request reported
			before, _, _ := strings.Cut(strings.Join(h[field], ", "), `, "heavy"`)
			return before
		}
		h[policyField] = []string{fmt.Sprintf(`%s, "heavy";q=%d;qu="concurrent-requests"`, other(policyField), limit)}
		h[quotaField] = []string{fmt.Sprintf(`%s, "heavy";r=%d`, other(quotaField), free)}
		if err != nil {
			return a.service.Admission().Explained(err, p.Account)
		}
		defer release()
		return next(c, p)
	}
}

// body reads a whole request body within the limits of size and time.
func (a *api) body(c *gin.Context) ([]byte, error) { return a.bodyWithin(c, a.cfg.MaxBodyBytes) }

func (a *api) bodyWithin(c *gin.Context, most int64) ([]byte, error) {
	body, err := wire.ReadBody(c.Writer, c.Request, most)
	if err == nil && c.Request.ContentLength != 0 {
		_ = exchangeOf(c.Request).control.SetReadDeadline(time.Time{}) // the edge set it for the body only
	}
	return body, err
}

type tokenResponse struct {
	TokenType   string `json:"tokenType"`
	AccessToken string `json:"accessToken"`
	ExpiresIn   int64  `json:"expiresIn"`
}

// token logs in. A request that is not a login counts only for its address.
func (a *api) token(c *gin.Context) error {
	address := a.cfg.TrustedProxies.Client(c.Request)
	login, err := a.decodeLogin(c)
	if err != nil {
		quota, throttled := a.throttle.Attempt(address, "")
		setQuota(c.Writer.Header(), quota)
		if throttled != nil {
			return throttled
		}
		return err
	}
	login.Address = address
	account, quota, err := a.auth.Login(c.Request.Context(), login)
	setQuota(c.Writer.Header(), quota)
	if err != nil {
		return err
	}
	exchangeOf(c.Request).account = account
	issued, lifetime, err := a.auth.IssueREST(account)
	if err != nil {
		return err
	}
	return a.writeJSON(c, tokenResponse{
		TokenType: "Bearer", AccessToken: issued.Token.Reveal(), ExpiresIn: int64(lifetime / time.Second),
	})
}

func badRequest(format string, args ...any) error {
	return fault.New(fault.Invalid, query.CodeValidation, format, args...)
}

// decodeLogin accepts exactly one JSON object with exactly the two texts.
func (a *api) decodeLogin(c *gin.Context) (auth.Login, error) {
	body, err := a.body(c)
	if err != nil {
		return auth.Login{}, err
	}
	if err := isJSON(c, body); err != nil {
		return auth.Login{}, err
	}
	texts, err := textMembers(body)
	if err != nil {
		return auth.Login{}, err
	}
	for _, name := range []string{"loginIdentifier", "password"} {
		if _, ok := texts[name]; !ok {
			return auth.Login{}, badRequest("%s: missing.", name)
		}
	}
	for name := range texts {
		if name != "loginIdentifier" && name != "password" {
			return auth.Login{}, badRequest("%s: unknown field.", wire.Quote(name))
		}
	}
	return auth.Login{Identifier: texts["loginIdentifier"], Password: contracts.Secret(texts["password"])}, nil
}

// isJSON refuses a body that is not sent as JSON.
func isJSON(c *gin.Context, body []byte) error {
	media, extra, err := mime.ParseMediaType(c.GetHeader("Content-Type"))
	charset, hasCharset := extra["charset"]
	switch {
	case err != nil || media != "application/json":
		return badRequest("Content-Type: must be application/json.")
	case hasCharset && !strings.EqualFold(charset, "utf-8"):
		return badRequest("Content-Type: JSON is UTF-8.")
	case c.GetHeader("Content-Encoding") != "":
		return badRequest("Content-Encoding: not accepted.")
	case !utf8.Valid(body):
		return badRequest("The body is not UTF-8.")
	}
	return nil
}

// textMembers reads one JSON object of texts, with no name given twice.
func textMembers(body []byte) (map[string]string, error) {
	texts := map[string]string{}
	err := strictjson.Members(body, func(name string, value json.RawMessage) error {
		if _, twice := texts[name]; twice {
			return badRequest("%s: given twice.", wire.Quote(name))
		}
		if value[0] != '"' {
			return badRequest("%s: not a string.", wire.Quote(name))
		}
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return strictjson.ErrNoObject
		}
		texts[name] = text
		return nil
	})
	if errors.Is(err, strictjson.ErrNoObject) {
		err = badRequest("The body is not one JSON object.")
	}
	return texts, err
}

type logoutResponse struct {
	Revoked bool `json:"revoked"`
}

// logout revokes the token it is sent with. When revocations cannot be read
// they cannot be written either, so it reports that failure.
func (a *api) logout(c *gin.Context) error {
	token, err := a.caller(c)
	switch {
	case err != nil && fault.KindOf(err) == fault.Unavailable:
		return logoutFailed(err)
	case err != nil && fault.KindOf(err) == fault.Unauthenticated:
		if raw, _ := bearer(c.Request); raw != "" {
			if _, other := a.auth.Verify(raw, a.cfg.BaseURL+"/mcp"); other == nil {
				return badRequest("This is an MCP access token. Revoke it at the authorization server.")
			}
		}
		return err
	case err != nil:
		return err
	}
	if _, err := a.body(c); err != nil {
		return err
	}
	revoked, err := a.auth.Revoke(c.Request.Context(), token)
	if err != nil && fault.KindOf(err) != fault.Unauthenticated {
		return logoutFailed(err)
	}
	if err != nil {
		return err
	}
	return a.writeJSON(c, logoutResponse{Revoked: revoked})
}

func logoutFailed(err error) error {
	return &fault.Error{Kind: fault.Internal, Code: wire.CodeLogoutFailed, Err: err}
}
