package dial

import (
	"net/http"
	"net/url"
)

// Headers is what adds the headers to the requests to a server.
func Headers(next http.RoundTripper, server *url.URL, header map[string]string) http.RoundTripper {
	return headers{next, server, header}
}
