// Package rpc sends single messages to a server of MCP over HTTP, as they are written and one at a time, which no SDK does.
package rpc

import (
	"context"
	"net/http"
	"strings"
)

// Send sends a message in a session, "" for none, and returns the response, whose body the caller closes.
func Send(ctx context.Context, by http.RoundTripper, method, url, session, message string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	return by.RoundTrip(req)
}
