package infer_test

import (
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each rule of docs/reference/inference.md with what it catches and what it must leave
// alone: a name, a description and the class.
var rules = map[string]string{
	"name and description are at odds": `
		triage_ticket | Set urgency and owner of a ticket | moderate
		encode_memory | Stores a recollection with its weight | moderate
		lookup_ticket | Creates the ticket if there is none | moderate
		peek_queue | Removes the oldest entry | dangerous
		scan_depot | Start a scan of the depot | moderate
		check_gate | Post a gate report | moderate
		ping_lamp | Place the order for a lamp | dangerous
		ping_lamp | Triggers a flicker of the lamp | moderate
		check_lamp | Performs a sweep of the lamp | safe
		check_gate | Stores nothing, read-only | safe
		get_slips | Pay slips of a worker | safe
		search_ledgers | Select one of these read-only ways to search | moderate`,
	"what says little gives way": `
		screen_reload | | moderate
		screen_focus | Raise a window | moderate
		review_create | | moderate
		refund_get | | safe
		lamp_ban_get | | safe
		ban_create | | dangerous
		refund_create | | dangerous
		reverse_geocode | | safe
		render_update | | moderate
		screen_watch | Samples the picture | safe`,
	"what is told is no deed": `
		return_parcel | | unknown
		receive_goods | | unknown
		parcels | Returns the parcels of a day | safe
		parcels | Report whether a parcel is late | safe
		snag | Report a leak to the caretaker | moderate`,
	"what is only supposed": `
		preview_send | | safe
		calculate_refund | | safe
		estimate_transfer | | safe
		simulate_outage | | safe
		preview_and_send | | dangerous
		dry_run_query | | safe`,
	"what is left behind hangs on the object": `
		snapshot_disk | | moderate
		disk_snapshot | | moderate
		window_snapshot | | safe
		snapshot | | safe
		capture_page | | safe
		capture_idea | | moderate
		extract_zip | | moderate
		extract_text | | safe
		encrypt_file | | moderate
		encrypt_phrase | | safe
		simulate_input | | moderate
		checkout_branch | | moderate
		checkout_basket | | dangerous`,
	"brands are no compounds": `
		firehunt_pages | Hunts pages | unknown
		bulkdelete | | dangerous
		sendmail | | dangerous`,
	"plurals are no deeds": `
		spending_insights | Spending by month | safe
		court_v1_bans | | unknown
		court_ban | | dangerous`,
	"two nouns that may be verbs": `
		chat_post | | moderate
		guess_release | | dangerous`,
	"several things at once": `
		depot_ops | | unknown
		depot_ops | Browse the depot | unknown
		ops_status | | safe`,
	"a field is left empty": `
		set_keeper | Set or clear the keeper of a lamp | moderate
		assign_keeper | Assign, change or clear a keeper | moderate
		set_keeper | Set a keeper and delete the old one | dangerous`,
	"how it is done, and what comes of it": `
		begin_proof | Starts a proof by sending a code | dangerous
		approve_plan | Approves a plan, replacing the old one | dangerous
		begin_proof | Starts a proof by asking for a code | moderate`,
	"a noun between and and an article is a verb": `
		take_seat | Update a seat and charge the card | dangerous
		move_key | Holds a key or release of one | moderate`,
	"a verb with something in front": `
		lamp | Deep-inspect a lamp | safe
		lamp | Force-delete a lamp | dangerous
		get_lamp | Force-delete a lamp | dangerous`,
	"when to call is no deed": `
		lamp_recall | Call with every question. Returns what a lamp has seen. | safe
		lamp_hook | Call an endpoint of the lamp | moderate`,
	"an unknown verb before an article": `
		lamp_status | Flurb the status | unknown
		lamp | Flurb a summary | unknown
		lamp_status | Brightness and colour | safe
		lamp | Whether the lamp is lit | safe
		lamp | What the lamp has seen | safe
		lamp | What this does: deletes lamps | dangerous
		lamp | Praise be to activity | unknown`,
	"transformations of what was read": `
		fetch_leaf | Fetches a leaf and converts it to text | safe
		fetch_leaf | Fetches a leaf & stores it | moderate
		find_leaf | Find & apply leaves | moderate`,
	"power behind a write": `
		write_rows | Execute a query on the rows | dangerous`,
	"a phrase in which nothing is done": `
		lamps | Current lamps | safe
		lamps | Domains on a lamp | safe
		lamps | Bulb types of a lamp | safe
		lamps | Throughput, error rate | safe
		lamps | Deleted lamps of a house | safe
		lamps | Recently added lamps | unknown
		lamps | Payments of a customer | safe
		lamps | Payment for a lamp | unknown
		lamps | Bestow kudos to a lamp | unknown
		lamps | Flurb lamps | unknown
		lamps | Glow and age of a lamp | safe
		lamps | The doors of a lamp shop | unknown
		lamps | A lamp is removed | dangerous
		lamps | A tool for flurbing lamps | unknown
		lamps | Copies lamps from a house | moderate
		lamps | Notes, revision 1. | unknown
		lamps | Files (revision 2) | unknown
		lamps | Creation of lamps | unknown
		lamps | Bulk creation of lamps | unknown
		lamps | Installation and flurbment of lamps | unknown
		lamps | Location of a lamp | safe
		lamps | Permanently destroy a version of a lamp | dangerous
		group_stats | Per-lamp statistics | safe
		process_lamp | Lamps of a house | moderate
		order_lamp | Lamps of a house | dangerous
		list_answers | Saved replies | safe`,
	"what stands before the sentence": `
		lamps | [Lamps] [Read] Get the lamps | safe
		lamps | [Delete] Lists lamps | dangerous
		lamps | [Read] Adds a lamp | moderate
		lamps | Note: deletes all lamps | dangerous
		lamps | Step 1: find the lamps | safe
		lamps | Call this tool to fetch lamps | safe
		lamps | Call this tool to delete lamps | dangerous
		lamps | Use it when you want to find lamps | safe
		lamps | Use it when you want to delete lamps | dangerous`,
	"a preview in which things are done": `
		lamp_preview_switch | Switches the lamp on | moderate
		lamp_preview_open | Opens a lamp | moderate
		lamp_preview_delete | Deletes a lamp | dangerous
		preview_delete | Show what would be deleted | safe
		lamp_preview_delete | | safe`,
	"a shell that is looked at": `
		terminal_height | List the heights of a terminal | safe
		terminal_height | | dangerous
		terminal | List the terminals | dangerous
		bash_lamp | Run a command | dangerous
		bash_lamp | Opens a lamp | dangerous`,
	"plurals at the end": `
		lamp_changes | Current lamps | safe
		changes | Current lamps | safe
		lamp_branches | All branches of a lamp | safe`,
	"how a tool behaves": `
		list_lamps | List lamps. The tool refuses the wrong ones. | safe
		refuse_lamp | | moderate
		list_lamps | Fetch lamps and collapse them into groups | safe
		lamp_fit | Compute the width of a press or shrink fit | safe
		list_lamps | Show the lamps - copy and modify a lamp for a house | safe
		list_lamps | Get profile, purchase history, and age | safe`,
	"a verb that looks like things": `
		lamp_review | Records Anna's review of a lamp | moderate
		lamp_review | Orders of a lamp | dangerous`,
	"whose deed it is": `
		list_lamps | List lamps. The user deletes the lamp. | safe
		list_lamps | List lamps. The tool deletes the lamp. | dangerous`,
	"words in a list after a read": `
		list_lamps | Read lanes, spawn points and signs | safe
		list_lamps | Read lanes, spawn the lamps | moderate
		list_lamps | List lamps, delete lamps of a house | dangerous
		find_lamps | Detect & dim lamps of a house | moderate
		list_lamps | Retrieve rules, inline styles, rows | safe
		make_sheet | Generate a spreadsheet or pivot table | safe`,
	"what is run": `
		run_purge_job | | dangerous
		run_purge_report | | safe
		evaluate_lamp | Evaluate a lamp | safe
		evaluate_script | | dangerous
		call_lamp | Call any API path | dangerous
		raw_request | Direct line to a lamp | dangerous
		request_lamp | Ask for a lamp | safe
		run_in_shell | | dangerous
		write_lamp_query | | dangerous
		write_lamp | | moderate
		call_lamp | Call the API of a lamp | moderate
		lamp_batch | Combine up to 20 lamp requests into one | dangerous
		lamp_batch | Combine up to 20 lamps into a request | moderate`,
	"what one is bound by": `
		accept_offer | | dangerous
		extend_offer | | dangerous
		enroll_in_sequence | | dangerous
		enroll_in_course | | moderate
		accept_change | | moderate
		confirm_quote | | dangerous
		make_call | | dangerous
		make_lamp | | moderate
		place_bid | | dangerous
		sign_note | | dangerous
		sign_lamp_url | Sign an address of a lamp | dangerous
		close_lamp | Sign the lamp out | moderate
		sign_in | | moderate`,
	"a check is none": `
		lamp_check_merge | | safe
		lamp_check_and_merge | | dangerous
		check_deploy | | safe`,
	"a manager that is set": `
		set_mode_manager | | moderate
		mode_manager | | unknown`,
	"what is captured has to be known": `
		notes_capture | | moderate
		screen_capture | | safe
		lamp_capture | Capture an idea | moderate`,
	"what is reported": `
		report_status | Report the status of a lamp | unknown
		lamp | Report the status of a lamp | safe
		report_leak | Report a leak | moderate
		lamp | Reports supported lamps | safe`,
	"a list of actions": `
		lamp_ops | Everything about lamps. Actions: list, add, remove | dangerous
		lamp_ops | Actions: list, flurb | unknown
		get_lamp | Lamp of a house. Modes: short, long | safe`,
	"a verb whose particle stands behind": `
		lamp | Rolls a lamp back | dangerous
		lamp | Checks a lamp in and returns its place | moderate
		lamp | Check the lamp in a house | safe
		lamp | Apply an ordered list of rules | moderate
		lamp | Triggers a new lamp and returns its address | moderate
		lamp | Search and deploy lamps of a house | dangerous`,
	"no way back": `
		move_lamp | Move a lamp. It cannot be recovered. | dangerous
		move_lamp | Move a lamp, irrevocably | dangerous`,
}

func TestRules(t *testing.T) {
	t.Parallel()
	for rule, lines := range rules {
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

// TestSchemaRules holds what parameters and the output give away.
func TestSchemaRules(t *testing.T) {
	t.Parallel()
	required := map[string]any{
		"type": "object", "required": []any{"payload"},
		"properties": map[string]any{"payload": map[string]any{"type": "object"}},
	}
	for _, c := range []struct {
		name   string
		in     any
		want   string
		reason string
	}{
		{"search_lamps", boolParameter("dry_run"), "moderate", "nobody dry-runs a read"},
		{"search_lamps", boolParameter("confirm"), "moderate", "nobody confirms a read"},
		{"search_lamps", boolParameter("confirmed_only"), "safe", "a filter"},
		{"search_lamps", stringParameter("confirm"), "safe", "no switch"},
		{"render_lamp", required, "moderate", "what is to be written has to be given"},
		{"parse_lamp", required, "safe", "a plain read works on what it is given"},
		{"render_lamp", nil, "safe", "nothing has to be given"},
		{"search_lamps", enum("mode", "email", "mail"), "safe", "nouns are no deeds of a plain read"},
		{"lamps", enum("action", "email", "list"), "dangerous", "where nothing else is known they count"},
		{"search_lamps", enum("action", "delete", "list"), "dangerous", "a plain verb always counts"},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name, InputSchema: c.in})
		if a.Safety().String() != c.want {
			t.Errorf("%s (%s): got %s, want %s: %v", c.name, c.reason, a.Safety(), c.want, a.Evidence)
		}
	}
}

// TestSharedBrand holds that a word which all names begin with, and which states
// little, is passed over.
func TestSharedBrand(t *testing.T) {
	t.Parallel()
	defs := []*mcp.Tool{{Name: "firehunt_list"}, {Name: "firehunt_delete"}, {Name: "firehunt_find_page"}}
	want := []string{"safe", "dangerous", "safe"}
	for i, a := range infer.Tools(defs) {
		if got := a.Safety().String(); got != want[i] {
			t.Errorf("%s: got %s, want %s", defs[i].Name, got, want[i])
		}
	}
}

// TestWarnedDeed holds that a warning before the verb does not hide what is done.
func TestWarnedDeed(t *testing.T) {
	t.Parallel()
	a := infer.Tool(&mcp.Tool{Name: "lamps", Description: "Permanently destroy a version of a lamp"})
	if a.Destructive != annotation.Yes {
		t.Errorf("got %v, want a destructive tool: %v", a.Destructive, a.Evidence)
	}
}
