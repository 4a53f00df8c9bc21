package main

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
)

// A nature is what a tool really does, which no policy but the oracle is told.
type nature int

const (
	reading  nature = iota // of what its arguments name, or of a list
	updating               // twice is as once
	adding                 // twice is two
	wiping                 // destructive
)

// A tool is one of the seventeen. Several have words in their names or descriptions
// that belong to another nature.
type tool struct {
	server, name, description string
	nature                    nature
	names                     []string // members that name what it is about: "id" and "of"; none for a list
	weight                    int      // of 1,000 calls
	median                    time.Duration
}

var tools = []tool{
	{"crm", "get_customer", "Retrieve one customer.", reading, []string{"id"}, 170, 180 * time.Millisecond},
	{"crm", "list_customers", "Lists customers, newest first.", reading, nil, 20, 400 * time.Millisecond},
	{"crm", "search_orders", "Search the orders of a customer. Deleted orders are left out.", reading, []string{"of"}, 110, 350 * time.Millisecond},
	{"crm", "update_customer", "Update a customer and show what it looks like now.", updating, []string{"id"}, 40, 250 * time.Millisecond},
	{"crm", "add_contact", "Create a contact person. Check first that it is not there; returns what to display.", adding, []string{"of"}, 30, 300 * time.Millisecond},
	{"crm", "delete_customer", "Delete a customer.", wiping, []string{"id"}, 4, 300 * time.Millisecond},

	{"billing", "get_invoice", "Read one invoice.", reading, []string{"id"}, 160, 220 * time.Millisecond},
	{"billing", "find_invoices", "Find the invoices of a customer.", reading, []string{"of"}, 110, 380 * time.Millisecond},
	{"billing", "totals", "Open amounts by currency.", reading, nil, 8, 600 * time.Millisecond},
	{"billing", "create_invoice", "Create an invoice and get its ID.", adding, []string{"of"}, 35, 320 * time.Millisecond},
	{"billing", "set_due_date", "Set the due date of an invoice.", updating, []string{"id", "of"}, 25, 200 * time.Millisecond},
	{"billing", "void_invoice", "Voids an invoice for good, after a look at its payments.", wiping, []string{"id", "of"}, 5, 300 * time.Millisecond},

	{"notes", "read_note", "Shows a note.", reading, []string{"id"}, 190, 120 * time.Millisecond},
	{"notes", "search_notes", "Full-text search.", reading, nil, 30, 450 * time.Millisecond},
	{"notes", "append_note", "Add a line to a note. Use read_note to view it.", adding, []string{"id"}, 34, 150 * time.Millisecond},
	{"notes", "rename_note", "Replace the title of a note; find it with search_notes.", updating, []string{"id"}, 23, 150 * time.Millisecond},
	{"notes", "purge_note", "Removes a note and its history.", wiping, []string{"id"}, 6, 200 * time.Millisecond},
}

func (t *tool) String() string { return t.server + "/" + t.name }

// declared is what the tool's author would say of it.
func (t *tool) declared() annotation.Annotations {
	var a annotation.Annotations
	switch t.nature {
	case reading:
		a = annotation.ReadOnly()
	case updating:
		a = annotation.Update()
	case adding:
		a = annotation.Write()
	case wiping:
		a = annotation.Destructive()
	}
	return a
}

// arguments returns the tool's arguments for the thing of a number, and the names
// of what it is about: an invoice is one of a tenth as many customers.
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
	if t.nature != reading {
		// The agent's own, and the same when it comes again, as models do. Two agents
		// with one question would wait for one person, and chance decides who is first.
		given["value"] = fmt.Sprintf("by %d", agent)
	}
	raw, err := json.Marshal(given)
	if err != nil {
		panic(err)
	}
	return raw, about
}
