// Package reach notifies a person of a question on the approvals page: by the desktop, a browser or a webhook.
package reach

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/display"
	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// Ways are how a person is notified. The zero value notifies no one. It is safe for concurrent use.
type Ways struct {
	Desktop bool     // by a notification
	Browser bool     // by opening the page, once for each scope
	Webhook *Webhook // nil means no webhook
	Logger  *slog.Logger
	// Observe gets what became of each notification, by its way: desktop, browser or webhook; nil observes nothing.
	Observe func(way string, err error)

	opened sync.Map // the scopes
}

// slots are for attempts that are under way; one more is left out, with a line in the log.
var slots = make(chan struct{}, 4)

const slow = 5 * time.Second

var errBusy = errors.New("too many attempts are under way")

// Tell notifies the person of a request with this link, by all ways at once, and returns at once. An
// error, or more than five seconds, is logged.
func (w *Ways) Tell(request hitl.Request, link string) {
	q := display.Of(request)
	text := fmt.Sprintf("%s (%s; %s) waits for approval until %s", safetext.Cut(q.Tool, 300), q.Class, q.Size(), request.Deadline.UTC().Format("15:04 UTC"))
	_, known := w.opened.LoadOrStore(request.Scope, true)
	switch {
	case w.Browser && !known:
		w.start("browser", func(ctx context.Context) error { return Open(ctx, link) })
	case w.Desktop:
		w.start("desktop", func(ctx context.Context) error { return notify(ctx, text) })
	}
	if w.Webhook != nil {
		w.start("webhook", func(ctx context.Context) error { return w.Webhook.send(ctx, request, q, text) })
	}
}

func (w *Ways) start(way string, tell func(context.Context) error) {
	failed := func(err error) {
		w.Logger.Warn("reach: nobody was told that a call waits", slog.String("way", way), slog.Any("err", err))
	}
	select {
	case slots <- struct{}{}:
	default:
		failed(errBusy)
		w.observe(way, errBusy)
		return
	}
	go func() {
		defer func() { <-slots }()
		ctx, cancel := context.WithTimeout(context.Background(), slow)
		defer cancel()
		err := tell(ctx)
		if err != nil {
			failed(err)
		}
		w.observe(way, err)
	}()
}

func (w *Ways) observe(way string, err error) {
	if w.Observe != nil {
		w.Observe(way, err)
	}
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
