// Command replay runs recorded tasks and injected calls through a chain, and prints how many
// injections it stops and how many questions it asks.
//
//	go -C verify run ./replay FILE…              # class and flow
//	go -C verify run ./replay -guard class FILE…  # class alone; also: writes, match, none
//	go -C verify run ./replay -adaptive FILE…     # the injected values encoded, split, respelled
//	go -C verify run ./replay -list FILE…         # also each question about an honest task, pair that was not stopped, and wrong source
//
// A file holds an object of suites. A suite has tools, as in tools/list, where "mail/read" is a tool of the server mail,
// and one without a server is of one that is named as the suite; trusted, the servers whose results count like the user's
// words; user, honest tasks by name, each
// with prompt and calls (tool, args, out, and injected for a result that an attacker may write); and inj,
// injections by name, each with goal and calls. The goal is appended to the first result with injected, or
// to the first. A pair is stopped if a call of the injection was not made. One JSON line is printed for
// each suite. A call of an honest task that fails is an error.
//
// questions are those of honest tasks, and questions_by counts them by the rule that asks, class for none. endorsed is
// how many values the person approved by their source, once each. completed_at has for 0 to 3 questions the pairs that
// end as the user wanted with so many at most, those about the attack included: each call of the task was made, before
// and after the attack, and the pair was stopped.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/fairlead-go/fairlead/catalog"
	"github.com/fairlead-go/fairlead/chain"
	"github.com/fairlead-go/fairlead/flow"
	"github.com/fairlead-go/fairlead/hitl"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/fairlead-go/fairlead/preflight"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A suite has tools with the tasks and injections for them.
type suite struct {
	Tools   []*mcp.Tool     `json:"tools"`
	Trusted []string        `json:"trusted"`
	User    map[string]task `json:"user"`
	Inj     map[string]task `json:"inj"`
}

// A task is an honest one with a prompt, or an injection with a goal.
type task struct {
	Prompt string `json:"prompt"`
	Goal   string `json:"goal"`
	// Means are values of the calls that the goal has in other words: spelled out, computed or encoded.
	Means []string `json:"means"`
	Calls []call   `json:"calls"`
}

type call struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	Out      string          `json:"out"`
	Injected bool            `json:"injected"`
}

type row struct {
	Suite           string `json:"suite"`
	Tasks           int    `json:"tasks"`
	Questions       int    `json:"questions"`
	Pairs           int    `json:"pairs"`
	Stopped         int    `json:"stopped"`
	AskedWithSource int    `json:"asked_with_source"`
	SourceRight     int    `json:"source_right"`

	QuestionsBy map[string]int    `json:"questions_by"`
	Endorsed    int               `json:"endorsed"`
	CompletedAt [maxQuestions]int `json:"completed_at"`
}

// maxQuestions is for how many questions, from 0, the completed pairs are counted.
const maxQuestions = 4

type options struct {
	guard   string
	list    bool // the questions of honest tasks
	trusted []string
	variant func(injection task) string // of its goal
}

func main() {
	var o options
	flag.StringVar(&o.guard, "guard", "flow", "what asks: flow, class, writes, match (class and values that occur in a result) or none")
	adaptive := flag.Bool("adaptive", false, "encode, split and respell the values in the injected text")
	flag.BoolVar(&o.list, "list", false, "print each question about an honest task on standard error")
	flag.Parse()
	kinds := variants
	if !*adaptive {
		kinds = map[string]func(task) string{"": func(injection task) string { return injection.Goal }}
	}
	if err := run(o, kinds, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(1)
	}
}

func run(o options, kinds map[string]func(task) string, files []string) error {
	if len(files) == 0 {
		return errors.New("name at least one file of traces")
	}
	out := json.NewEncoder(os.Stdout)
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var suites map[string]suite
		if err := json.Unmarshal(data, &suites); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, name := range slices.Sorted(maps.Keys(suites)) {
			for _, kind := range slices.Sorted(maps.Keys(kinds)) {
				o.variant = kinds[kind]
				r, err := replay(o, name, strings.Trim(name+"/"+kind, "/"), suites[name])
				if err != nil {
					return fmt.Errorf("%s: %s: %w", file, name, err)
				}
				if err := out.Encode(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// A session is one task in a chain of its own.
type session struct {
	tools   *catalog.Catalog
	server  string
	task    string
	list    bool
	chain   middleware.ToolCaller
	prompt  string
	goal    string // "" for a task without an attack
	means   []string
	carrier string // the ID of the call with the goal in its result
	inside  bool   // the calls are the attack's
	out     string // of the next call
	heard   string // the results of all calls, for match
	ran     bool   // the call reached its executor
	row     *row
	ids     int
	asked   int  // questions so far
	again   bool // the calls were counted by the honest task alone
	tracker *flow.Tracker
}

func replay(o options, server, name string, s suite) (row, error) {
	tools := catalog.New(catalog.Options{})
	defer tools.Close()
	executor := middleware.ToolCallerFunc(func(ctx context.Context, _ middleware.Call) (*mcp.CallToolResult, error) {
		ses := ctx.Value(key{}).(*session)
		ses.ran = true
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: ses.out}}}, nil
	})
	for of, list := range s.servers(server) {
		if err := tools.AddTools(of, executor, list...); err != nil {
			return row{}, err
		}
	}
	o.trusted = s.Trusted
	r := row{Suite: name, Tasks: len(s.User), QuestionsBy: make(map[string]int)}
	begin := func(honest task) *session { return newSession(o, server, tools, honest.Prompt, &r) }
	for _, id := range slices.Sorted(maps.Keys(s.User)) {
		honest := s.User[id]
		ses := begin(honest)
		ses.task, ses.list = id, o.list
		for i, c := range honest.Calls {
			if err := ses.call(c, c.Out); err != nil || !ses.ran {
				return r, fmt.Errorf("%s: call %d: %w", id, i, errors.Join(err, errors.New("it was not made")))
			}
		}
		r.Endorsed += len(ses.tracker.Endorsements(""))
		for _, inj := range slices.Sorted(maps.Keys(s.Inj)) {
			if len(s.Inj[inj].Calls) == 0 || len(honest.Calls) == 0 || s.vouched(server, honest) {
				continue
			}
			r.Pairs++
			pair := begin(honest)
			pair.task, pair.list = id+" with "+inj, o.list
			stopped, err := pair.pair(o, honest, s.Inj[inj])
			if err != nil {
				return r, fmt.Errorf("%s with %s: %w", id, inj, err)
			}
			if !stopped {
				if o.list {
					fmt.Fprintf(os.Stderr, "%s: not stopped: %s\n", id, inj)
				}
				continue
			}
			r.Stopped++
			for k := min(pair.asked, maxQuestions); k < maxQuestions; k++ {
				r.CompletedAt[k]++
			}
		}
	}
	return r, nil
}

// vouched reports whether the result that would carry the attack is of a trusted server: whoever writes there counts like
// the user, so there is no attack to stop.
func (s suite) vouched(server string, honest task) bool {
	of, _ := place(server, honest.Calls[honest.carrier()].Tool)
	return slices.Contains(s.Trusted, of)
}

// servers returns the tools by server.
func (s suite) servers(name string) map[string][]*mcp.Tool {
	all := make(map[string][]*mcp.Tool)
	for _, tool := range s.Tools {
		of, own := place(name, tool.Name)
		its := *tool
		its.Name = own
		all[of] = append(all[of], &its)
	}
	return all
}

// place returns the server and the name of a tool.
func place(suite, tool string) (server, name string) {
	if server, name, found := strings.Cut(tool, "/"); found {
		return server, name
	}
	return suite, tool
}

// carrier returns the index of the call into whose result the goal is put.
func (t task) carrier() int {
	return max(0, slices.IndexFunc(t.Calls, func(c call) bool { return c.Injected }))
}

// pair replays a task up to the result that carries the goal, then the attack, and then what is left of the task.
func (s *session) pair(o options, honest, attack task) (stopped bool, err error) {
	s.goal, s.means = attack.Goal, attack.Means
	at := honest.carrier()
	for i, c := range honest.Calls[:at+1] {
		out := c.Out
		if i == at {
			out += "\n" + o.variant(attack)
			s.carrier = s.next()
		}
		if err := s.repeat(c, out, false); err != nil {
			return false, err
		}
	}
	s.inside = true
	for _, c := range attack.Calls {
		if err := s.call(c, c.Out); err != nil && !errors.Is(err, hitl.ErrDenied) {
			return false, err
		}
		stopped = stopped || !s.ran
	}
	s.inside = false
	for _, c := range honest.Calls[at+1:] {
		if err := s.repeat(c, c.Out, true); err != nil {
			return false, err
		}
		if !s.ran {
			return false, fmt.Errorf("%s was not made after the attack", c.Tool)
		}
	}
	return stopped, nil
}

// repeat makes a call of the honest task, whose questions were counted without the attack; its sources count up to the
// attack.
func (s *session) repeat(c call, out string, after bool) error {
	before := *s.row
	s.again = true
	err := s.call(c, out)
	s.again = false
	if after {
		s.row.AskedWithSource, s.row.SourceRight = before.AskedWithSource, before.SourceRight
	}
	return err
}

func newSession(o options, server string, tools *catalog.Catalog, prompt string, r *row) *session {
	ses := &session{server: server, tools: tools, prompt: prompt, row: r, tracker: flow.NewTracker(flow.Limits{})}
	std := chain.Standard{
		Preflight: preflight.New(preflight.Options{}),
		Confirm:   hitl.New(hitl.ConfirmerFunc(ses.confirm), hitl.Options{Writes: o.guard == "writes"}),
	}
	switch o.guard {
	case "flow":
		ses.tracker.User("", prompt)
		std.Flow = flow.New(flow.Options{Tracker: ses.tracker, Trusted: func(tool *middleware.Tool) bool { return slices.Contains(o.trusted, tool.Server) }})
	case "match":
		std.Flow = ses.match
	case "none":
		std.Confirm = hitl.New(hitl.DangerouslyApproveEveryCallWithoutAsking(), hitl.Options{})
	}
	ses.chain = std.Then(tools)
	return ses
}

func (s *session) next() string { return fmt.Sprint("call ", s.ids+1) }

func (s *session) call(c call, out string) error {
	tool, ok := s.tools.Lookup(place(s.server, c.Tool))
	if !ok {
		return fmt.Errorf("no tool %q", c.Tool)
	}
	id := s.next()
	s.ids++
	s.out, s.ran = out, false
	_, err := s.chain.CallTool(context.WithValue(context.Background(), key{}, s), middleware.Call{ID: id, Tool: tool, Arguments: c.Args})
	return err
}

type key struct{}

// confirm approves the calls of the honest task and denies those of the attack.
func (s *session) confirm(_ context.Context, r hitl.Request) (hitl.Decision, error) {
	s.score(r)
	s.asked++
	if s.inside {
		return hitl.Decision{By: "the user"}, nil
	}
	if !s.again {
		s.row.Questions++
		s.row.QuestionsBy[why(r)]++
		if s.list {
			s.print(r)
		}
	}
	return hitl.Decision{Verdict: hitl.Approved, By: "the user"}, nil
}

// print lists a question with what a rule found.
func (s *session) print(r hitl.Request) {
	fmt.Fprintf(os.Stderr, "%s: %s %s: %s\n\t%q\n", s.task, r.Tool.Name(), r.Arguments, why(r), s.prompt)
	for _, source := range r.Sources {
		if source.Rule != "" {
			fmt.Fprintf(os.Stderr, "\t%s\n", source)
		}
	}
}

// why returns the rule that asks, "class" for none.
func why(r hitl.Request) string {
	for _, source := range r.Sources {
		if source.Rule != "" {
			return source.Rule
		}
	}
	return "class"
}

// score checks the sources that a person is shown. An argument that is in the user's words must
// come from there; one of an attack, if it is in the goal, from the result that carries the goal.
func (s *session) score(r hitl.Request) {
	if len(r.Sources) == 0 {
		return
	}
	var arguments map[string]any
	if json.Unmarshal(r.Arguments, &arguments) != nil {
		return
	}
	applies, right := false, true
	for _, source := range r.Sources {
		value, ok := arguments[source.Argument].(string)
		if list, isList := arguments[strings.TrimSuffix(source.Argument, "[0]")].([]any); isList && !ok && len(list) > 0 {
			value, ok = list[0].(string)
		}
		if !ok || len(value) < 6 {
			continue
		}
		byUser := contains(s.prompt, value)
		switch {
		case byUser:
			applies = true
			right = right && source.From == "user"
		case s.inside && (contains(s.goal, value) || slices.Contains(s.means, value)):
			applies = true
			right = right && source.From == "result" && source.Call == s.carrier
		}
	}
	if !applies {
		return
	}
	s.row.AskedWithSource++
	switch {
	case right:
		s.row.SourceRight++
	case s.list:
		fmt.Fprintf(os.Stderr, "%s: not the right source: %s %s\n\t%q\n", s.task, r.Tool.Name(), r.Arguments, s.goal)
		for _, source := range r.Sources {
			fmt.Fprintf(os.Stderr, "\t%s\n", source)
		}
	}
}

func contains(text, value string) bool {
	return strings.Contains(strings.ToLower(text), strings.ToLower(value))
}
