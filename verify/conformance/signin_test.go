package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
)

// clientCredentials is the scenario of an extension in which a client has its own token, and no user.
const clientCredentials = "auth/client-credentials-basic"

// The proxy signs in at the suite's servers by itself: no check of it fails.
func TestProxySignsIn(t *testing.T) {
	suite, bin := needed(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	const revision = "2026-07-28" // which has the scenarios of the earlier ones as well
	t.Run("scenarios", func(t *testing.T) {
		for _, scenario := range append(clientScenarios(t, suite, revision, true), clientCredentials) {
			t.Run(scenario, func(t *testing.T) {
				t.Parallel()
				all, err := client(t, suite, revision, scenario, self+" "+bin)
				if err != nil {
					t.Errorf("%s: %v", scenario, err)
				}
				for c, got := range all {
					if got.failed > 0 {
						t.Errorf("%s: %s fails", scenario, c.id)
					}
				}
				if sum(all).passed == 0 {
					t.Errorf("%s: no check was made", scenario)
				}
			})
		}
	})
}

// A browser opens the pages that a proxy wants opened, as a user does who agrees to everything.
type browser struct {
	log    io.Writer // what the proxy writes goes on to it
	opened atomic.Int32
	busy   sync.WaitGroup
}

var (
	page = regexp.MustCompile(`sign in: open (\S+)`)
	link = regexp.MustCompile(`<a href="([^"]+)"`)
)

func (b *browser) Write(line []byte) (int, error) {
	if m := page.FindSubmatch(line); m != nil {
		b.opened.Add(1)
		b.busy.Go(func() {
			if err := signIn(string(m[1])); err != nil {
				fmt.Fprintln(b.log, err)
			}
		})
	}
	return b.log.Write(line)
}

// signIn opens a page and follows its link to the authorization server, and from there back.
func signIn(at string) error {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return err
	}
	user := &http.Client{Jar: jar, Timeout: patience / 4}
	text, err := get(user, at)
	if err != nil {
		return err
	}
	m := link.FindSubmatch(text)
	if m == nil {
		return fmt.Errorf("%s leads nowhere: %s", at, text)
	}
	_, err = get(user, html.UnescapeString(string(m[1])))
	return err
}

func get(by *http.Client, from string) ([]byte, error) {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	res, err := by.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", res.Request.URL.Redacted(), res.Status, text)
	}
	return text, err
}

// signInArgs returns what the proxy needs for a scenario: a folder, and the client that is registered for it.
func signInArgs(dir, scenario, server string) ([]string, error) {
	args := []string{"--name", "suite", "--credentials", filepath.Join(dir, "credentials")}
	var about struct {
		ID     string `json:"client_id"`
		Secret string `json:"client_secret"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &about); err != nil {
			return nil, err
		}
	}
	var client string
	switch {
	case about.Secret != "":
		issuer, err := issuerOf(server)
		if err := errors.Join(err, os.Setenv("SUITE_SECRET", about.Secret)); err != nil {
			return nil, err
		}
		grant := "authorization_code"
		if scenario == clientCredentials {
			grant = "client_credentials"
		}
		client = fmt.Sprintf(`{"suite":{"client":%q,"secret":"SUITE_SECRET","issuer":%q,"grant":%q}}`, about.ID, issuer, grant)
	case scenario == "auth/basic-cimd":
		client = `{"suite":{"client":"https://conformance-test.local/client-metadata.json"}}`
	default:
		return args, nil
	}
	file := filepath.Join(dir, "clients.json")
	return append(args, "--oauth", file), os.WriteFile(file, []byte(client), 0o600)
}

// issuerOf returns the authorization server that a server names, as an operator reads it from its pages.
func issuerOf(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	text, err := get(http.DefaultClient, u.Scheme+"://"+u.Host+"/.well-known/oauth-protected-resource"+u.Path)
	var about struct {
		Servers []string `json:"authorization_servers"`
	}
	if err := errors.Join(err, json.Unmarshal(text, &about)); err != nil || len(about.Servers) == 0 {
		return "", fmt.Errorf("%s names no authorization server: %w", server, err)
	}
	return about.Servers[0], nil
}
