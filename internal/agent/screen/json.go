package screen

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
)

// JSON returns a Screen that writes one event a line to out.
func JSON(out io.Writer) Screen {
	return &events{out: json.NewEncoder(out)}
}

type events struct {
	mu  sync.Mutex
	out *json.Encoder
}

// write writes one event. A reader that has gone away is no reason to stop what
// is half done, so an error of the writer is passed over.
func (e *events) write(event any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.out.Encode(event)
}

type kind struct {
	Event string `json:"event"`
}

type textEvent struct {
	kind
	Text string `json:"text"`
}

type callEvent struct {
	kind
	N         int             `json:"n"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Raw       string          `json:"arguments_raw,omitempty"` // what is no JSON
	State     plan.State      `json:"state"`
	From      string          `json:"from"`
	Tries     int             `json:"tries"`
	Waited    float64         `json:"waited_ms"`
	Took      float64         `json:"took_ms"`
	Answer    string          `json:"answer,omitempty"`
	By        string          `json:"by,omitempty"`
	Edited    bool            `json:"edited,omitempty"`
	Result    any             `json:"result,omitempty"`
	Trouble   string          `json:"trouble,omitempty"`
}

func (e *events) Start(s Start) {
	e.write(struct {
		kind
		Start
	}{kind{"start"}, s})
}

func (e *events) Tools(tools []Tool) {
	for _, t := range tools {
		e.write(struct {
			kind
			Tool
		}{kind{"tool"}, t})
	}
}

func (e *events) Say(text string) {
	if text != "" {
		e.write(textEvent{kind{"say"}, text})
	}
}

func (e *events) Problem(text string) { e.write(textEvent{kind{"problem"}, text}) }
func (e *events) Progress(Progress)   {}

func (e *events) Call(c Call) {
	ev := callEvent{
		kind: kind{"call"}, N: c.N, Tool: c.Tool, State: c.State, From: c.From, Tries: c.Tries,
		Waited: float64(c.Waited.Microseconds()) / 1000, Took: float64(c.Took.Microseconds()) / 1000,
		Answer: c.Answer, By: c.By, Edited: c.Edited, Trouble: c.Trouble,
	}
	if c.Result != nil {
		ev.Result = c.Result
	}
	if json.Valid(c.Arguments) {
		ev.Arguments = c.Arguments
	} else {
		ev.Raw = string(c.Arguments)
	}
	e.write(ev)
}

func (e *events) Summary(c Counts) {
	e.write(struct {
		kind
		Counts
	}{kind{"summary"}, c})
}

func (e *events) Ledger(l Ledger) {
	e.write(struct {
		kind
		Ledger
	}{kind{"ledger"}, l})
}
