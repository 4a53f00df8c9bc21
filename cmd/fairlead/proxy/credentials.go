package proxy

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/fairlead-go/fairlead/cmd/fairlead/access"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// SignInPath is where [Options.Access] serves [Options.SignIn].
const SignInPath = "/credentials/"

// withCredentials returns a server to which a user's requests go with the user's own credential.
func (p *Proxy) withCredentials(caller access.Caller, s Server) (Server, error) {
	if p.o.Credentials == nil || s.URL == "" || s.RoundTripper != nil {
		return s, nil
	}
	through, err := p.o.Credentials(caller, s)
	if err != nil {
		return s, fmt.Errorf("proxy: %w", err)
	}
	s.RoundTripper = through
	return s, nil
}

// Pool sends requests to servers, with a connection for each concurrent call.
func Pool() http.RoundTripper { return pool }

// signInRequired is what an error has of a call whose user has to sign in at its server.
type signInRequired interface {
	error
	SignIn() (page, why string, done <-chan struct{})
}

// opensPages reports whether the client opens a page for its user if an error of the protocol names one. Those of later
// revisions have no such error.
func (s *session) opensPages() bool {
	version := s.version.value()
	text, err := json.Marshal(s.client.meta(version)[mcp.MetaKeyClientCapabilities])
	var can struct {
		Elicitation mcp.ElicitationCapabilities `json:"elicitation"`
	}
	return err == nil && version != "" && json.Unmarshal(text, &can) == nil && can.Elicitation.URL != nil
}

// elicitSignIn returns the protocol's error for a call that can be made once its user has opened a page, and notifies the
// client when that has been done.
func (s *session) elicitSignIn(wants signInRequired) error {
	page, why, done := wants.SignIn()
	id := rand.Text()
	go func() { // until the sign-in ends, which it does by itself, or the session
		select {
		case <-done:
			s.out(&message{Method: "notifications/elicitation/complete", Params: encoded(map[string]string{"elicitationId": id})}, "")
		case <-s.ctx.Done():
		}
	}()
	return mcp.URLElicitationRequiredError([]*mcp.ElicitParams{{Mode: "url", URL: page, Message: why, ElicitationID: id}})
}
