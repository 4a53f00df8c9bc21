package inbox_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/inbox"
)

// In a server of the host's, below a path of the host's, under the host's name.
func TestMounted(t *testing.T) {
	t.Parallel()
	in := inbox.New(inbox.Options{Path: "/ops/ask/", Hosts: []string{"agents.example"}})
	mux := http.NewServeMux()
	mux.Handle("/ops/ask/", in)
	server := httptest.NewServer(mux)
	defer server.Close()
	for host, want := range map[string]int{"agents.example": http.StatusOK, "AGENTS.example:8443": http.StatusOK, "127.0.0.1": http.StatusMisdirectedRequest} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+strings.TrimPrefix(in.Link("https://agents.example", ""), "https://agents.example"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s: got status %d, want %d", host, res.StatusCode, want)
		}
	}
}

// A body that trickles in ends in ten seconds, whoever else waits.
func TestSlowBody(t *testing.T) {
	t.Run("B231: a byte a second", func(t *testing.T) {
		served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
			b := enters(t, n, in, "")
			a := ask(t.Context(), in, asks(t, "one", `{}`))
			r := b.request(http.MethodPost, "/approvals/question/one/decision", "")
			r.Body, r.ContentLength = io.NopCloser(&trickle{left: []byte(b.form("one", "approve").Encode())}), -1
			began := time.Now()
			b.sends(n, r).want(t, http.StatusRequestTimeout)
			if took := time.Since(began); took < 9*time.Second || took > 12*time.Second {
				t.Errorf("it took %v", took)
			}
			a.waits(t)
			b.decides("one", "approve").want(t, http.StatusOK)
			a.want(t, hitl.Approved)
			time.Sleep(time.Minute) // the sender notices that nobody listens any more
		})
	})
}

// sends does without an http.Client: that one reports whichever it meets first, the answer or that the rest of the
// body cannot be written.
func (b *browser) sends(n *network, r *http.Request) page {
	b.tb.Helper()
	conn, err := n.dial(r.Context(), "", "")
	if err != nil {
		b.tb.Fatal(err)
	}
	defer conn.Close()
	for _, cookie := range b.client.Jar.Cookies(r.URL) {
		r.AddCookie(cookie)
	}
	go func() { _ = r.Write(unbuffered{conn}) }()
	res, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil {
		b.tb.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.tb.Fatal(err)
	}
	return page{res.StatusCode, string(text), res.Header}
}

// unbuffered is an io.ByteWriter, to which a request is written piece by piece.
type unbuffered struct{ net.Conn }

func (u unbuffered) WriteByte(c byte) error {
	_, err := u.Write([]byte{c})
	return err
}

type trickle struct{ left []byte }

func (r *trickle) Read(b []byte) (int, error) {
	time.Sleep(time.Second)
	if len(r.left) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:1], r.left)
	r.left = r.left[n:]
	return n, nil
}

// Nothing is kept by a browser, told to others, framed or run.
func TestHeaders(t *testing.T) {
	served(t, inbox.Options{}, func(t *testing.T, in *inbox.Inbox, n *network) {
		b := enters(t, n, in, "")
		for _, path := range []string{"/approvals/", "/approvals/question/x", "/approvals/style.css", "/approvals/script.js", "/approvals/nothing", "/approvals/?token=x"} {
			p := b.get(path)
			for name, want := range map[string]string{
				"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "same-origin",
				"Content-Security-Policy": "default-src 'none'; script-src 'self'",
			} {
				if !strings.HasPrefix(p.header.Get(name), want) {
					t.Errorf("%s: %s is %q", path, name, p.header.Get(name))
				}
			}
			if strings.Contains(p.text, "<script>") || strings.Contains(p.text, "style=") || strings.Contains(p.text, "javascript:") {
				t.Errorf("%s: something stands in the page that the policy forbids", path)
			}
		}
	})
}
