package rest

import "net/http"

// Mounted is another surface behind the same edge: its answers have request
// ids and security headers, its requests are logged, its panics are caught.
type Mounted struct {
	Paths   []string // exact
	Handler http.Handler
	// OwnCORS: the handler decides itself which web pages may read it. Otherwise
	// those of the allowed origins may.
	OwnCORS bool
}

// mount serves the paths of other surfaces, and passes the others to rest.
func (a *api) mount(surfaces []Mounted, rest http.Handler, compress func(http.Handler) http.Handler) http.Handler {
	at := map[string]http.Handler{}
	for _, s := range surfaces {
		h := compress(a.caught(s.Handler))
		if !s.OwnCORS {
			h = a.cors().Handler(h)
		}
		for _, path := range s.Paths {
			at[path] = h
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h, ok := at[r.URL.Path]; ok {
			exchangeOf(r).route = r.URL.Path
			h.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

func (a *api) caught(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				a.panicked(w, r, v)
			}
		}()
		h.ServeHTTP(w, r)
	})
}
