// Package screen shows a run of the agent to the one who watches: to a person as
// a transcript, to a program as one JSON event a line.
package screen

import (
	"encoding/json"
	"time"

	"github.com/fairlead-go/fairlead/internal/agent/plan"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A Screen shows a run. It is safe for concurrent use, since progress comes when
// it likes.
type Screen interface {
	Start(Start)
	Tools([]Tool)
	Say(text string)
	Problem(text string)
	Progress(Progress)
	Call(Call)
	Summary(Counts)
	Ledger(Ledger)
}

// A Start is what is known before the first call.
type Start struct {
	Planner string `json:"planner"`
	Hint    string `json:"-"` // what another planner would need
	Server  string `json:"server"`
	Folder  string `json:"folder,omitempty"`
	Record  string `json:"record,omitempty"` // the file that every call is written to
}

// A Tool is a row of the table.
type Tool struct {
	Name     string `json:"tool"`
	Declared string `json:"declared"`
	Inferred string `json:"inferred"`
	Class    string `json:"class"`
	Will     string `json:"will"`
}

// A Progress is a step of the call that is under way.
type Progress struct {
	Done, Total float64
	Message     string
}

// A Call is one call and what became of it.
type Call struct {
	N         int
	Tool      string
	Arguments json.RawMessage
	State     plan.State
	From      string // "server", "memory", or "nowhere" for a call that was not sent
	Tries     int
	Waited    time.Duration // for the rate limit
	Took      time.Duration
	Answer    string // "" for not asked, "allowed" or "denied"
	By        string // who answered
	Edited    bool   // who answered changed the arguments
	Result    *mcp.CallToolResult
	Trouble   string // what to read where there is no result
}

// Counts are the figures at the end.
type Counts struct {
	Calls       int `json:"calls"`
	ServerCalls int `json:"server_calls"`
	CacheHits   int `json:"cache_hits"`
	Retries     int `json:"retries"`
	Asked       int `json:"asked"`
	Allowed     int `json:"allowed"`
	Denied      int `json:"denied"`
	Waited      int `json:"waited"`
	Limited     int `json:"limited"`
	Unknown     int `json:"unknown"`
}

// A Ledger is what the server itself says that it did.
type Ledger struct {
	Effects int      `json:"effects"`
	Twice   []string `json:"twice"` // effects that happened more than once
	Folder  string   `json:"folder"`
}
