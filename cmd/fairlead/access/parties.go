package access

import (
	"errors"
	"fmt"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// The names of what a token states beside its user, in what is known of it.
const (
	extraClient = "client"
	extraActors = "actors"
)

// maxActors is how many may act for a user, one for the other.
const maxActors = 8

// partiesOf returns the client that a token was given to, and who acts for its user (RFC 8693, 4.1), the current one
// first. A token whose claims of that kind cannot be read is refused, since the record would name the wrong one.
func partiesOf(claims map[string]any) (client string, actors []string, err error) {
	for _, name := range []string{"azp", "client_id"} { // of OpenID Connect, and of RFC 9068
		claim, there := claims[name]
		if !there {
			continue
		}
		text, ok := claim.(string)
		if !ok || !canBeShown(text) {
			return "", nil, fmt.Errorf("its claim %q names no client that can be shown", name)
		}
		if client == "" {
			client = text
		}
	}
	for act, there := claims["act"]; there; {
		actor, ok := act.(map[string]any)
		name, text := actor["sub"].(string)
		if !text {
			name, _ = actor["client_id"].(string)
		}
		switch {
		case !ok || !canBeShown(name):
			return "", nil, errors.New(`its claim "act" names no actor that can be shown`)
		case len(actors) == maxActors:
			return "", nil, fmt.Errorf(`its claim "act" has more than %d actors`, maxActors)
		}
		actors = append(actors, name)
		act, there = actor["act"]
	}
	return client, actors, nil
}

// canBeShown reports whether a name is there, and reads as it is written.
func canBeShown(name string) bool {
	return name != "" && len(name) <= maxName && safetext.Line(name) == name
}
