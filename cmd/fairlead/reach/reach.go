// Package reach notifies a person of a question on the approvals page: by the desktop, a browser or a webhook.
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
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/safetext"
)

// Ways are how a person is notified. The zero value notifies no one. It is safe for concurrent use.
type Ways struct {
	Desktop bool     // by a notification
	Browser bool     // by opening the page, once for each scope
	Webhook *Webhook // nil is none
	Logger  *slog.Logger

	opened sync.Map // the scopes
}

// slots are for attempts that are under way; one more is left out, with a line in the log.
var slots = make(chan struct{}, 4)

const slow = 5 * time.Second

// Tell notifies the person of a request with this link, by all ways at once, and returns at once. An
// error, or more than five seconds, is logged.
func (w *Ways) Tell(request hitl.Request, link string) {
	text := fmt.Sprintf("%s waits for approval until %s", safetext.Cut(safetext.Line(request.Tool.String()), 300), request.Deadline.UTC().Format("15:04 UTC"))
	_, known := w.opened.LoadOrStore(request.Scope, true)
	switch {
	case w.Browser && !known:
		w.start("browser", func(ctx context.Context) error { return Open(ctx, link) })
	case w.Desktop:
		w.start("desktop", func(ctx context.Context) error { return notify(ctx, text) })
	}
	if w.Webhook != nil {
		w.start("webhook", func(ctx context.Context) error { return w.Webhook.send(ctx, request, text) })
	}
}

func (w *Ways) start(way string, tell func(context.Context) error) {
	failed := func(err error) {
		w.Logger.Warn("reach: nobody was told that a call waits", slog.String("way", way), slog.Any("err", err))
	}
	select {
	case slots <- struct{}{}:
	default:
		failed(errors.New("too many attempts are under way"))
		return
	}
	go func() {
		defer func() { <-slots }()
		ctx, cancel := context.WithTimeout(context.Background(), slow)
		defer cancel()
		if err := tell(ctx); err != nil {
			failed(err)
		}
	}()
}

// Open opens an address in the person's browser.
func Open(ctx context.Context, address string) error {
	command := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if command == nil {
		command = []string{"xdg-open"}
	}
	return run(ctx, append(command, address)...)
}

// notify shows a notification where the desktop has a command for it.
func notify(ctx context.Context, text string) error {
	command := []string{"notify-send", "--app-name=fairlead", "--", "Fairlead", plain.Replace(text)}
	if runtime.GOOS == "darwin" {
		command = []string{"osascript", "-e", "on run argv", "-e", `display notification (item 1 of argv) with title "Fairlead"`, "-e", "end run", text}
	}
	if _, err := exec.LookPath(command[0]); err != nil {
		return nil //nolint:nilerr // this machine has no such desktop
	}
	return run(ctx, command...)
}

// plain takes the meaning from what notifications and Slack read as markup.
var plain = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func run(ctx context.Context, command ...string) error {
	return exec.CommandContext(ctx, command[0], command[1:]...).Run() // of a list above, with no shell
}

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

// send posts what a person needs to find the question: no argument, and no link, which lets in.
func (h *Webhook) send(ctx context.Context, request hitl.Request, text string) error {
	now := time.Now().UTC()
	body, err := json.Marshal(map[string]any{
		"type": "approval.waiting", "timestamp": now.Format(time.RFC3339),
		"data": map[string]any{
			"tool": request.Tool.String(), "class": request.Tool.Safety().String(), "until": request.Deadline.UTC().Format(time.RFC3339), "host": h.host,
		},
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
