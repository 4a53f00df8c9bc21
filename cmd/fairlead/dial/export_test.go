package dial

import (
	"net/http"
	"net/url"
	"testing"
)

// Headers is what adds the headers to the requests to a server.
func Headers(next http.RoundTripper, server *url.URL, header map[string]string) http.RoundTripper {
	return headers{next, server, header}
}

// SetManagedSettings has the administrator's settings of Claude Code in another file, until the test ends.
func SetManagedSettings(t *testing.T, file string) {
	before := managedSettings
	managedSettings = file
	t.Cleanup(func() { managedSettings = before })
}
