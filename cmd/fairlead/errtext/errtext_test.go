package errtext_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/cmd/fairlead/errtext"
)

// The errors are those that the system and the standard library return.
func TestErrorsOfTheSystemAreExplained(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	opened := func(path ...string) error { _, err := os.ReadFile(filepath.Join(path...)); return err }
	started := func(path string) error { return exec.CommandContext(t.Context(), path).Run() }
	asked := func(url string) error {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, http.NoBody)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			err = res.Body.Close()
		}
		return err
	}
	listening := httptest.NewServer(http.NotFoundHandler())
	defer listening.Close()
	_, taken := new(net.ListenConfig).Listen(t.Context(), "tcp", listening.Listener.Addr().String())
	for want, err := range map[string]error{
		"x: " + dir + "/none: there is no such file or folder":    fmt.Errorf("x: %w", opened(dir, "none")),
		dir + ": it is a folder":                                  opened(dir),
		file + "/a: a part of the path is not a folder":           opened(file, "a"),
		file + ": this is not permitted":                          started(file),
		`there is no program "no-such-program" on the PATH`:       started("no-such-program"),
		dir + "/none: there is no such file or folder":            started(filepath.Join(dir, "none")),
		"127.0.0.1:1: nothing listens there; look":                fmt.Errorf("calling %q: sending %q: rejected by transport: %w; look", "initialize", "initialize", asked("http://127.0.0.1:1")),
		"there is no TLS at this address":                         asked("https://" + listening.Listener.Addr().String()),
		listening.Listener.Addr().String() + ": another program":  taken,
		"there is no host a.invalid":                              &url.Error{Op: "Post", URL: "http://a.invalid", Err: &net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Name: "a.invalid", IsNotFound: true}}},
		"the lock: line 2: it ends too early":                     errors.New("pins: the lock: hujson: line 2: parsing value: unexpected EOF"),
		"a\n" + dir + "/none: there is no such file or folder\nb": errors.Join(errors.New("a"), opened(dir, "none"), errors.New("b")),
		"context deadline exceeded":                               context.DeadlineExceeded,
	} {
		if err == nil || !strings.HasPrefix(errtext.Of(err), want) {
			t.Errorf("%v: got %q, want %q", err, errtext.Of(err), want)
		}
	}
}
