package proxy_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/coreos/go-oidc/v3/oidc/oidctest"
	"github.com/fairlead-go/fairlead/audit"
	"github.com/fairlead-go/fairlead/cache"
	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/inbox"
	"github.com/fairlead-go/fairlead/ratelimit"
	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// opened returns an access by tokens to 127.0.0.1, and what sends requests with the token of a user. Bob may approve.
func opened(t *testing.T) (*access.Access, func(user, scopes string) *http.Client) {
	t.Helper()
	return openedWith(t, "")
}

// openedWith is opened, with further claims in each token.
func openedWith(t *testing.T, claims string) (*access.Access, func(user, scopes string) *http.Client) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	issuer := &oidctest.Server{PublicKeys: []oidctest.PublicKey{{PublicKey: key.Public(), KeyID: "k", Algorithm: oidc.ES256}}, Algorithms: []string{oidc.ES256}}
	served := httptest.NewServer(issuer)
	t.Cleanup(served.Close)
	issuer.SetIssuer(served.URL)
	name := filepath.Join(t.TempDir(), "access.json")
	text := fmt.Sprintf(`{"hosts": ["127.0.0.1"], "tokens": {"issuer": %q, "audience": "here", "scopes": "scope"}, "approvers": ["bob"], "sessions": 3}`, served.URL)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := access.Open(name)
	if err == nil {
		err = a.Renew(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	return a, func(user, scopes string) *http.Client {
		token := oidctest.SignIDToken(key, "k", oidc.ES256, fmt.Sprintf(`{"iss":%q,"aud":"here","sub":%q,"scope":%q,"exp":%d%s}`, served.URL, user, scopes, time.Now().Add(time.Hour).Unix(), claims))
		return &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.Header.Set("Authorization", "Bearer "+token)
			return http.DefaultTransport.RoundTrip(r)
		})}
	}
}

// Users of other machines get what their tokens cover, and nothing of each other's sessions.
func TestUsersOfOtherMachines(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			a, as := opened(t)
			var mu sync.Mutex
			var records []audit.Record
			at := listenOn(t, proxy.Options{
				Servers: []proxy.Server{child(t, "things")}, Access: a, Policy: decided(t, `{}`),
				Audit: audit.SinkFunc(func(_ context.Context, r audit.Record) error {
					mu.Lock()
					defer mu.Unlock()
					records = append(records, r)
					return nil
				}),
			})
			dial := func(user, scopes string) *mcp.ClientSession {
				return mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: as(user, scopes)}, version)
			}
			tools := func(cs *mcp.ClientSession) (names []string) {
				res, err := cs.ListTools(mcptest.Context(t), nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, tool := range res.Tools {
					names = append(names, tool.Name)
				}
				return names
			}
			ann, bob, carl := dial("ann", "openid things.read"), dial("bob", "*.all"), dial("carl", "openid profile")
			for user, c := range map[string]struct {
				cs   *mcp.ClientSession
				want []string
			}{"ann": {ann, []string{"list_things"}}, "bob": {bob, thingNames}, "carl": {carl, nil}} {
				if got := tools(c.cs); !slices.Equal(got, c.want) {
					t.Errorf("%s: got %v, want %v", user, got, c.want)
				}
			}
			if res, err := ann.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "list_things"}); err != nil || text(t, res) != "a, b" {
				t.Errorf("got %v, %v", res, err)
			}
			if res, err := ann.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_thing"}); err == nil && !res.IsError {
				t.Errorf("a call that the token does not cover: got %v", res)
			}
			mu.Lock()
			for _, r := range records {
				if r.Scope != "ann" {
					t.Errorf("the record of %s has the scope %q", r.Tool, r.Scope)
				}
			}
			if len(records) < 2 {
				t.Errorf("got %d records", len(records))
			}
			mu.Unlock()
			if version != mcptest.Legacy {
				return
			}
			for name, c := range map[string]*http.Client{"of another user": as("bob", "*.all"), "of the user with another token's scopes": as("ann", "*.all")} {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, at, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Mcp-Session-Id", ann.ID())
				res, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_ = res.Body.Close()
				if res.StatusCode != http.StatusNotFound {
					t.Errorf("a request %s got %s", name, res.Status)
				}
			}
			if _, err := mcptest.NewClient().Connect(mcptest.Context(t), &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: as("dora", "")}, nil); err == nil || !strings.Contains(err.Error(), "Too Many Requests") {
				t.Errorf("the fourth session: got %v", err)
			}
		})
	}
}

// An approver comes in at any replica by the token alone, and decides there what waits at another. Nobody approves a
// call of their own.
func TestApproverDecidesAtAnyReplica(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	board, store := approvals.NewBoard(), approvals.NewMemory()
	replica := func() string {
		in := inbox.New(inbox.Options{Board: board, Store: store, Hosts: a.Hosts, User: a.Approver})
		return listenOn(t, proxy.Options{
			Servers: []proxy.Server{child(t, "things")}, Access: a, Page: in, Confirm: in, Policy: decided(t, `{}`),
			Share: func(_ *cache.Options, _ *ratelimit.Options, ask *hitl.Options) { ask.Store = store },
		})
	}
	first, second := replica(), strings.TrimSuffix(replica(), "/mcp")
	called := make(chan string, 2)
	for _, user := range []string{"ann", "bob"} {
		cs := mcptest.Dial(t, mcptest.NewClient(), &mcp.StreamableClientTransport{Endpoint: first, HTTPClient: as(user, "*.all")}, mcptest.Legacy)
		go func() {
			res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_thing", Arguments: map[string]any{"of": user}})
			if err != nil {
				called <- err.Error()
				return
			}
			called <- user + ": " + text(t, res)
		}()
	}
	do := func(client *http.Client, method, path string, form url.Values) (status int, body string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, second+path, strings.NewReader(form.Encode()))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", second)
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(text)
	}
	if status, body := do(as("ann", "*.all"), http.MethodGet, "/approvals/", nil); status != http.StatusForbidden || strings.Contains(body, "delete_thing") {
		t.Errorf("a user who may not approve got %d %s", status, body)
	}
	bob := as("bob", "")
	var waiting []string
	question := regexp.MustCompile(`question/([A-Za-z0-9_-]+)"`)
	for ctx := mcptest.Context(t); len(waiting) < 2; {
		if ctx.Err() != nil {
			t.Fatalf("%d questions wait", len(waiting))
		}
		_, list := do(bob, http.MethodGet, "/approvals/", nil)
		waiting = nil
		for _, m := range question.FindAllStringSubmatch(list, -1) {
			waiting = append(waiting, m[1])
		}
		slices.Sort(waiting)
		waiting = slices.Compact(waiting)
	}
	var statuses []int
	for _, id := range waiting {
		_, page := do(bob, http.MethodGet, "/approvals/question/"+id, nil)
		digest := regexp.MustCompile(`name="digest" value="([^"]*)"`).FindStringSubmatch(page)
		if digest == nil || !strings.Contains(page, " on behalf of ") {
			t.Fatal(page)
		}
		form := url.Values{"decision": {"approve"}, "digest": digest[1:]}
		status, _ := do(bob, http.MethodPost, "/approvals/question/"+id+"/decision", form)
		if statuses = append(statuses, status); status == http.StatusForbidden {
			form.Set("decision", "deny")
			do(bob, http.MethodPost, "/approvals/question/"+id+"/decision", form)
		}
	}
	if slices.Sort(statuses); !slices.Equal(statuses, []int{http.StatusOK, http.StatusForbidden}) {
		t.Errorf("the approvals of ann's and bob's call got %v", statuses)
	}
	got := []string{mcptest.Wait(t, "a call", called), mcptest.Wait(t, "a call", called)}
	slices.Sort(got)
	if got[0] != "ann: it is gone" || !strings.Contains(got[1], "bob: ") || !strings.Contains(got[1], "was not called") {
		t.Errorf("got %q", got)
	}
}

// Who makes a call is in its record, before the call is made, as the token and the client state it: person, client, agent
// and sub-agent, and what the program calls itself. The person who is asked sees the same.
func TestIdentityIsRecorded(t *testing.T) {
	t.Parallel()
	for _, version := range mcptest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			a, as := openedWith(t, `,"azp":"desk","act":{"sub":"coder","act":{"sub":"planner"}}`)
			var mu sync.Mutex
			var records []audit.Record
			at := listenOn(t, proxy.Options{
				Servers: []proxy.Server{child(t, "things")}, Access: a, Policy: decided(t, `{}`),
				Confirm: hitl.ConfirmerFunc(func(_ context.Context, r hitl.Request) (hitl.Decision, error) {
					if got, want := display.Of(r).Asker, `"editor 2" asks for things/delete_thing on behalf of ann, by a token for desk, through planner and coder`; !strings.HasPrefix(got, want) {
						t.Errorf("the person reads\n%s\nwant\n%s", got, want)
					}
					return hitl.Decision{Verdict: hitl.Approved, By: "bob"}, nil
				}),
				Audit: audit.SinkFunc(func(_ context.Context, r audit.Record) error {
					mu.Lock()
					defer mu.Unlock()
					records = append(records, r)
					return nil
				}),
			})
			cs := mcptest.Dial(t, mcp.NewClient(&mcp.Implementation{Name: "editor", Version: "2"}, nil), &mcp.StreamableClientTransport{Endpoint: at, HTTPClient: as("ann", "*.all")}, version)
			if res, err := cs.CallTool(mcptest.Context(t), &mcp.CallToolParams{Name: "delete_thing", Arguments: map[string]any{"of": "ann"}}); err != nil || res.IsError {
				t.Fatalf("got %v, %v", res, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if len(records) != 2 || records[0].Kind != audit.Intent || records[0].By != "bob" || records[1].Caller != nil {
				t.Fatalf("got %+v", records)
			}
			want := &audit.Caller{User: "ann", Client: "desk", Actors: []string{"coder", "planner"}, Agent: "editor 2"}
			if diff := cmp.Diff(want, records[0].Caller); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The log has why tokens are refused, in one line a minute, so that clocks that are apart can be told from strangers.
func TestRefusedTokensAreLogged(t *testing.T) {
	t.Parallel()
	a, as := opened(t)
	log := newLines(t)
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{child(t, "things")}, Access: a, Policy: decided(t, `{}`), Logger: slog.New(slog.NewTextHandler(log, nil))})
	wrong := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer se\u202esame.a.b")
		return http.DefaultTransport.RoundTrip(r)
	})}
	for range 3 {
		if res := post(t, wrong, url, "", initialize); res.StatusCode != http.StatusUnauthorized {
			t.Fatalf("got %s", res.Status)
		}
	}
	if res := post(t, as("ann", ""), url, "", initialize); res.StatusCode != http.StatusOK {
		t.Fatalf("got %s", res.Status)
	}
	if text := log.String(); strings.Count(text, "a token was refused") != 1 || !strings.Contains(text, "malformed jwt") || strings.Contains(text, "sesame") {
		t.Errorf("the log has not one line:\n%s", text)
	}
}
