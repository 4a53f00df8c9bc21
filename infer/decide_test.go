package infer_test

import (
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// decided are cases of each rule that decides: "name | description | schema | class". The
// rule has to be the one that the evidence names.
var decided = map[string]string{
	"several things": `
		manage_lamps | | | dangerous
		manage_lamps | | {"properties":{"action":{"enum":["list","get"]}}} | safe
		lamp_admin | Lamp administration | | unknown`,
	"a verb alone": `
		perform | | | dangerous
		sync | Sync | | dangerous`,
	"a verb of another language": `
		lamps | 列出灯 | | safe
		lamps | 删除灯 | | dangerous
		lamps | Supprime la lampe | | dangerous
		lamps | Beschreibt die Lampen und das Licht | | safe
		get_lamp | 删除灯 | | dangerous
		query_lamps | 查询并删除灯 | | dangerous
		get_lamp | 获取灯。会自动发送邮件。 | | dangerous
		get_lamp | ランプを削除します | | dangerous
		get_lamp | ランプを検索して削除します | | dangerous
		get_lamp | 램프를 삭제합니다 | | dangerous
		get_lamp | Удаляет лампу | | dangerous
		get_lamp | Löscht eine Lampe | | dangerous
		get_lamp | Elimina una lámpara | | dangerous
		get_lamp | Exclui uma lâmpada | | dangerous
		get_lamp | Supprime la lampe | | dangerous
		get_lamp | Rimuove la lampada | | dangerous`,
	"a command of any kind": `
		lamps | Lamp commands | {"properties":{"command":{"type":"string"},"parameters":{"type":"object"}}} | dangerous
		perform_action | Perform an action on a lamp | {"properties":{"action_id":{"type":"string"}}} | dangerous`,
	"an address that is fetched": `
		fetch | Fetches a page | {"properties":{"url":{"type":"string"}}} | dangerous
		get_page | Gets a page | {"properties":{"url":{"type":"string"}}} | dangerous`,
	"a filter that may hold code": `
		find | Finds documents in a MongoDB collection | {"properties":{"filter":{"type":"object"}}} | dangerous`,
	"an address that the outcome goes to": `
		get_lamp | Gets a lamp | {"properties":{"webhook_url":{"type":"string"}}} | dangerous`,
	"money that is spent": `
		ask_lamp | Asks a person for a lamp | {"properties":{"budget_usd":{"type":"number","description":"Payment in USD"}}} | dangerous`,
	"a switch that does more": `
		archive_lamp | Archives a lamp | {"properties":{"send_email":{"type":"boolean"}}} | dangerous
		get_lamp | Gets a lamp | {"properties":{"delete_source":{"type":"boolean"}}} | dangerous`,
	"the name's verb": `
		get_lamp | | | safe
		can_delete_lamp | Tells whether a lamp can go | | safe
		dim_lamp | | | moderate
		delete_lamp | | | dangerous
		unlock_car | | | dangerous
		grant_seat | | | dangerous
		set_lamp_permissions | | | dangerous
		update_lamp_share | | | moderate
		create_ssh_key | | | dangerous
		schedule_transaction | | | dangerous`,
	"an unknown verb": `
		respool_status | Respools data of a loom | | unknown
		loom_status | Bewarp the loom and look | | unknown
		frobnicate | Notes, revision 1. | | unknown
		frobnicate | Notes of a lamp | | unknown
		vitrify_lamps | List of lamps | | unknown
		vitrify_list | | | unknown
		vitrify_status | Status of a lamp | | unknown`,
	"the description's verb": `
		lamps | Lists lamps | | safe
		lamps | Payments of a customer | | safe
		lamps | The lamp depot deletes orders | | dangerous
		house | Unlocks the front door | | dangerous
		visitor | Impersonates a visitor | | dangerous
		visitor | Generates a temporary access code | | dangerous
		visitor | Generates an access report | | safe
		run_lamp | Gets the age of a lamp by asking it | | safe`,
	"a weak verb of the name": `
		copy_snapshot | | | moderate
		share_album | | | dangerous
		lamp_status | | | safe`,
	"name and description at odds": `
		query_lamps | Run a SQL statement | | dangerous
		check_lamp | Run a shell command on the lamp | | dangerous
		get_lamp | Executes arbitrary Python code | | dangerous
		get_lamp | Replaces the bulb of a lamp | | dangerous
		get_pass | Generates a pass for a guest | | moderate
		preview_lamp | Deploys the lamp to a house | | dangerous`,
	"a second verb of the name": `
		get_lamp_purge | | | dangerous`,
	"what else is said": `
		find_lamps | Finds lamps. Can also update or delete them. | | dangerous
		get_lamp | Gets a lamp. Note that this will wipe the others. | | dangerous
		get_lamp | Gets a lamp. Getting it makes it public. | | dangerous
		get_lamp | Gets a lamp. It will also email the owner. | | dangerous
		get_lamp | Gets a lamp. Warning: drops older ones. | | dangerous`,
	"what is done to something": `
		get_lamp | Gets a lamp. Older lamps are overwritten. | | dangerous
		get_lamp | Gets a lamp. If it is lit, the switch is reset. | | dangerous
		get_lamp | Gets a lamp. Your card will be charged. | | dangerous
		get_lamp | Gets a lamp. A copy is emailed to the owner. | | dangerous
		get_lamp | Gets a lamp. All lamps are lit and cleared. | | dangerous`,
	"what is lost by a write": `
		dim_lamp | Dims a lamp. Older lamps are deleted. | | dangerous`,
	"a body of a write": `
		render_lamp | Render a lamp | {"required":["body"],"properties":{"body":{"type":"object"}}} | moderate`,
	"what a weak verb means": `
		review_lamps | Review the lamps. Delete the broken ones. | | dangerous`,
	"the outcome stays": `
		render_lamp | Render a lamp into a new window | | moderate`,
	"no way back": `
		dim_lamp | Dim a lamp. This cannot be undone. | | dangerous`,
	"credentials are handed out": `
		get_session | Gets a session with fresh credentials | | moderate
		get_session | Gets the address and password of a session | | moderate`,
	"a choice of a parameter": `
		get_lamp | Gets a lamp | {"properties":{"action":{"enum":["show","delete"]}}} | dangerous`,
	"a parameter that is run": `
		get_lamp | Gets a lamp | {"properties":{"sql":{"type":"string"}}} | dangerous
		get_lamp | Gets a lamp | {"properties":{"shell_command":{"type":"string"}}} | dangerous`,
	"a switch": `
		get_lamp | Gets a lamp | {"properties":{"purge":{"type":"boolean"}}} | dangerous`,
	"a parameter says what happens": `
		get_lamp | Gets a lamp | {"properties":{"x":{"type":"boolean","description":"If set, all lamps are deleted"}}} | dangerous
		get_lamp | Gets a lamp | {"properties":{"x":{"type":"boolean","description":"Sends mail to the owner"}}} | dangerous
		get_lamp | Gets a lamp | {"properties":{"code":{"type":"string","description":"Code that is executed"}}} | dangerous`,
	"a parameter of a write": `
		get_lamp | Gets a lamp | {"properties":{"output_path":{"type":"string"}}} | dangerous`,
	"people who are written to": `
		create_lamp | Create a lamp | {"properties":{"attendees":{"type":"array"}}} | dangerous
		update_lamp | Update a lamp | {"properties":{"recipient_email":{"type":"string"}}} | dangerous`,
	"a protection overridden": `
		copy_lamp | Copy a lamp | {"properties":{"overwrite":{"type":"boolean"}}} | dangerous`,
	"another language": `
		get_lamp | Zerschlägt die Lampe und den Schirm | | unknown
		get_lamp | Casse la lampe et les ampoules | | unknown
		get_lamp | Quebra a lâmpada e os vidros | | unknown
		get_lamp | Rompe la lámpara y los vidrios | | unknown
		get_lamp | Rompe la lampada e il vetro | | unknown
		get_lamp | ランプを壊します | | unknown
		get_lamp | 打碎灯 | | unknown
		get_lamp | Разбивает лампу | | unknown
		get_lamp | Rikkoo lampun kokonaan | | unknown
		get_lamp | Raderar alla data | | unknown
		get_lamp | Borra todo | | unknown
		get_lamp | Supprimer | | unknown
		x_status | Sletter data | | unknown`,
	"a noun alone": `
		sample_lamp | Lamp gadget of a house | | unknown`,
	"the description manages": `
		get_lamp | Manages sharing of lamps | | unknown`,
	"an unknown deed is simulated": `
		rebulb_lamp | Simulates unscrewing and screwing a bulb | | unknown`,
	"a phrase beside a body or a method": `
		lamps | Lamps of a house | {"properties":{"method":{"type":"string"}}} | unknown
		lamps | Current lamps | {"properties":{"body":{"type":"object"}}} | unknown`,
}

// undecided are cases that a rule must leave alone, by the rule's name.
var undecided = map[string]string{
	"what is done to something": `
		get_lamp | Gets a lamp. Lamps that were deleted are left out. | | safe
		get_lamp | Gets a lamp. Nothing is deleted. | | safe
		get_lamp | Gets a lamp. Your card is not charged. | | safe
		get_lamp | Gets a lamp. It tells whether it is sold. | | safe
		get_lamp | Gets a lamp. If it was deleted, an error is returned. | | safe
		get_lamp | This API is deprecated and will be removed. Gets a lamp. | | safe
		get_lamp | Gets lamps. The list is ordered by name. | | safe
		get_lamp | Shut down. See get_bulb. | | safe`,
	"an unknown verb": `
		vitrify_lamps | Retrieve the lamps | | safe
		vitrify_lamps | Run a shell command | | dangerous
		netlify_get_lamp | | | safe`,
	"the description's verb": `
		lamp_api | Access to the lamp REST API | | unknown
		lamp_bot | A lamp client | | unknown
		lamp_box | Full SDK of lamps | | unknown
		lamp_box | Allows access to the lamps | | unknown
		lamps | Current lamps delete orders | | unknown`,
	"name and description at odds": `
		query_lamps | Run a SQL statement | | dangerous
		check_lamp | Run a shell command on the lamp | | dangerous
		get_lamp | Executes arbitrary Python code | | dangerous
		get_lamp | Grants permission to get a lamp | | safe`,
	"a second verb of the name": `
		get_lamp_reply | Gets the reply of a lamp | | safe
		describe_lamp_ban | Describes a ban of a lamp | | safe
		describe_lamp_ban | | | safe
		settings_get_pop | Gets the settings of POP | | safe
		settings_get_pop | | | safe
		get_lamp_refund | | | safe`,
	"people who are written to": `
		get_lamp | Get a lamp | {"properties":{"participants":{"type":"array"}}} | safe`,
	"what else is said": `
		find_lamp_zip | Finds a lamp by first name, last name, and zip code | | safe
		get_lamp_change | Gets the state of a request to create, update, or delete a lamp | | safe`,
	"a command of any kind": `
		get_lamp_guide | Gets a guide | {"properties":{"command":{"type":"string"},"parameters":{"type":"object"}}} | safe`,
	"an address that is fetched": `
		get_lamp | Gets a lamp | {"properties":{"url":{"type":"string"}}} | safe
		fetch_lamp | Fetches a lamp | {"properties":{"id":{"type":"string"}}} | safe`,
	"an address that the outcome goes to": `
		get_lamp | Gets a lamp | {"properties":{"webhook_id":{"type":"string"}}} | safe`,
	"money that is spent": `
		find_lamp | Finds a lamp | {"properties":{"budget":{"type":"number","description":"The most that it may cost"}}} | safe`,
	"a switch that does more": `
		create_lamp_template | Creates a template | {"properties":{"send_email":{"type":"boolean"}}} | moderate
		get_lamp | Gets a lamp | {"properties":{"remove_images":{"type":"boolean"}}} | safe`,
	"a parameter that is run": `
		delete_run | Deletes a run | {"properties":{"code":{"type":"string","description":"Code of the project"}}} | dangerous`,
	"a choice of a parameter": `
		get_lamp | Gets a lamp | {"properties":{"mode":{"enum":["period","trend","drop_attribution"]}}} | safe
		find_lamp | Finds a lamp | {"properties":{"operation":{"enum":["eq","starts_with"]}}} | safe`,
	"a parameter says what happens": `
		get_lamp | Gets a lamp | {"properties":{"x":{"type":"integer","description":"Longer names are truncated"}}} | safe
		get_lamp | Gets a lamp | {"properties":{"x":{"type":"boolean","description":"Whether lamps that were deleted are shown"}}} | safe
		get_lamp | Gets a lamp | {"properties":{"code":{"type":"string","description":"The code of a country"}}} | safe`,
	"another language": `
		query_lamps | 查询灯的列表 | | safe
		get_lamp | ランプの一覧を取得します | | safe
		get_lamp | 램프 목록을 조회합니다 | | safe
		get_lamp | Возвращает список ламп | | safe
		get_lamp | Ruft die Lampen eines Hauses ab | | safe
		get_lamp | Die Lampen eines Hauses abrufen | | safe
		get_lamp | Obtiene una lámpara | | safe
		get_lamp | Retorna uma lâmpada | | safe
		get_lamp | Renvoie la lampe | | safe
		get_lamp | Restituisce la lampada | | safe
		list_lamps | List lamps (照明). | | safe
		get_lamp | Get a ランプ of the house | | safe
		get_lamp | Lamp glow | | safe
		get_sconce | Sconce luminance | | safe
		get_lamp | Sconces | | safe
		get_lamp | Lumen count and flicker | | safe
		get_lamp | Glo | | safe
		get_lamp | Current flicker | | safe`,
}

// A ruled case is one line of the tables.
type ruled struct {
	rule string
	def  *mcp.Tool
	want string
}

func ruledCases(tables map[string]string) (all []ruled) {
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		for line := range strings.Lines(tables[name]) {
			cells := strings.Split(line, "|")
			if len(cells) < 4 {
				continue
			}
			def := &mcp.Tool{Name: strings.TrimSpace(cells[0]), Description: strings.TrimSpace(cells[1])}
			if schema := strings.TrimSpace(cells[2]); schema != "" {
				def.InputSchema = json.RawMessage(schema)
			}
			all = append(all, ruled{name, def, strings.TrimSpace(cells[3])})
		}
	}
	return all
}

func decidedCases() []ruled {
	return append(ruledCases(decided), ruled{"the title", &mcp.Tool{Name: "gadget", Title: "Wipe everything"}, "dangerous"})
}

// TestDecidedByRules holds that each case is decided by its rule, which the evidence names.
func TestDecidedByRules(t *testing.T) {
	t.Parallel()
	for _, c := range decidedCases() {
		a := infer.Tool(c.def)
		if got := a.Safety().String(); got != c.want || a.Evidence[0].Rule != c.rule {
			t.Errorf("%s %q: got %s by %q, want %s by %q", c.def.Name, c.def.Description, got, a.Evidence[0].Rule, c.want, c.rule)
		}
	}
	for _, c := range ruledCases(undecided) {
		if got := infer.Tool(c.def).Safety().String(); got != c.want {
			t.Errorf("%s %q: got %s, want %s, which %q leaves alone", c.def.Name, c.def.Description, got, c.want, c.rule)
		}
	}
}

// TestEveryRuleMatters takes each rule away, one at a time: a case of it has to come out
// otherwise, or for another reason.
func TestEveryRuleMatters(t *testing.T) { // not parallel: it changes the rules
	cases := decidedCases()
	for _, name := range infer.RuleNames() {
		infer.WithoutRule(name, func() {
			noticed := slices.ContainsFunc(cases, func(c ruled) bool {
				return c.rule == name && infer.Tool(c.def).Safety().String() != c.want
			})
			if !noticed {
				t.Errorf("no case notices that the rule %q is gone", name)
			}
		})
	}
}

// stillWrong are the probes that the rules do not reach.
var stillWrong = strings.Fields(`object_store printer_driver opening_hours verify_phone generate_backup_codes open_port login_as post_article
	raise_credit_limit enable_remote_access disable_logging_alerts`)

// TestProbes holds the probes of testdata, which were written before the rules. Their
// classes of fault are in infer/testdata/README.md.
func TestProbes(t *testing.T) {
	t.Parallel()
	fine := map[string][]annotation.Safety{
		"asked": {annotation.Dangerous, annotation.Unknown},
		"write": {annotation.Moderate, annotation.Dangerous, annotation.Unknown},
		"quiet": {annotation.Safe, annotation.Moderate},
		"safe":  {annotation.Safe},
	}
	for _, p := range lines[struct {
		Kind, Name, Description, Want string
		InputSchema                   any
	}](t, filepath.Join("testdata", "probes.jsonl")) {
		a := infer.Tool(&mcp.Tool{Name: p.Name, Description: p.Description, InputSchema: p.InputSchema})
		wrong := !slices.Contains(fine[p.Want], a.Safety())
		if wrong != slices.Contains(stillWrong, p.Name) {
			t.Errorf("%s: %s %q: got %s, want %s: %v", p.Kind, p.Name, p.Description, a.Safety(), p.Want, a.Evidence)
		}
	}
}
