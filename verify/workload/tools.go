package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/verify/world"
)

// A tool is one of the twenty. The words of several suggest another kind.
type tool struct {
	server, name, description string
	kind                      world.Kind // only the oracle may read it
	names                     []string   // members that name what it is about: "id" and "of"; none for a list
	weight                    int        // of 1,000 calls
	median                    time.Duration
	fresh                     annotation.Freshness // of a read, by the same rule
}

var tools = []tool{
	{"crm", "get_customer", "Retrieve one customer.", world.Read, []string{"id"}, 145, 180 * time.Millisecond, annotation.Shared},
	{"crm", "list_customers", "Lists customers, newest first.", world.Read, nil, 20, 400 * time.Millisecond, annotation.Shared},
	{"crm", "search_orders", "Search the orders of a customer. Deleted orders are left out.", world.Read, []string{"of"}, 110, 350 * time.Millisecond, annotation.Shared},
	{"crm", "update_customer", "Update a customer and show what it looks like now.", world.Update, []string{"id"}, 40, 250 * time.Millisecond, ""},
	{"crm", "add_contact", "Create a contact person. Check first that it is not there; returns what to display.", world.Add, []string{"of"}, 30, 300 * time.Millisecond, ""},
	{"crm", "delete_customer", "Delete a customer.", world.Delete, []string{"id"}, 4, 300 * time.Millisecond, ""},

	{"billing", "get_invoice", "Read one invoice.", world.Read, []string{"id"}, 130, 220 * time.Millisecond, annotation.Shared},
	{"billing", "find_invoices", "Find the invoices of a customer.", world.Read, []string{"of"}, 110, 380 * time.Millisecond, annotation.Shared},
	{"billing", "totals", "Open amounts by currency.", world.Read, nil, 8, 600 * time.Millisecond, annotation.Shared},
	{"billing", "create_invoice", "Create an invoice and get its ID.", world.Add, []string{"of"}, 35, 320 * time.Millisecond, ""},
	{"billing", "set_due_date", "Set the due date of an invoice.", world.Update, []string{"id", "of"}, 25, 200 * time.Millisecond, ""},
	{"billing", "void_invoice", "Voids an invoice for good, after a look at its payments.", world.Delete, []string{"id", "of"}, 5, 300 * time.Millisecond, ""},

	{"notes", "read_note", "Shows a note.", world.Read, []string{"id"}, 165, 120 * time.Millisecond, annotation.Stable},
	{"notes", "search_notes", "Full-text search.", world.Read, nil, 30, 450 * time.Millisecond, annotation.Stable},
	{"notes", "append_note", "Add a line to a note. Use read_note to view it.", world.Add, []string{"id"}, 34, 150 * time.Millisecond, ""},
	{"notes", "rename_note", "Replace the title of a note; find it with search_notes.", world.Update, []string{"id"}, 23, 150 * time.Millisecond, ""},
	{"notes", "purge_note", "Removes a note and its history.", world.Delete, []string{"id"}, 6, 200 * time.Millisecond, ""},

	{"live", "get_import_status", "Get the status of an import. Poll until it is done.", world.Read, nil, 35, 90 * time.Millisecond, annotation.Volatile},
	{"live", "get_balance", "Get the current balance of a customer's account.", world.Read, nil, 25, 150 * time.Millisecond, annotation.Volatile},
	{"live", "list_viewers", "Lists the users who are online now.", world.Read, nil, 20, 100 * time.Millisecond, annotation.Volatile},
}

func (t *tool) String() string { return t.server + "/" + t.name }

// arguments returns the tool's arguments for the thing of a number, and the names of what it is
// about: an invoice is one of a tenth as many customers.
func (t *tool) arguments(agent, thing int) (raw json.RawMessage, about []string) {
	given := map[string]string{}
	for _, member := range t.names {
		name := fmt.Sprintf("%s-%d", t.server, thing)
		if member == "of" {
			name = fmt.Sprintf("%s-of-%d", t.server, thing%250)
		}
		given[member] = name
		about = append(about, name)
	}
	if len(t.names) == 0 {
		given["page"] = fmt.Sprint(thing % 3)
	}
	if t.kind != world.Read {
		// The agent's own, so that no two agents wait for the answer to one question.
		given["value"] = fmt.Sprintf("by %d", agent)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return raw, about
}
