package sdkerr_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
)

// refusing makes the server answer each POST with a status and a body, in which ID stands for that of the request.
func refusing(h *mcptest.HTTP, status int, body string) {
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		sent, _ := io.ReadAll(r.Body)
		_, id, _ := strings.Cut(string(sent), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, strings.ReplaceAll(body, "ID", strings.TrimRight(id, "}\n")))
		return true
	})
}

const (
	withoutID = `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"turned away"}}`
	withID    = `{"jsonrpc":"2.0","id":ID,"error":{"code":-32050,"message":"turned away"}}`
)

func TestRefusedByStatusIsNotUnknown(t *testing.T) {
	final := verdict{refused: true, permanent: true}
	for _, c := range []struct {
		body     string
		want     verdict
		statuses []int
	}{
		{"", final, []int{400, 401, 403, 405, 406, 407, 410, 411, 413, 414, 415, 421, 426, 431}},
		{withoutID, final, []int{400, 401, 403, 413, 415}},
		{withID, final, []int{401, 403, 413, 415}},
		{withID, unknown, []int{400, 410}},
		{`{"error":"invalid_token","error_description":"turned away"}`, final, []int{401}},
		{"turned away", final, []int{400, 401, 403}},
		{"", unknown, []int{402, 408, 409, 417, 418, 422, 423, 424, 425, 428, 451, 499, 500, 501, 502, 503, 504}},
		{withoutID, unknown, []int{408, 409, 500, 502, 503, 504}},
	} {
		for _, status := range c.statuses {
			t.Run(fmt.Sprint(status, " ", c.body), func(t *testing.T) {
				eachVersion(t, func(t *testing.T, version string) {
					cs, h, _ := over(t, version, sdkerr.RoundTripper)
					refusing(h, status, c.body)
					err := call(t, cs)
					check(t, err, c.want)
					if c.want == final && c.body != "" && !strings.Contains(err.Error(), "turned away") {
						t.Errorf("%v has lost the server's reason", err)
					}
					if told := middleware.ForModel(err); (c.want == final) != strings.Contains(told, "was not called") || strings.Contains(told, "turned away:") {
						t.Errorf("the model is told %q", told)
					}
				})
			})
		}
	}
}

// A server without the session has executed nothing, and the next session can make the call.
func TestUnknownSessionIsRefused(t *testing.T) {
	for _, c := range []struct {
		name, body string
		status     int
		want       bool
	}{
		{"404", "", 404, true},
		{"404 with an ID", withID, 404, true},
		{"400 that names it", `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, 400, true},
		{"400 in words", "the Session is not known", 400, true},
		{"400 about something else", withoutID, 400, false},
		{"400 of a call about sessions", `{"jsonrpc":"2.0","id":ID,"error":{"code":-32050,"message":"no such session"}}`, 400, false},
		{"403", "the session is not yours", 403, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			cs, h, _ := over(t, mcptest.Legacy, sdkerr.RoundTripper)
			refusing(h, c.status, c.body)
			err := call(t, cs)
			if got := strings.Contains(middleware.ForModel(err), "had ended the session"); got != c.want {
				t.Errorf("%v, told as %q", err, middleware.ForModel(err))
			}
			if c.want {
				check(t, err, verdict{refused: true})
			}
		})
	}
}

// A refusal speaks for the call only if nothing left before it.
func TestRefusalOfTheSecondRequestIsUnknown(t *testing.T) {
	w := answeredBy(t, http.StatusBadGateway, http.StatusUnauthorized)
	check(t, sdkerr.Sort(t.Context(), w, "srv", "act", io.ErrUnexpectedEOF), unknown)
}

// A body of an error that never ends holds nothing up by itself: it ends with the call.
func TestEndlessBodyOfARefusal(t *testing.T) {
	cs, h, _ := over(t, mcptest.Legacy, sdkerr.RoundTripper)
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
		return true
	})
	ctx, cancel := context.WithTimeout(mcptest.Context(t), 50*time.Millisecond)
	defer cancel()
	if _, err := session.Executor(cs).CallTool(ctx, act(t)); err == nil {
		t.Error("got no error")
	}
}
