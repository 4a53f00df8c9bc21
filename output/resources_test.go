package output_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/mcptest"
	"github.com/fairlead-go/fairlead/output"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A server of ours declares the audience, the priority and the age of its resources; a host reads
// them over a session, as the model and as the user see them.
func TestResourcesAsListed(t *testing.T) {
	t.Parallel()
	audience := func(roles ...mcp.Role) annotation.Content { return annotation.Content{Audience: roles} }
	matters := func(c annotation.Content, p float64) annotation.Content {
		c.Priority = &p
		return c
	}
	server := mcptest.New()
	noBody := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, mcp.ResourceNotFoundError("")
	}
	for uri, c := range map[string]annotation.Content{
		"doc:handbook":    matters(audience(user), 1),             // for people, and needed
		"doc:schema":      matters(audience(assistant), 0.8),      // for the model
		"doc:ledger":      matters(audience(assistant), 1),        // the first thing it should see
		"doc:trivia":      matters(audience(user), 0.3),           // people may skip it
		"doc:everyone":    {},                                     // for both, at the middle
		"doc:both":        matters(audience(user, assistant), .6), // for both, as said
		"doc:last":        matters(audience(), 0),                 // a priority of 0 is not a missing one
		"doc:dated-notes": {LastModified: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	} {
		server.AddResource(&mcp.Resource{URI: uri, Name: uri, Annotations: c.MCP()}, noBody)
	}
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "log:{day}", Name: "logs", Annotations: matters(audience(assistant), 0.7).MCP()}, noBody)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "photo:{day}", Name: "photos", Annotations: audience(user).MCP()}, noBody)
	server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note:{day}", Name: "notes"}, noBody)
	session := mcptest.Connect(t, server, nil)
	listed, err := session.ListResources(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	templates, err := session.ListResourceTemplates(mcptest.Context(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		role      mcp.Role
		resources string
		templates string
	}{
		{assistant, "doc:ledger doc:schema doc:both doc:dated-notes doc:everyone doc:last", "log:{day} note:{day}"},
		{user, "doc:handbook doc:both doc:dated-notes doc:everyone doc:trivia doc:last", "note:{day} photo:{day}"},
	} {
		t.Run(string(tt.role), func(t *testing.T) {
			t.Parallel()
			var got []string
			resources, err := output.Resources(listed.Resources, tt.role)
			if err != nil {
				t.Error(err)
			}
			for _, r := range resources {
				got = append(got, r.URI)
			}
			if want := strings.Fields(tt.resources); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
			got = nil
			kept, err := output.ResourceTemplates(templates.ResourceTemplates, tt.role)
			if err != nil {
				t.Error(err)
			}
			for _, r := range kept {
				got = append(got, r.URITemplate)
			}
			if want := strings.Fields(tt.templates); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestInvalidAnnotationsOfResources(t *testing.T) {
	t.Parallel()
	listed := []*mcp.Resource{
		nil,
		{URI: "doc:low", Annotations: about(0.2)},
		{URI: "doc:loud", Annotations: about(7)},
		{URI: "doc:stranger", Annotations: about(1, "auditor")},
		{URI: "doc:old", Annotations: &mcp.Annotations{LastModified: "yesterday"}},
	}
	resources, err := output.Resources(listed, assistant)
	var got []string
	for _, r := range resources {
		got = append(got, r.URI)
	}
	if want := []string{"doc:loud", "doc:old", "doc:low"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	want := `output: the resource "doc:loud": annotation: priority: 7 is not between 0 and 1
output: the resource "doc:stranger": annotation: audience: "auditor" is neither user nor assistant
output: the resource "doc:old": annotation: lastModified: "yesterday" is no time as RFC 3339 writes it, 2025-01-12T15:00:58Z`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if listed[1].URI != "doc:low" {
		t.Error("the list was written to")
	}
}
