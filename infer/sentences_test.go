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
