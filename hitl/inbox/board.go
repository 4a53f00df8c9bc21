package inbox

// A question goes to other replicas as a sheet on the board, and its answer comes back as a reply. The board is not
// trusted: a sheet has the digest of all that is shown, and a replica that does not come to the same digest from what
// it would show, shows nothing; a reply has the digest too, and one for another digest is a denial. Every look at the
// page reads the board (look); there is no goroutine that watches it.

import (
	"bytes"
	"context"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/hitl/approvals"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lastLook is how long the board has for an answer that was given just before the end.
const lastLook = time.Second

var (
	errElsewhere = refuse(http.StatusConflict, "This was decided already, at another replica, or is over. It stays so.")
	errBoard     = refuse(http.StatusServiceUnavailable, "What the replicas share does not answer, so nothing was decided. Try again; silence is a no.")
)

// A sheet is a question as other replicas read it. The request is without its tool and the
// bytes that are sent, which are beside it as they are.
type sheet struct {
	Version    int             `json:"v"`
	Digest     string          `json:"digest"` // of the request; a replica that cannot show exactly that shows nothing
	Request    hitl.Request    `json:"request"`
	Arguments  []byte          `json:"arguments"`
	Extra      []byte          `json:"extra,omitempty"`
	Server     string          `json:"server"`
	Definition json.RawMessage `json:"definition"`
	Known      []byte          `json:"known"`               // gob: JSON would leave out where it is known from
	NeverRate  bool            `json:"neverRate,omitempty"` // a limit of 0, and a cost, which gob takes for none
	FreeCost   bool            `json:"freeCost,omitempty"`
}

// A reply is a decision as the replica that asked reads it.
type reply struct {
	Version  int           `json:"v"`
	Digest   string        `json:"digest"` // of what was shown
	Decision hitl.Decision `json:"decision"`
	// Arguments are the decision's, nil where nobody edited them: null would be some.
	Arguments []byte `json:"arguments,omitempty"`
}

const sheetVersion = 4

// sheet encodes a question for other replicas.
func (q *question) sheet() ([]byte, error) {
	r := q.request
	definition, err := json.Marshal(r.Tool.Definition)
	if err != nil {
		return nil, fmt.Errorf("inbox: the definition of %s: %w", r.Tool, err)
	}
	known := r.Tool.Annotations
	s := sheet{
		Version: sheetVersion, Digest: q.digest, Request: r, Arguments: r.Arguments, Extra: r.Extra, Server: r.Tool.Server, Definition: definition,
		NeverRate: known.RateLimitHint != nil && *known.RateLimitHint == 0, FreeCost: known.CostHint != nil && *known.CostHint == 0,
	}
	s.Request.Tool, s.Request.Arguments, s.Request.Extra = nil, nil, nil
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(known); err != nil {
		return nil, fmt.Errorf("inbox: what is known of %s: %w", r.Tool, err)
	}
	s.Known = b.Bytes()
	return json.Marshal(s) //nolint:musttag // the names are the fields'; nobody else reads it
}

// readSheet decodes a question of another replica, and checks that this one would show the same.
func readSheet(n approvals.Notice) (*question, error) {
	var s sheet
	definition := new(mcp.Tool)
	var known annotation.Annotations
	err := json.Unmarshal(n.Question, &s) //nolint:musttag // as it is written
	if err == nil && s.Version != sheetVersion {
		return nil, fmt.Errorf("inbox: a question of another replica has version %d, and this one reads %d", s.Version, sheetVersion)
	}
	if err == nil {
		err = errors.Join(json.Unmarshal(s.Definition, definition), gob.NewDecoder(bytes.NewReader(s.Known)).Decode(&known))
	}
	if err != nil {
		return nil, fmt.Errorf("inbox: a question of another replica: %w", err)
	}
	if s.NeverRate {
		known.RateLimitHint = new(float64)
	}
	if s.FreeCost {
		known.CostHint = new(float64)
	}
	tool, err := middleware.NewTool(s.Server, definition, known)
	if err != nil {
		return nil, fmt.Errorf("inbox: a question of another replica: %w", err)
	}
	q := &question{ctx: context.Background(), remote: true, request: s.Request}
	q.request.ID, q.request.Deadline, q.request.Tool = n.ID, n.Until, tool
	q.request.Arguments, q.request.Extra = s.Arguments, s.Extra
	if q.digest = q.request.Digest(); q.digest != s.Digest {
		return nil, errors.New("inbox: a question of another replica cannot be shown here as it was asked; are these two of one version?")
	}
	return q, nil
}

// askBoard hangs the question up for all replicas and waits for the first answer, here or elsewhere.
func (in *Inbox) askBoard(ctx context.Context, q *question) (hitl.Decision, error) {
	form, err := q.sheet()
	if err != nil {
		return hitl.Decision{}, err
	}
	id, until := q.request.ID, q.request.Deadline
	if until.IsZero() {
		until = time.Now().Add(sessionLifetime) // while somebody waits
	}
	if err = in.o.Board.Post(ctx, approvals.Notice{ID: id, Until: until, Question: form}); err != nil {
		return hitl.Decision{}, fmt.Errorf("inbox: the question could not be posted: %w", err)
	}
	in.mu.Lock()
	if in.waiting[id] == q {
		in.pending = append(in.pending, q)
		in.version++
	}
	in.mu.Unlock()
	given, err := in.o.Board.Wait(ctx, id)
	if err != nil {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastLook)
		defer cancel()
		_ = in.o.Board.Remove(within, id) // its time will be over, in any case
		var none error
		if given, none = in.o.Board.Wait(within, id); none != nil { // somebody may have decided just before
			return hitl.Decision{}, fmt.Errorf("inbox: no answer: %w", err)
		}
	}
	var a reply
	switch err := json.Unmarshal(given, &a); { //nolint:musttag // as it is written
	case err != nil:
		return hitl.Decision{}, fmt.Errorf("inbox: an answer that cannot be read: %w", err)
	case a.Version != sheetVersion:
		return hitl.Decision{}, fmt.Errorf("inbox: an answer of version %d, and this replica reads %d", a.Version, sheetVersion)
	case a.Digest != q.digest:
		return hitl.Decision{}, errors.New("inbox: an answer to something else than was asked")
	}
	a.Decision.Arguments = a.Arguments
	return a.Decision, nil
}

// answerOnBoard gives the answer to whichever replica waits for it. The caller does not hold the lock.
func (in *Inbox) answerOnBoard(ctx context.Context, q *question, d hitl.Decision) error {
	form, err := json.Marshal(reply{sheetVersion, q.digest, d, d.Arguments}) //nolint:musttag // as it is read
	if err != nil {
		return errBoard
	}
	err = in.o.Board.Answer(ctx, q.request.ID, form)
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case errors.Is(err, approvals.ErrNoEffect):
		if in.waiting[q.request.ID] == q && q.remote {
			in.end(q, record{past: past{What: "over"}, late: true})
		}
		return errElsewhere
	case err != nil:
		in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: an answer could not be given", slog.String("id", q.request.ID), slog.Any("err", err))
		return errBoard
	}
	if in.waiting[q.request.ID] == q {
		in.decided(ctx, q, d)
	}
	return nil
}

// look brings what other replicas ask onto this page, and takes off what is over.
func (in *Inbox) look(ctx context.Context) {
	if !in.shared {
		return
	}
	began := time.Now()
	notices, err := in.o.Board.Open(ctx)
	in.mu.Lock()
	defer in.mu.Unlock()
	if failed := err != nil && ctx.Err() == nil; failed != in.blind {
		in.blind = failed
		in.o.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox: questions of other replicas are shown", slog.Bool("shown", !failed), slog.Any("err", err))
	}
	if err != nil {
		return
	}
	hanging := make(map[string]bool, len(notices))
	for _, n := range notices {
		hanging[n.ID] = true
		if in.waiting[n.ID] != nil || in.past[n.ID] != nil || in.odd[n.ID] || len(in.waiting) >= in.o.MaxPending {
			continue
		}
		q, err := readSheet(n)
		if err != nil {
			in.odd[n.ID] = true
			in.o.Logger.LogAttrs(ctx, slog.LevelWarn, "inbox: a question of another replica is not shown", slog.String("id", n.ID), slog.Any("err", err))
			continue
		}
		q.hung = time.Now()
		in.pending = append(in.pending, q)
		in.waiting[n.ID] = q
		in.version++
	}
	maps.DeleteFunc(in.odd, func(id string, _ bool) bool { return !hanging[id] })
	for _, q := range slices.Clone(in.pending) {
		if q.remote && !hanging[q.request.ID] && q.hung.Before(began) { // a look that was overtaken does not have later ones
			what := "decided at another replica, or given up"
			if q.late() {
				what = silent
			}
			in.end(q, record{past: past{What: what}, late: true})
		}
	}
}
