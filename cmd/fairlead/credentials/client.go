package credentials

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

func random(to []byte) { _, _ = rand.Read(to) } // which never fails

// patience is how long an authorization server may take to answer a request.
const patience = 30 * time.Second

// newClient returns the client for requests to authorization servers. It follows no redirect of a POST, which has a code or
// a token in it, and none to another host; and it sends nothing without TLS, except to this machine.
func newClient(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: secure{next}, Timeout: patience, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		first := via[0]
		if first.Method != http.MethodGet || req.URL.Host != first.URL.Host || req.URL.Scheme != first.URL.Scheme || len(via) > 3 {
			return fmt.Errorf("it leads to %s://%s, which is not followed", req.URL.Scheme, req.URL.Host)
		}
		return nil
	}}
}

type secure struct{ next http.RoundTripper }

func (s secure) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Scheme != "https" && !isLoopback(r.URL.Hostname()) {
		return nil, errors.New("the address of an authorization server has no TLS")
	}
	return s.next.RoundTrip(r)
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
