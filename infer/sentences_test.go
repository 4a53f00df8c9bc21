package infer_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// outcomes are the rules on what a tool leaves behind that seems to read, as
// "name | description | class".
var outcomes = map[string]string{
	"into a thing that stays": `
		render_lamp | Render a lamp | safe
		render_lamp | Render a lamp into a new window | moderate
		render_lamp | Render a lamp into markdown | safe
		render_lamp | Render a lamp to a file | moderate
		render_shade | Render a lamp into a file | moderate
		format_code | Formats the code of a project in place | moderate
		format_text | Formats a text in place of the tabs it has | safe
		autofit_columns | Auto-fit column widths | moderate
		render_lamp | Render a lamp to a directory | moderate
		render_lamp | Render a lamp to the disk | moderate
		render_lamp | Render a lamp to a visitor | safe
		render_lamp | Render a lamp that was put into a window | safe
		list_lamps | List the lamps, sorted into rooms | safe`,
	"said to stay": `
		extract_bulb | Extract a bulb of a lamp | safe
		extract_bulb | Extract a bulb. Bulbs are saved to a box. | moderate
		extract_bulb | Extract a bulb, persisted with its history | moderate
		extract_bulb | Extract a bulb. Bulbs are not saved to a box. | safe
		extract_bulb | Extract a bulb. Bulbs are not shown or saved to a box. | safe
		extract_bulb | Extract a bulb that is saved to a box | safe
		extract_bulb | Extract bulbs of big, saved lamps | safe
		parse_bulb | Parse a bulb. Bulbs are saved to a box. | moderate
		extract_bulb | Extract a bulb of a saved lamp | safe
		get_bulb | Get a bulb. Bulbs are saved to a box. | safe
		lamp | Extract a bulb. Bulbs are saved to a box. | moderate
		lamp | Get a bulb. Bulbs are saved to a box. | safe`,
	"where the object goes": `
		lamps_commit | Commit the candidate settings to the running configuration | dangerous
		lamps_push | Push the config to a group of lamp devices | dangerous
		push_lamp_policy | Pushes a policy to production. | dangerous
		push_lamp | Push the lamp to the devices | moderate
		lamps_commit | Commit the candidate settings to the draft | moderate
		lamps_push | Push a running config to the archive | moderate
		submit_lamps | Submit a batch of lamps to the cluster | dangerous
		submit_lamps | Submit a workload to a scheduler | dangerous
		submit_lamps | Submit a workload to a reader | moderate`,
	"what goes to others": `
		lamp_report | Reports a lamp to the moderators | dangerous
		lamp_report | Reports the state of a lamp to the user | safe
		lamp_status | Reports lamps that belong to a team | safe
		request_lamp | Requests a lamp from its owner | moderate
		ask_lamps | Ask another agent to repair a lamp | dangerous
		ask_lamps | Ask a model to summarize the lamps | safe
		ask_lamps | Ask which lamp to turn on | safe`,
	"what it is done for": `
		submit_lamps | Submit a script from a shelf to run | dangerous
		submit_lamps | Submit a lamp to run a shop with | moderate
		add_lamps | Add a lamp to run | moderate
		lamp_table | Analyzes a table to update its statistics | moderate
		analyze_lamps | Analyzes lamps in order to purge broken ones | dangerous
		analyze_lamps | Analyzes the lamps to see which are lit | safe
		analyze_lamps | Analyzes lamps to update | safe
		find_lamps | Finds lamps to update | safe
		get_lamp | Gets a lamp to update it with another tool | safe`,
	"side effects": `
		verify_lamps | Verify the lamps. Side effects: fills the room. | moderate
		verify_lamps | Verify the lamps. Side effects: executes shell commands. | dangerous
		verify_lamps | Verify the lamps. Side effects: none. | safe
		verify_lamps | Verify the lamps. Side effects: no lamp is lit. | safe
		verify_lamps | Verify the lamps. Side effects: reads the state. | safe
		verify_lamps | Verify the lamps. Executes a query. | safe`,
	"two deeds by or": `
		lamp | Get lamp info or set brightness | moderate
		lamp | Get lamp info or set of lamps | safe
		lamp | Get lamps by start or stop time | safe`,
	"paid by the call": `
		ask_smith | Ask a smith. The smith is paid on answer. | dangerous
		ask_smith | Ask a smith. The owner is charged per question. | dangerous
		ask_smith | Ask whether a smith is paid | safe
		get_room | Get a room. Rooms that are paid on time are green. | safe
		get_room | Get a room, which is paid on Monday | safe`,
	"a soft verb gives way to the description": `
		gather_lamps | Store the lamps of a house | moderate
		observe_lamp | Store what a lamp does | moderate
		summarize_lamp | Compress the lamp | moderate
		summarize_lamp | Summarize the lamp | safe`,
	"a verb before another language": `
		observe_lamp | ランプを保存 | moderate
		observe_lamp | Beobachtet eine Lampe und das Licht | unknown
		observe_lamp | | safe
		get_lamp | ランプを保存 | moderate
		create_lamp | ランプを保存 | moderate`,
	"the same verb with its object": `
		translate | Translate text | safe
		translate | Translate the lamp | moderate
		unit_convert | Convert a value between units | safe
		translate_lamp | Translate text | moderate`,
	"things that are told about": `
		messages_context | | safe
		message_context | | dangerous
		messages_send | | dangerous`,
	"what is taken in": `
		detect_lamp | Detects a lamp. Accepts one picture or several. | safe
		accept_lamp | | moderate
		lamp | Accepts an offer | dangerous`,
	"a request of any kind": `
		make_api_request | | dangerous
		execute_api_request | | dangerous
		make_lamp_request | | moderate
		build_api_endpoint | | moderate
		get_api_request | | safe`,
	"it is what was read": `
		summarize_lamp | Summarize a lamp and post it as a note | moderate
		summarize_lamp | Summarize a lamp and email them to others | dangerous
		list_lamps | List lamps and post offices | safe
		get_lamps | Get lamps and mail that came | safe
		screenshot_lamp | Take a picture and save it in a box | moderate
		sort_lamps | Get lamps and collapse them in groups | safe`,
	"a deed on a thing that is named as a deed": `
		verify_lamp | Start verification of a lamp | moderate
		verify_lamp | Update copies of a lamp | moderate
		get_stubs | Pay stubs of a painter | safe`,
	"part of a word": `
		droplet_sizes | Get the sizes of a droplet | safe
		userdelete | | dangerous`,
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	for rule, lines := range outcomes {
		for line := range strings.Lines(lines) {
			name, rest, ok := strings.Cut(line, "|")
			if !ok {
				continue
			}
			description, want, _ := strings.Cut(rest, "|")
			def := &mcp.Tool{Name: strings.TrimSpace(name), Description: strings.TrimSpace(description)}
			if a := infer.Tool(def); a.Safety().String() != strings.TrimSpace(want) {
				t.Errorf("%s: %s %q: got %s, want %s: %v", rule, def.Name, def.Description, a.Safety(), strings.TrimSpace(want), a.Evidence)
			}
		}
	}
}

// TestOutlets holds that a parameter which states where the outcome is to stay
// makes a tool that reads one that writes, and no other does.
func TestOutlets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, description string
		schema            any
		want              string
	}{
		{"render_lamp", "", stringParameter("output_path"), "dangerous"},
		{"get_lamp", "", stringParameter("outputDir"), "moderate"},
		{"get_lamp", "", stringParameter("saveToFile"), "dangerous"},
		{"get_lamp", "", boolParameter("save_copy"), "moderate"},
		{"get_lamp", "", stringParameter("path"), "safe"},
		{"get_lamp", "", stringParameter("output"), "safe"},
		{"get_lamp", "", stringParameter("output_id"), "safe"},
		{"get_lamp", "", stringParameter("output_format"), "safe"},
		{"get_lamp", "", stringParameter("commit_path"), "safe"},
		{"get_lamp", "", boolParameter("output_path"), "safe"},
		{"get_lamp", "", boolParameter("out_of_stock"), "safe"},
		{"create_lamp", "", boolParameter("save"), "moderate"},
		{"create_lamp", "", boolParameter("auto_save"), "moderate"},
		{"create_lamp", "", boolParameter("include_file"), "moderate"},
		{"command_help", "Get what is known of a command", stringParameter("command"), "safe"},
		{"command_box", "Get what is known of a command", stringParameter("command"), "dangerous"},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description, InputSchema: c.schema})
		if a.Safety().String() != c.want {
			t.Errorf("%s %q %v: got %s, want %s: %v", c.name, c.description, c.schema, a.Safety(), c.want, a.Evidence)
		}
	}
}

// A word before "are" is the subject of a later sentence, and no deed of the tool.
func TestSubjectOfALaterSentence(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]string{
		"Search lamps. Highlights are always enabled.":   "safe",
		"Search lamps. Highlights the first lamp found.": "moderate",
	} {
		if a := infer.Tool(&mcp.Tool{Name: "search", Description: description}); a.Safety().String() != want {
			t.Errorf("%q: got %v, want %s: %v", description, a.Safety(), want, a.Evidence)
		}
	}
}
