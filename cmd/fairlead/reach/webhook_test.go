package reach_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/cmd/fairlead/reach"
)

const key = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX"

// The receiver of a webhook can tell that a request is ours, and learns what a person needs
// to find the question and nothing that decides it.
func TestWebhook(t *testing.T) {
	t.Parallel()
	type got struct {
		header http.Header
		body   []byte
	}
	received := make(chan got, 1)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received <- got{r.Header, body}
	}))
	t.Cleanup(receiver.Close)
	hook, err := reach.NewWebhook(receiver.URL, key)
	if err != nil {
		t.Fatal(err)
	}
	(&reach.Ways{Webhook: hook, Logger: slog.New(slog.DiscardHandler)}).Tell(request(t, ""), "http://127.0.0.1/approvals/?token=secret")
	r := <-received
	secret, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_"))
	mac := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(mac, r.header.Get("Webhook-Id")+"."+r.header.Get("Webhook-Timestamp")+"."+string(r.body))
	if want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil)); r.header.Get("Webhook-Signature") != want {
		t.Errorf("signed with %q, want %q", r.header.Get("Webhook-Signature"), want)
	}
	var body struct {
		Type, Text string
		Data       struct{ Tool, Class, Until, Host string }
	}
	if err := json.Unmarshal(r.body, &body); err != nil || body.Type != "approval.waiting" || body.Data.Class != "dangerous" || body.Data.Until != "2026-07-28T15:04:05Z" {
		t.Errorf("%v: got %s", err, r.body)
	}
	if strings.Contains(string(r.body), "secret") || strings.ContainsAny(body.Text, "<>\n") || !strings.Contains(body.Text, "fairlead approve") {
		t.Errorf("got %s", r.body)
	}
}

func TestWebhookAddresses(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"https://hooks.example/x": true, "http://127.0.0.1:1/x": true, "http://[::1]/x": true, "http://localhost/x": true,
		"http://hooks.example/x": false, "http://127.0.0.1.example/x": false, "ftp://localhost/x": false, "hooks.example": false, "https://": false, "": false,
	} {
		if _, err := reach.NewWebhook(address, key); (err == nil) != ok {
			t.Errorf("%q: got %v", address, err)
		}
	}
	for _, bad := range []string{"x", "whsec_AAEC", "whsec_%%"} {
		if _, err := reach.NewWebhook("https://a.example", bad); err == nil {
			t.Errorf("the key %q was taken", bad)
		}
	}
}

// A receiver that does not answer holds up nobody, and one that fails or sends elsewhere is
// in the log, without the address.
func TestWebhookThatFails(t *testing.T) {
	t.Parallel()
	open := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-open:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(open) })
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://elsewhere.example", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(elsewhere.Close)
	log := new(lines)
	for _, c := range []struct{ address, says string }{
		{elsewhere.URL + "/token", "307"},
		{"http://127.0.0.1:1/token", "refused"},
		{slow.URL + "/token", "too many attempts"},
	} {
		hook, err := reach.NewWebhook(c.address, "")
		if err != nil {
			t.Fatal(err)
		}
		w := &reach.Ways{Webhook: hook, Logger: slog.New(slog.NewTextHandler(log, nil))}
		began := time.Now()
		for range 6 {
			w.Tell(request(t, ""), "")
			if c.says != "too many attempts" {
				break
			}
		}
		until(t, c.says, log.has(c.says))
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("%s: it took %v", c.address, took)
		}
	}
	if log.has("/token")() {
		t.Error("the log has the address")
	}
}
