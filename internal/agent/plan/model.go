package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Bounds of a talk with a model.
const (
	maxTurns   = 40
	maxReply   = 16 << 20
	maxResult  = 64 << 10 // of one tool's answer, towards the model
	replyLimit = 5 * time.Minute
)

// A Model is a planner that asks a language model, over one of two APIs.
type Model struct {
	system func() string // the prompt, once the tools are known
	api    API
	model  string
	turns  int
}

// An API is how one service is asked.
type API interface {
	Service() string
	// Models returns the service's models, its own favourite first.
	Models(ctx context.Context) ([]string, error)
	// Begin starts a talk.
	Begin(system string, turn Turn, model string)
	// Answer adds how the calls of the reply before came out, in their order.
	Answer(last []Outcome)
	// Reply asks the model.
	Reply(ctx context.Context) (say string, calls []Request, err error)
}

// ByModel returns a planner that asks by the API. An empty model takes the first one
// that the service lists.
func ByModel(api API, model string, system func() string) *Model {
	return &Model{system: system, model: model, api: api}
}

// OpenAI returns a planner that speaks to /chat/completions, which most local
// servers speak too. An empty model takes the first one that the service lists.
func OpenAI(base, key, model string, system func() string) *Model {
	return ByModel(&openAI{wire: wire{base: strings.TrimRight(base, "/"), header: bearer(key)}}, model, system)
}

// Anthropic returns a planner that speaks to /v1/messages. An empty model takes
// the first one that the service lists.
func Anthropic(base, key, model string, system func() string) *Model {
	header := http.Header{"X-Api-Key": {key}, "Anthropic-Version": {"2023-06-01"}}
	return ByModel(&anthropic{wire: wire{base: strings.TrimRight(base, "/"), header: header}}, model, system)
}

// Name implements [Planner].
func (m *Model) Name() string {
	if m.model == "" {
		return "a model at " + m.api.Service()
	}
	return m.model + " at " + m.api.Service()
}

// Next implements [Planner]. Every outcome, a no included, is handed to the
// model as text.
func (m *Model) Next(ctx context.Context, turn Turn) (Step, error) {
	if err := m.advance(ctx, turn); err != nil {
		return Step{}, err
	}
	say, calls, err := m.api.Reply(ctx)
	if err != nil {
		return Step{}, err
	}
	return Step{Say: say, Calls: calls, Done: len(calls) == 0}, nil
}

// advance prepares the next question.
func (m *Model) advance(ctx context.Context, turn Turn) error {
	m.turns++
	switch {
	case m.turns > maxTurns:
		return fmt.Errorf("the model did not finish in %d turns; give it a smaller goal", maxTurns)
	case m.turns > 1:
		m.api.Answer(turn.Last)
		return nil
	}
	if m.model == "" {
		names, err := m.api.Models(ctx)
		if err != nil {
			return err
		}
		if len(names) == 0 {
			return fmt.Errorf("%s lists no model; name one in OPENAI_MODEL or ANTHROPIC_MODEL", m.api.Service())
		}
		m.model = names[0]
	}
	m.api.Begin(m.system(), turn, m.model)
	return nil
}

// clip bounds what a model is shown of one answer.
func clip(text string) string {
	if len(text) <= maxResult {
		return text
	}
	return strings.ToValidUTF8(text[:maxResult], "") + "\n[cut: the answer is longer]"
}

// schema returns a tool's input schema, one for no arguments where it has none.
func schema(s any) any {
	if s == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	return s
}

// wire is HTTP with JSON in both directions.
type wire struct {
	base   string
	header http.Header
}

func (w wire) Service() string { return w.base }

func (w wire) models(ctx context.Context, path string) ([]string, error) {
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := w.do(ctx, http.MethodGet, path, nil, &list); err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		names = append(names, m.ID)
	}
	return names, nil
}

func (w wire) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, replyLimit)
	defer cancel()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		if err != nil {
			return fmt.Errorf("the request to %s: %w", w.base, err)
		}
		body = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, w.base+path, body)
	if err != nil {
		return fmt.Errorf("%s is no address of a model: %w; check OPENAI_BASE_URL and ANTHROPIC_BASE_URL", w.base, err)
	}
	req.Header = w.header.Clone()
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the model does not answer: %w; check the address and your network, or unset the variable to plan by rules", err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxReply))
	if err != nil {
		return fmt.Errorf("the model's answer broke off: %w", err)
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s%s answered %s: %s; check the key and the model's name", w.base, path, res.Status, excerpt(data))
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%s%s did not answer as this API does: %w (%s)", w.base, path, err, excerpt(data))
	}
	return nil
}

// excerpt is the beginning of an answer, on one line.
func excerpt(data []byte) string {
	text := strings.Join(strings.Fields(string(data)), " ")
	if len(text) > 200 {
		text = strings.ToValidUTF8(text[:200], "") + "…"
	}
	return text
}

func bearer(key string) http.Header {
	if key == "" {
		return http.Header{}
	}
	return http.Header{"Authorization": {"Bearer " + key}}
}
