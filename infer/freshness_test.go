package infer_test

import (
	"os"
	"slices"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestFreshness(t *testing.T) {
	t.Parallel()
	const none, stable, shared, volatile = annotation.Freshness(""), annotation.Stable, annotation.Shared, annotation.Volatile
	for _, c := range []struct {
		name, description string
		want              annotation.Freshness
		secret            bool
	}{
		{"get_job_status", "Poll until done.", volatile, false},
		{"get_current_time", "", volatile, false},
		{"get_random_number", "", volatile, false},
		{"git_status", "", volatile, false},
		{"browser_snapshot", "", volatile, false},
		{"read_file", "Read a file.", volatile, false},
		{"listDirectory", "", volatile, false},
		{"get_logs", "", volatile, false},
		{"cpuUsage", "", volatile, false},
		{"get_stock_price", "", volatile, false},
		{"search_mail", "", volatile, false},
		{"get_alerts", "Get weather alerts for a state.", volatile, false},
		{"get_report", "Shows whether the report is running.", volatile, false},
		{"get_widget", "Read the current temperature of one.", volatile, false},

		{"search_docs", "Search the documentation of the product.", stable, false},
		{"get_table_schema", "", stable, false},
		{"list_allowed_directories", "", stable, false},
		{"get_status_definitions", "", stable, false},
		{"get-sum", "Returns the sum of two numbers.", stable, false},
		{"calculate_distance", "", stable, false},
		{"get_overview", "Read the documentation of a live system.", stable, false},

		{"get_ticket", "", shared, false},
		{"list_customers", "", shared, false},
		{"search_docs", "", shared, false},
		{"search_commits", "", shared, false},
		{"get_cards_by_status_template", "", volatile, false},
		{"list_xyzzies", "", shared, false},
		{"get_xyzzy", "Get one customer.", shared, false},

		{"get_xyzzy", "", none, false},
		{"get_ticket", "查询工单。", none, false},
		{"delete_ticket", "", none, false},

		{"get_secret", "", volatile, true},
		{"update_credentials", "", volatile, true},
		{"list_environment_variables", "", volatile, true},
		{"get_database_key", "", volatile, true},
		{"get_design_token", "", volatile, true},
		{"get_document", "Get a document. The result has a signed download URL.", volatile, true},
		{"get_attachment_url", "", volatile, true},
		{"get_password_policy", "", stable, false},
	} {
		a := infer.Tool(&mcp.Tool{Name: c.name, Description: c.description})
		if a.Freshness != c.want || (a.Secret == annotation.Yes) != c.secret {
			t.Errorf("%s, %q: %s", c.name, c.description, a.Summary())
		}
		if e, ok := a.EvidenceOf(annotation.FreshnessHint); ok != (c.want != none) || ok && (e.Word == "" || e.Source != annotation.Inferred) {
			t.Errorf("%s: the evidence is %v", c.name, e)
		}
	}
}

// A parameter shows that the result may be a secret.
func TestFreshnessOfAParameter(t *testing.T) {
	t.Parallel()
	for label, secret := range map[string]annotation.Hint{"includeValues": annotation.Yes, "withDecryption": annotation.Yes, "includeComments": annotation.Unset} {
		schema := map[string]any{"type": "object", "properties": map[string]any{label: map[string]any{"type": "boolean"}}}
		if a := infer.Tool(&mcp.Tool{Name: "get_item", InputSchema: schema}); a.Secret != secret {
			t.Errorf("%s: %s", label, a.Summary())
		}
	}
}

// TestLabelledFreshness holds the goals of infer/testdata/README.md, for the reads of the set that the words were made
// on, and for those of the servers that were gathered last. A read counts as remembered if a call of it is safe and its
// result is not volatile. Reads with two defensible labels are left out, but for secrets.
func TestLabelledFreshness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		set                      string
		path                     []string
		volatile, stable, shared float64
	}{
		{"made", nil, 2, 85, 6},
		{"wild", []string{"wild"}, 4, 80, 10},
	} {
		tools := catalogs(t, c.path...)
		type label struct {
			Server, Name string
			Fresh        annotation.Freshness
			Also         []string
			Secret       bool
		}
		labels := lines[label](t, shared(t, append(c.path, "freshness.jsonl")...))
		var volatile, secret, stable, others share
		for i, a := range inferAll(tools) {
			at := slices.IndexFunc(labels, func(l label) bool { return l.Server == tools[i].Server && l.Name == tools[i].Name })
			if at < 0 {
				continue
			}
			l, miss := labels[at], false
			remembered := mildest(a) == annotation.Safe && a.Secret != annotation.Yes && (a.Freshness == annotation.Stable || a.Freshness == annotation.Shared)
			if l.Secret {
				secret.add(remembered)
				miss = remembered
			}
			switch {
			case len(l.Also) > 0:
			case l.Fresh == annotation.Volatile:
				volatile.add(remembered)
				miss = remembered
			case l.Fresh == annotation.Stable:
				stable.add(remembered)
				miss = !remembered
			default:
				miss = remembered && a.Freshness == annotation.Stable
				others.add(miss)
			}
			if miss && os.Getenv("MISSES") == c.set {
				t.Logf("%s %s is %s, labelled %s: %.150s", l.Server, l.Name, a.Summary(), l.Fresh, tools[i].Description)
			}
		}
		t.Logf("%s: volatile remembered %.1f %% of %d, secrets %d of %d, stable remembered %.1f %% of %d, shared as stable %.1f %% of %d", c.set,
			volatile.percent(), volatile.of, secret.hit, secret.of, stable.percent(), stable.of, others.percent(), others.of)
		if volatile.percent() > c.volatile || secret.hit > 0 || stable.percent() < c.stable || others.percent() > c.shared {
			t.Errorf("%s: the goals are at most %v %%, none, at least %v %%, at most %v %%", c.set, c.volatile, c.stable, c.shared)
		}
	}
}
