package proxy_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/proxy"
	"github.com/fairlead-go/fairlead/fairleadtest/mcptest"
)

// readiness waits until /readyz has a status, and returns its code.
func readiness(t *testing.T, url, want string) int {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		res, err := http.Get(strings.TrimSuffix(url, "/mcp") + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		var body struct {
			Status       string
			Dependencies []struct{ Name, Status, Refused string }
		}
		err = json.NewDecoder(res.Body).Decode(&body)
		if _ = res.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if body.Status == want {
			return res.StatusCode
		}
		if time.Now().After(end) {
			t.Fatalf("got %+v, want %s", body, want)
		}
	}
}

// Readiness names a server that has gone, and notices its return, without a call.
func TestReadinessNoticesAServerThatIsAway(t *testing.T) {
	t.Parallel()
	var gone atomic.Bool
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodHead || r.Header.Get("Authorization") != "" {
			t.Errorf("got a %s with the credential %q", r.Method, r.Header.Get("Authorization"))
		}
		if gone.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.WriteHeader(http.StatusUnauthorized)
	}))
	t.Cleanup(behind.Close)
	gone.Store(true)
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{{Name: "crm", URL: behind.URL, Header: map[string]string{"Authorization": "Bearer x"}}}})
	if code := readiness(t, url, "away"); code != http.StatusServiceUnavailable {
		t.Errorf("got %d", code)
	}
	gone.Store(false)
	if code := readiness(t, url, "ok"); code != http.StatusOK {
		t.Errorf("got %d", code)
	}
}

// A process that cannot be started is away while the other server answers.
func TestReadinessNamesAProcessThatCannotStart(t *testing.T) {
	t.Parallel()
	url := listenOn(t, proxy.Options{Servers: []proxy.Server{
		serve(t, things(), mcptest.Legacy), {Name: "missing", Command: []string{filepath.Join(t.TempDir(), "missing")}},
	}})
	if code := readiness(t, url, "ok"); code != http.StatusOK {
		t.Errorf("before anybody used it: got %d", code)
	}
	res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if code := readiness(t, url, "degraded"); code != http.StatusOK {
		t.Errorf("got %d", code)
	}
}
