//go:build unix

package fleet_test

import (
	"bufio"
	"context"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/contrib/redis/redistest"
	"github.com/fairlead-go/fairlead/verify/fleet"
)

// patient is for machines with much else to do.
const patient = 5 * time.Second

// A replica is a process with a page of its own.
type replica struct {
	t     *testing.T
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan string
	link  string
}

func start(t *testing.T, e *redistest.Server, l *fleet.Server) *replica {
	t.Helper()
	cmd, err := (&fleet.Replica{Redis: e.URL(), Server: l.Address, Asks: true, Options: fleet.Options{Patience: patient}}).Command(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := &replica{t: t, cmd: cmd, lines: make(chan string, 100)}
	r.cmd.Stderr = os.Stderr
	if r.in, err = r.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.lines)
		for s := bufio.NewScanner(out); s.Scan(); {
			r.lines <- s.Text()
		}
	}()
	t.Cleanup(r.kill)
	r.link = strings.TrimPrefix(r.says("link"), "link ")
	return r
}

func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

func (r *replica) signal(s syscall.Signal) {
	r.t.Helper()
	if err := r.cmd.Process.Signal(s); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) calls(id string) {
	r.t.Helper()
	if _, err := fmt.Fprintln(r.in, id); err != nil {
		r.t.Fatal(err)
	}
}

func (r *replica) says(prefix string) string {
	r.t.Helper()
	select {
	case line := <-r.lines:
		if !strings.HasPrefix(line, prefix) {
			r.t.Errorf("it shows %q, want %q", line, prefix)
		}
		return line
	case <-time.After(time.Minute):
		r.t.Fatalf("it does not say %q", prefix)
		return ""
	}
}

// A person is a browser that came in by a replica's link.
type person struct {
	t      *testing.T
	client *http.Client
	origin string
}

func visits(t *testing.T, r *replica) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t, &http.Client{Jar: jar}, r.link[:strings.Index(r.link, "/approvals")]}
	_, door := p.do(http.MethodGet, strings.TrimPrefix(r.link, p.origin), nil)
	if status, text := p.do(http.MethodPost, "/approvals/enter", url.Values{"token": {field(door, "token")}}); status != http.StatusOK {
		t.Fatalf("the door: %d\n%s", status, text)
	}
	return p
}

func (p *person) do(method, path string, form url.Values) (status int, text string) {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.origin+path, strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Origin", p.origin)
	}
	res, err := p.client.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func field(text, name string) string {
	found := regexp.MustCompile(`name="` + name + `" value="([^"]*)"`).FindStringSubmatch(text)
	if found == nil {
		return ""
	}
	return html.UnescapeString(found[1])
}

// sees waits until the list shows the call, and returns its question and digest.
func (p *person) sees(call string) (id, digest string) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		_, list := p.do(http.MethodGet, "/approvals/", nil)
		for _, card := range regexp.MustCompile(`(?s)<article.*?</article>`).FindAllString(list, -1) {
			if strings.Contains(card, "<dd>"+call+"</dd>") {
				id = regexp.MustCompile(`data-id="([^"]+)"`).FindStringSubmatch(card)[1]
				_, page := p.do(http.MethodGet, "/approvals/question/"+id, nil)
				return id, field(page, "digest")
			}
		}
	}
	p.t.Fatalf("the page does not show %s", call)
	return "", ""
}

func (p *person) decides(id, digest, decision string) (status int, text string) {
	p.t.Helper()
	return p.do(http.MethodPost, "/approvals/question/"+id+"/decision", url.Values{"decision": {decision}, "digest": {digest}})
}

// A person decides on the page of A what C waits for, and what happens where C
// dies before and after that.
func TestPersonAtAnotherReplica(t *testing.T) {
	t.Parallel()
	e := redistest.New(t)
	server, err := fleet.NewServer()
	if err != nil {
		t.Fatal(err)
	}
	a := start(t, e, server)
	ada := visits(t, a)
	want := func(call string, n int) {
		t.Helper()
		if got := server.Ledger.Times(call); got != n {
			t.Errorf("%s was executed %d times, want %d", call, got, n)
		}
	}
	t.Run("yes, no, and twice", func(t *testing.T) {
		c := start(t, e, server)
		c.calls("one")
		id, digest := ada.sees("one")
		if status, text := ada.decides(id, digest, "approve"); status != http.StatusOK {
			t.Errorf("%d\n%s", status, text)
		}
		c.says("done one")
		want("one", 1)
		if status, _ := ada.decides(id, digest, "deny"); status != http.StatusConflict {
			t.Errorf("the second answer: got %d", status)
		}
		c.calls("two")
		id, digest = ada.sees("two")
		ada.decides(id, digest, "deny")
		c.says("denied two")
		want("one", 1)
		want("two", 0)
	})
	t.Run("killed before the decision", func(t *testing.T) {
		c := start(t, e, server)
		c.calls("three")
		id, digest := ada.sees("three")
		c.kill()
		ada.decides(id, digest, "approve") // taken or not: no replica is there to act on it
		b := start(t, e, server)           // and one that starts does nothing of it
		time.Sleep(500 * time.Millisecond)
		b.kill()
		want("three", 0)
	})
	t.Run("killed after the decision", func(t *testing.T) {
		c := start(t, e, server)
		c.calls("four")
		id, digest := ada.sees("four")
		c.signal(syscall.SIGSTOP) // it cannot act on what is decided now
		if status, text := ada.decides(id, digest, "approve"); status != http.StatusOK {
			t.Errorf("%d\n%s", status, text)
		}
		c.kill()
		b := start(t, e, server)
		time.Sleep(500 * time.Millisecond)
		b.kill()
		want("four", 0)
	})
	t.Run("the question of a dead replica is removed", func(t *testing.T) {
		c := start(t, e, server)
		c.calls("five")
		id, digest := ada.sees("five")
		c.kill()
		time.Sleep(11 * time.Second)
		if status, _ := ada.decides(id, digest, "approve"); status != http.StatusConflict {
			t.Errorf("got %d", status)
		}
		want("five", 0)
	})
	t.Run("Redis dies while a call waits", func(t *testing.T) {
		c := start(t, e, server)
		c.calls("six")
		id, digest := ada.sees("six")
		e.Kill()
		if status, _ := ada.decides(id, digest, "approve"); status != http.StatusServiceUnavailable {
			t.Errorf("got %d", status)
		}
		c.says("denied six")
		want("six", 0)
	})
}
