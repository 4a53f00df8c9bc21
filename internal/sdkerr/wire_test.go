package sdkerr_test

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/internal/session"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// over connects to a counting server through a transport.
func over(t *testing.T, version string, wrap func(http.RoundTripper) http.RoundTripper) (*mcp.ClientSession, *mcptest.HTTP, *atomic.Int32) {
	t.Helper()
	server, ran := counter()
	transport, h := mcptest.HTTPTransport(t, server, version)
	transport.HTTPClient.Transport = wrap(transport.HTTPClient.Transport)
	return mcptest.Dial(t, nil, transport, version), h, ran
}

// answering makes the server answer with a status and headers, without running
// the tool.
func answering(h *mcptest.HTTP, status int, headers ...string) *atomic.Int32 {
	got := new(atomic.Int32)
	h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
		got.Add(1)
		_, _ = io.Copy(io.Discard, r.Body)
		for i := 0; i < len(headers); i += 2 {
			w.Header()[headers[i]] = []string{headers[i+1]}
		}
		w.WriteHeader(status)
		return true
	})
	return got
}

func TestStatusAndRetryAfterAreRead(t *testing.T) {
	refused := func(after time.Duration) verdict { return verdict{refused: true, after: after} }
	later := func(after time.Duration) verdict { return verdict{after: after} }
	const date = "Sun, 06 Nov 1994 08:49:37 GMT"
	for _, c := range []struct {
		name    string
		status  int
		headers []string
		want    verdict
	}{
		{"429", 429, nil, refused(0)},
		{"429, 7 seconds", 429, []string{"Retry-After", "7"}, refused(7 * time.Second)},
		{"429, a fraction", 429, []string{"Retry-After", " 0.5 "}, refused(500 * time.Millisecond)},
		{"B133 429, a day", 429, []string{"Retry-After", "86400"}, refused(24 * time.Hour)},
		{"429, a date", 429, []string{"Retry-After", "Sun, 06 Nov 1994 08:50:37 GMT", "Date", date}, refused(time.Minute)},
		{"429, a date that has passed", 429, []string{"Retry-After", "Sun, 06 Nov 1994 08:40:37 GMT", "Date", date}, refused(0)},
		{"429, negative", 429, []string{"Retry-After", "-7"}, refused(0)},
		{"429, past what a duration holds", 429, []string{"Retry-After", "1e400"}, refused(math.MaxInt64 / 2)},
		{"429, no number", 429, []string{"Retry-After", "NaN"}, refused(0)},
		{"429, words", 429, []string{"Retry-After", "soon"}, refused(0)},
		{"503", 503, nil, unknown},
		{"503, 7 seconds", 503, []string{"Retry-After", "7"}, later(7 * time.Second)},
		{"500, 7 seconds", 500, []string{"Retry-After", "7"}, unknown},
		{"502, 7 seconds", 502, []string{"Retry-After", "7"}, unknown},
		{"408", 408, nil, unknown},
		{"409", 409, nil, unknown},
		{"302", 302, nil, unknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				cs, h, _ := over(t, version, sdkerr.RoundTripper)
				got := answering(h, c.status, c.headers...)
				check(t, call(t, cs), c.want)
				if got.Load() != 1 {
					t.Errorf("the server got %d requests, want 1", got.Load())
				}
			})
		})
	}
}

// A transport that was prepared twice still counts a request once.
func TestStatusThroughTwoOfOursIsRead(t *testing.T) {
	twice := func(b http.RoundTripper) http.RoundTripper {
		return sdkerr.RoundTripper(adding("X")(sdkerr.RoundTripper(b)))
	}
	eachVersion(t, func(t *testing.T, version string) {
		cs, h, _ := over(t, version, twice)
		answering(h, http.StatusTooManyRequests, "Retry-After", "7")
		check(t, call(t, cs), verdict{refused: true, after: 7 * time.Second})
	})
}

// A status is that of the last request. If others left before it, they may have been executed, and
// the last one's refusal does not describe them.
func TestRefusalAfterAnotherRequestIsUnknown(t *testing.T) {
	again := func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			res, err := base.RoundTrip(r)
			if err != nil || res.StatusCode != http.StatusBadGateway {
				return res, err
			}
			_ = res.Body.Close()
			second := r.Clone(r.Context())
			second.Body, _ = r.GetBody()
			return base.RoundTrip(second)
		})
	}
	for _, c := range []struct {
		name string
		wrap func(http.RoundTripper) http.RoundTripper
	}{
		{"a transport that repeats, around ours", func(b http.RoundTripper) http.RoundTripper { return again(sdkerr.RoundTripper(b)) }},
		{"beneath ours", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(again(b)) }},
		{"between two of ours", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(again(sdkerr.RoundTripper(b))) }},
		{"without ours", again},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, version string) {
				cs, h, _ := over(t, version, c.wrap)
				var got atomic.Int32
				h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
					if got.Add(1) == 1 {
						w.WriteHeader(http.StatusBadGateway)
					} else {
						w.WriteHeader(http.StatusTooManyRequests)
					}
					return true
				})
				check(t, call(t, cs), unknown)
				if got.Load() != 2 {
					t.Errorf("the server got %d requests, want 2", got.Load())
				}
			})
		})
	}
	t.Run("a transport that is not net/http's, between two of ours", func(t *testing.T) {
		w := answeredBy(t, http.StatusBadGateway, http.StatusTooManyRequests)
		check(t, sdkerr.Sort(t.Context(), w, "srv", "act", errors.New("x")), unknown)
	})
	t.Run("a transport that is not net/http's, around ours", func(t *testing.T) {
		statuses := []int{http.StatusBadGateway, http.StatusTooManyRequests}
		fake := roundTripper(func(r *http.Request) (*http.Response, error) {
			res := &http.Response{StatusCode: statuses[0], Body: http.NoBody, Request: r}
			statuses = statuses[1:]
			return res, nil
		})
		ctx, w := sdkerr.Watch(t.Context())
		for range 2 {
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", strings.NewReader("{}"))
			res, err := sdkerr.RoundTripper(fake).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}
		check(t, sdkerr.Sort(t.Context(), w, "srv", "act", errors.New("x")), unknown)
	})
}

func adding(key string) func(http.RoundTripper) http.RoundTripper {
	return func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header[key] = []string{"1"}
			return base.RoundTrip(r)
		})
	}
}

func TestB135NetHTTPSendsNoPostASecondTime(t *testing.T) {
	for _, key := range []string{"Idempotency-Key", "X-Idempotency-Key", "Other"} {
		for _, c := range []struct {
			name string
			wrap func(http.RoundTripper) http.RoundTripper
			safe bool
		}{
			{"without RoundTripper", adding(key), key == "Other"},
			{"added around it", func(b http.RoundTripper) http.RoundTripper { return adding(key)(sdkerr.RoundTripper(b)) }, true},
			{"added beneath it", func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(adding(key)(b)) }, true},
		} {
			t.Run(key+" "+c.name, func(t *testing.T) {
				eachVersion(t, func(t *testing.T, version string) {
					cs, h, _ := over(t, version, c.wrap)
					replayed := 0
					for range 20 { // a replay needs a connection that is there already
						h.Intercept(nil)
						if _, err := session.Executor(cs).CallTool(mcptest.Context(t), act(t)); err != nil {
							t.Fatal(err)
						}
						var executed atomic.Int32
						h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
							_, _ = io.Copy(io.Discard, r.Body)
							executed.Add(1)
							conn, _, _ := w.(http.Hijacker).Hijack()
							_ = conn.Close()
							return true
						})
						check(t, call(t, cs), unknown)
						if executed.Load() > 1 {
							replayed++
						}
					}
					if replayed > 0 == c.safe {
						t.Errorf("%d of 20 calls were sent twice; none: want %t", replayed, c.safe)
					}
				})
			})
		}
	}
}

func TestStoppedReplayIsReported(t *testing.T) {
	cs, h, _ := over(t, mcptest.Modern, func(b http.RoundTripper) http.RoundTripper { return sdkerr.RoundTripper(adding("Idempotency-Key")(b)) })
	var last error
	for range 50 { // a replay needs a connection that is there already
		h.Intercept(nil)
		if _, err := session.Executor(cs).CallTool(mcptest.Context(t), act(t)); err != nil {
			t.Fatal(err)
		}
		h.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, _ := w.(http.Hijacker).Hijack()
			_ = conn.Close()
			return true
		})
		if last = call(t, cs); strings.Contains(last.Error(), "Idempotency-Key") {
			return
		}
	}
	t.Errorf("got %v, want it to say that net/http was stopped", last)
}

// With RoundTripper an answer is as good as without.
func TestAnswersPassThrough(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		cs, _, ran := over(t, version, sdkerr.RoundTripper)
		for range 3 {
			res, err := session.Executor(cs).CallTool(mcptest.Context(t), act(t))
			if err != nil || res.IsError {
				t.Fatalf("got %v, %v", res, err)
			}
		}
		if ran.Load() != 3 {
			t.Errorf("the tool ran %d times, want 3", ran.Load())
		}
	})
}

// A text that looks like a status is not one.
func TestForgedStatusDoesNotCount(t *testing.T) {
	eachVersion(t, func(t *testing.T, version string) {
		cs, h, _ := over(t, version, sdkerr.RoundTripper)
		answering(h, http.StatusBadGateway, "Retry-After", "7")
		if err := call(t, cs); middleware.Refused(err) {
			t.Errorf("%v counts as refused", err)
		}
	})
}

// answeredBy watches a call for which a transport around ours sends a request for each of the statuses.
func answeredBy(t *testing.T, statuses ...int) *sdkerr.Wire {
	t.Helper()
	ctx, w := sdkerr.Watch(t.Context())
	for _, status := range statuses {
		fake := roundTripper(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Body: http.NoBody, Request: r}, nil
		})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://x", strings.NewReader("{}"))
		res, err := sdkerr.RoundTripper(fake).RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	return w
}
