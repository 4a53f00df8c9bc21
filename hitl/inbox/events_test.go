package inbox_test

import (
	"bufio"
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// stream reads the events of one page until it is cancelled.
func (b *browser) stream(ctx context.Context) (<-chan string, int) {
	b.tb.Helper()
	res, err := b.client.Do(b.request(http.MethodGet, "/approvals/events", "").WithContext(ctx)) //nolint:bodyclose // by the goroutine below
	if err != nil {
		b.tb.Fatal(err)
	}
	lines := make(chan string, 5000)
	go func() {
		defer close(lines)
		defer res.Body.Close()
		for s := bufio.NewScanner(res.Body); s.Scan(); {
			if s.Text() != "" {
				lines <- s.Text()
			}
		}
	}()
	return lines, res.StatusCode
}

func drain(lines <-chan string) []string {
	synctest.Wait()
	var got []string
	for {
		select {
		case line, ok := <-lines:
			if !ok {
				return append(got, "end")
			}
			got = append(got, line)
		default:
			return got
		}
	}
}

func TestPageHearsOfChanges(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		ctx, cancel := context.WithCancel(t.Context())
		lines, _ := b.stream(ctx)
		other, _ := b.stream(ctx)
		want := func(when, text string) {
			t.Helper()
			for _, tab := range []<-chan string{lines, other} {
				if got := strings.Join(drain(tab), " "); got != text {
					t.Errorf("%s: got %q, want %q", when, got, text)
				}
			}
		}
		want("at first", "event: change data: 0")
		a := ask(t.Context(), in, asks(t, "one", `{}`))
		time.Sleep(time.Second)
		want("a question", "event: change data: 1")
		time.Sleep(20 * time.Second)
		want("nothing happens", ":")
		b.decides("one", "deny")
		<-a.over
		time.Sleep(time.Second)
		want("it is decided", "event: change data: 2")
		for _, id := range []string{"a", "b", "c", "d"} {
			ask(t.Context(), in, asks(t, id, `{}`))
		}
		time.Sleep(time.Second)
		want("several at once", "event: change data: 6") // one line each would be a flood
		cancel()
		time.Sleep(time.Minute)
	})
}

func TestStreamEndsWithItsSession(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		lines, _ := b.stream(t.Context())
		time.Sleep(12*time.Hour + time.Second)
		got := drain(lines)
		if got[len(got)-1] != "end" {
			t.Errorf("it goes on: %q", got[len(got)-1])
		}
	})
}

// A stream ends with the server, and the server does not wait for it.
func TestStreamEndsWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, n := inbox.New(inbox.Options{}), newNetwork()
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error)
		go func() { stopped <- in.Serve(ctx, n) }()
		lines, _ := enters(t, n, in, "").stream(t.Context())
		drain(lines)
		began := time.Now()
		cancel()
		if err := <-stopped; err != nil || time.Since(began) > time.Second {
			t.Errorf("got error %v after %v", err, time.Since(began))
		}
		if _, open := <-lines; open {
			t.Error("it goes on")
		}
	})
}

func TestStreamsAreBounded(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		ctx, cancel := context.WithCancel(t.Context())
		for range inbox.MaxStreams {
			if _, status := b.stream(ctx); status != http.StatusOK {
				t.Fatalf("got status %d", status)
			}
		}
		if _, status := b.stream(ctx); status != http.StatusServiceUnavailable {
			t.Errorf("got status %d for one more", status)
		}
		b.get("/approvals/").want(t, http.StatusOK)
		cancel()
		synctest.Wait()
		ctx, cancel = context.WithCancel(t.Context())
		if _, status := b.stream(ctx); status != http.StatusOK {
			t.Errorf("got status %d where there is room again", status)
		}
		cancel()
		synctest.Wait()
	})
}
