package reach

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
)

// A Webhook is an address that is notified of each question, in the form of Standard Webhooks, with
// a text for Slack and others like it.
type Webhook struct {
	address string
	key     []byte // nil signs nothing
	host    string // this machine's name
	client  *http.Client
}

// NewWebhook returns a webhook that signs its requests with a key such as "whsec_" and random bytes in
// base64, or not if it is empty. An address that is neither https nor loopback is an error.
func NewWebhook(address, key string) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || u.Hostname() != "localhost" && !net.ParseIP(u.Hostname()).IsLoopback()) {
		return nil, fmt.Errorf("the address has to begin with https://, or http:// on this machine") // it may hold a secret
	}
	h := &Webhook{address: address, client: &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	if key != "" {
		if h.key, err = base64.StdEncoding.DecodeString(strings.TrimPrefix(key, "whsec_")); err != nil || len(h.key) < 24 {
			return nil, fmt.Errorf("the key is not at least 24 bytes in base64; openssl rand -base64 32 prints some")
		}
	}
	h.host, _ = os.Hostname() // without it the text names no machine
	return h, nil
}

// send posts what a person needs to find the question, and how much there is to read: no argument, and no link, which
// lets in.
func (h *Webhook) send(ctx context.Context, request hitl.Request, q display.Question, text string) error {
	now := time.Now().UTC()
	size, lines := 0, 0
	for _, p := range q.Parts {
		size, lines = size+p.Bytes, lines+p.Lines
	}
	data := map[string]any{
		"tool": request.Tool.String(), "class": request.Tool.Safety().String(), "until": request.Deadline.UTC().Format(time.RFC3339), "host": h.host,
		"values": len(q.Parts), "bytes": size, "lines": lines,
	}
	if request.Number > 0 { // notifications of one turn may arrive in another order
		data["call"] = request.Number
	}
	body, err := json.Marshal(map[string]any{
		"type": "approval.waiting", "timestamp": now.Format(time.RFC3339), "data": data,
		"text": plain.Replace(text + " on " + h.host + ": run fairlead approve there"),
	})
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, h.address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	id, at := "msg_"+rand.Text(), strconv.FormatInt(now.Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Webhook-Id", id)
	r.Header.Set("Webhook-Timestamp", at)
	if h.key != nil {
		mac := hmac.New(sha256.New, h.key)
		_, _ = io.WriteString(mac, id+"."+at+"."+string(body)) // it never fails
		r.Header.Set("Webhook-Signature", "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	res, err := h.client.Do(r)
	if err != nil {
		return errors.Unwrap(err) // without the address, which may hold a secret
	}
	_ = res.Body.Close()
	if res.StatusCode/100 != 2 {
		return fmt.Errorf("HTTP %s", res.Status)
	}
	return nil
}
