package infer_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/infer"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Each row is a tool with a hole, what it has to come out as, and the words that
// fill the hole. A tool is a name, a description and a schema; what comes out is
// a class, or open, closed, complex or idempotent.
var rows = []struct{ tool, want, words string }{
	{"ping _", "moderate", "webhook"},
	{"_ webhook", "moderate", "ping"},
	{"_ widget", "safe", `get fetch read retrieve describe inspect browse lookup examine obtain enumerate discover identify
		recommend suggest recall diagnose investigate ping probe crawl scrape grep stat detect compare verify validate analyze
		assess classify peek explore observe measure geocode gather summarize lint traverse introspect triage tail cat ls find
		  reveal consult demonstrate visualize echo wait poll learn understand interpret determine troubleshoot
		traceroute whois explain whoami extract locate  show  ask  correlate aggregate debug autocomplete  listen blame recognize
		collect  query search list scan display view check look count audit match monitor trace profile filter  rank
		chat research guess help diff  screenshot survey sample benchmark preview test info status overview tree top head map access screen provide review`},
	{"_ widget", "safe", `calculate compute  parse encode decode hash estimate predict forecast simulate tokenize transcribe
		solve interpolate multiply divide subtract factorize paraphrase proofread beautify prettify minify transpile intersect
		extrapolate geolocate snap backtest rerank concatenate sanitize infer derive flip  enrich sum average round render encrypt decrypt score plot think reason brainstorm reflect roll
		shuffle normalize`},
	{"_ widget", "moderate", `generate draw compose synthesize make format transform translate optimize resolve crop split slice trim upscale compile compress
		decompress rewrite improve build draft design sketch prototype run execute perform invoke trigger rerun retry call process handle do
		conduct apply`},
	{"_ widget", "dangerous", `exec eval sudo shell bash powershell terminal manage administer crud`},
	{"_ widget", "moderate", `create add insert append prepend upload register install import provision clone fork initialize init
		onboard enroll subscribe follow bookmark save store ingest assign schedule reserve allocate instantiate bootstrap
		scaffold upsert push mount spawn enqueue replicate populate seed launch contribute cherrypick remember memorize persist
		submit attach introduce embed print inject propose acquire mirror export download duplicate new comment note label tag issue post file book record copy
		commit event backup request report vote react star queue log branch annotation link forward`},
	{"_ widget", "moderate", `update set edit modify rename move enable toggle activate adjust alter patch configure mark unmark
		unlink connect bind detach unassign resize rotate click press tap fill select hover drag scroll swipe focus navigate enter
		reload refresh start stop pause resume restart reboot login logout mute unmute restore undelete unarchive recover reopen
		unlock reorder tune scale upgrade migrate sync synchronize refactor annotate  authorize authenticate allow
		acknowledge snooze dismiss unpublish unpause unfollow unstar unlike unpin pin turn switch put unset change customize
		rebase transition approve reject deny accept decline unsubscribe disconnect reconnect emulate signin signup signout
		checkin downgrade teleport arm   flag leave join reindex reconcile rsvp escalate silence boot extend protect
		unprotect skip undo redo amend stash delegate reassign relabel reschedule postpone increment decrement increase decrease
		quit exit minimize maximize unmount replay rebuild unblock unban unhide unfreeze reactivate reinstate quarantine isolate
		repair mutate redact dedupe vacuum group highlight loop wake unshare step train hold speak say pull input type state play record  schedule contact label assignment open track watch fix
		complete confirm go back archive close deactivate disable suspend hide expire freeze block lock write`},
	{"_ widget", "safe", `appraise assert autodetect characterize critique crosscheck deduce disambiguate dump gauge glob interrogate
		itemize judge outline paginate pinpoint prefetch quantify scout skim sniff spot study tabulate tally vet dry stream
		canonicalize condense decompile deserialize disassemble escape unescape lemmatize marshal unmarshal quantize rasterize
		resample serialize slugify stringify transliterate rephrase humanize vectorize triangulate categorize`},
	{"gadget | Will _ the things", "safe", `return see contain receive answer present depict denote indicate represent exhibit illustrate`},
	{"_ widget", "safe", `inquire discern collate contrast recap recheck rediscover reread uncover weigh overhear spellcheck scour glance foresee
		ascertain surface approximate binarize detokenize digitize lowercase uppercase hypothesize speculate ponder reckon subsample conjugate
		rescore retokenize verbalize fit regress reroll imagine impute permute evaluate`},
	{"_ widget", "moderate", `produce fabricate devise autogenerate animate augment blur combine construct denoise develop distort downscale downsample dub
		enhance enlarge formulate implement pad personalize pivot polish prepare preprocess postprocess reconstruct recompile redesign redraft
		redraw reencode refine repackage retouch retranslate rework separate sharpen shorten splice standardize structure stylize tailor
		transcode unify upsample wrap assemble narrate fuse precompute smooth mix package segment bundle plan proceed retest initiate commence
		retrigger kickstart orchestrate`},
	{"_ widget", "moderate", `accrue accumulate allot apportion author automate backfill backport declare engrave extrude favorite incorporate lodge
		materialize plant recruit reimport repopulate reupload supplement impose reissue revolve enroll grab invoice checkpoint stamp
		watermark pack like give tell supply`},
	{"_ widget", "moderate", `accelerate adopt amplify appoint arrange associate autoscale bake bypass centralize choose clamp conclude consume cool
		curate dampen darken brighten decouple define deflate deform deprecate derank desaturate designate disassociate dissociate
		disapprove disengage displace dock earmark emboss employ  enact endorse enforce equalize equip expedite expose fade fold unfold
		fortify graduate harden heal heat hoist hydrate rehydrate inactivate indent inflate inhibit inline intercept jam lengthen lessen loosen
		tighten mend modernize modulate morph obsolete organize orient paste penalize pick prefill preserve prevent prewarm prime prolong
		propagate qualify disqualify randomize ratify readjust realign reallocate reassemble rebrand recalibrate recertify reclaim
		reconsider rectify redefine reenable refuse regroup reinforce rejoin rekey relate unrelate relaunch relist remount remodel reorient
		repaint replenish reprice repurpose rescue reseed reshape reshuffle respawn restock restructure resurrect resync retain retune rewire
		scramble segregate shelve unshelve slow spin stabilize straighten strengthen subdivide substitute supersede sustain tether untether
		thaw throw tidy tilt tint tweak twist unbind unbookmark unclaim undock unfavorite unlist unmatch unmerge unplug plug unquarantine
		unreact unreserve unsave unsnooze unsuppress unsuspend untrack veto vibrate warm warp weld widen wield standby sideload walk delay compact`},
	{"_ widget", "moderate", `distribute interact serve treat feed grade power moderate signal stack target clip color paint shape bump cap certify
		coerce dedicate  deduplicate degrade divert elect exempt grow inherit instruct manipulate mediate mimic mitigate offload prohibit
		reprogram restrict retrofit safeguard secure shield shut soften specify squeeze transplant unbundle unseal utilize visit cast center
		cycle instrument license limit mask pass permit route transport trust`},
	{"_ widget", "dangerous", `abandon abolish annihilate annul clobber confiscate cull deauthorize deplete deport depose detonate eradicate evacuate
		exterminate extinguish factoryreset incinerate jettison oust overthrow quash reap reflash reimage reinitialize repartition repeal
		repossess ruin sabotage sack seize sever slay smash uproot vacate vaporize wreck writeoff zeroize hangup flash sacrifice`},
	{"_ widget", "dangerous", `advertise apologize bequeath bribe bruteforce communicate compensate outsource phish prepay proclaim publicize rebill
		recoup redial refinance reimburse reinvest remunerate reshare reship retaliate sign solicit prescribe spoof sue telephone testify thank underwrite
		upsell waive warn debit discharge gift hijack pledge recharge sponsor subpoena syndicate whisper auction escrow lease mortgage rent
		relay forgive negotiate outbid shout topup unwind award dispute poke`},
	{"accept _", "dangerous", `offer claim contract agreement proposal quote deal lease mortgage settlement consent call sequence cadence`},
	{"gadget | _ lamps", "safe", `current recent latest live available existing historical historic upcoming past full comprehensive detailed
		quick per single multiple public basic general overall daily weekly monthly hourly cross realtime remaining active pending`},
	{"run _", "safe", `capability topology catalog dashboard context property outlook journey inventory feed directory news availability agenda
		leaderboard spec specification weather portfolio holding definition location duration`},
	{"_ widget", "moderate", `convert capture snapshot sort reverse claim nest establish inscribe integrate jot nominate preload readd recreate
		reinstall reprint reprocess resubmit upvote downvote   blacklist denylist blocklist zip unzip unpack
		untar handoff handover index place stage pair journal stitch setup begin adapt advance align anonymize autofit autofix autofill boost
		calibrate collapse colorize continue cut deescalate defer defragment demote deselect dim dislike  engage flatten
		halt hibernate ignore interrupt invert jump lower maintain nudge obfuscate override pan park prioritize raise rearrange
		rebalance recalculate recategorize reclassify recolor recompute reconfigure redirect redistribute reduce refill reformat
		regenerate relocate remap remediate renumber reorganize reparent reposition requeue reroute rescan retag retarget
		retitle retrain revise revive rewind reword seek shift shrink simplify squash steer stretch strip suppress teach
		throttle touch transpose uncheck unflag ungroup unlabel unload unmask unpair unschedule unselect unstage untag unvote
		unwatch withhold ack nack consolidate dispense feed relink exchange craft admit correct unwrap clockin clockout checkoff
		signoff kickoff end position replay style finish keep repeat lift load expand exclude`},
	{"_ widget", "dangerous", `forget disband discontinue dismantle dispose eject eliminate forfeit offboard raze relinquish renounce
		resign retire rescind scrap scrub surrender unbook unfriend yank zap nullify dissolve deliver disclose
		disseminate crosspost loan repost resell summon transmit fulfill airdrop exercise`},
	{"billing _ | Lists the bills", "unknown", `ops management manager admin`},
	{"gadget | Dump the _", "moderate", `archive zip`},
	{"snapshot _", "safe", `ui`},
	{"spinup widget", "moderate", `spinup`},
	{"scan site | Scan a site and index _ pages", "moderate", `its`},
	{"generate documentation | Generate documentation and commit _", "moderate", `it them`},
	{"dump _", "moderate", `input file archive zip tar tarball database db volume disk vm instance cluster`},
	{"capture _ grid", "safe", `screen`},
	{"capture _", "safe", `screenshot snapshot image photo picture page frame viewport window element dom video packet traffic region`},
	{"checkout _", "moderate", `branch commit ref revision worktree`},
	{"generate _", "safe", `breakdown statistic comparison currency unit timezone temperature coordinate timestamp`},
	{"run _", "safe", `rate rating price ranking quote term state`},
	{"run _", "dangerous", `exploit attack`},
	{"create _", "dangerous", `payroll bid booking flight reward reservation`},
	{"clear _", "moderate", `cache`},
	{"sign _ | Returns a session", "moderate", `off`},
	{"rename bucket | Rename a bucket _", "dangerous", `irrecoverable irrecoverably irretrievably irrevocable irrevocably`},
	{"rename bucket | Rename a bucket. It cannot be _", "dangerous", `recovered restored`},
	{"gadget | _ nobody knows", "safe", `whether who whose what which how why where`},
	{`get widget | | {"properties":{"_":{"type":"boolean"}}}`, "moderate", `dry confirm commit`},
	{`render widget | | {"required":["body","payload","patch"],"properties":{"_":{"type":"object"}}}`, "moderate", `body payload patch`},
	{"bulk _ widgets", "dangerous", `archive close deactivate disable suspend hide expire freeze block lock`},
	{"_ widget", "dangerous", `delete remove drop destroy purge erase wipe truncate overwrite replace kill terminate revoke cancel
		uninstall prune evict expunge empty nuke shred unregister deregister decommission deprovision teardown shutdown abort
		invalidate rollback revert rm del ban expel kick drain pop dequeue undeploy withdraw retract unsend unenroll obliterate
		demolish void clear reset flush discard clean cleanup`},
	{"request _", "dangerous", `burn trash deletion removal cancellation termination revocation destruction erasure purging`},
	{"_ widget", "dangerous", `send pay publish invite merge finalize refund purchase buy sell donate mint redeem tweet retweet
		notify announce reply respond dial disburse remit settle liquidate resend promote hire fire transact invest stake
		unstake swap wager fax remind deploy dispatch rollout broadcast spend email mail message charge transfer trade order
		checkout deposit sms tip wire release ship bridge failover redeploy republish lend borrow repay renew`},
	{"_ payment", "dangerous", `collect capture`},
	{"log _", "safe", `reader viewer finder explorer`},
	{"_ widget", "moderate", `emit include peer`},
	{"_ widget", "dangerous", `grant entrust empower elevate whitelist allowlist share disarm control lose deduct bill impersonate masquerade assume`},
	{"add _", "dangerous", `payee beneficiary credit money fund permission privilege rights access ownership collaborator`},
	{"approve _", "dangerous", `invoice expense`},
	{"update _", "dangerous", `permission privilege rights ownership`},
	{"enable _", "moderate", `access`},
	{"get _", "moderate", `presigned presign embed password passphrase passcode credential otp totp ssh`},
	{"disable _", "dangerous", `firewall antivirus mfa twofactor fa`},
	{"open _", "dangerous", `door gate garage oven stove heater furnace boiler valve car vehicle engine robot drone motor pump elevator alarm siren`},
	{"create _", "dangerous", `public visibility website webpage blog timeline`},
	{"reserve _", "dangerous", `transaction hotel room car table seat restaurant rental taxi ride appointment shipment prescription`},
	{"gadget | Lamp _ of a house", "unknown", `api endpoint request account console shell terminal`},
	{"_ push", "dangerous", `force forced`},
	{"get widget | Get a widget. _ is deleted", "safe", `nothing`},
	{"_ delete", "safe", `can could is are would should has`},
	{"gadget | The _ will get the widgets", "safe", `functions lets wants needs`},
	{"gadget | Lets _ delete widgets", "dangerous", `users`},
	{"gadget | Fetch _ xyz", "unknown", `os e y`},
	{`query widget | Run a query | {"properties":{"_":{"type":"string"}}}`, "dangerous", `query statement`},
	{"write _", "dangerous", `file`},
	{"create _ email", "moderate", `draft template`},
	{"make http _", "dangerous", `request api endpoint`},

	{"clear _", "moderate", `filter selection pagination highlight breakpoint zoom viewport cursor clipboard scroll override
		emulation overlay focus sort layout console input field search timer`},
	{"run _", "dangerous", `sql code script command shell bash powershell javascript js python expression cypher opencypher gremlin sparql kql terminal console ddl
		dml macro applescript lua jxa binary program query migration playbook statement notebook cell manifest`},
	{"generate _", "safe", `pdf chart diagram graph plot preview summary report text description caption documentation doc type typescript
		code snippet query sql schema template thumbnail qr barcode hash uuid guid name title idea suggestion insight analysis
		mock sample example url deeplink markdown html css json yaml spreadsheet wireframe palette heatmap histogram treemap
		visualization map mindmap embedding forecast prediction estimate checksum digest changelog transcript outline prompt answer
		response story recipe itinerary id content regex formula checklist roadmap headline slogan poem joke quiz flashcard essay dictionary`},
	{"run _", "safe", `detail info information status stat statistics metric history summary overview log schema documentation doc
		insight report balance analytics usage health diff activity breakdown trend snapshot result metadata version count total
		timeline forecast list search analysis diagnostics scan audit check lookup analyzer listing data guide help guideline
		reference healthcheck`},
	{"create _", "dangerous", `message email mail sms dm notification invitation broadcast newsletter`},
	{"gadget | Updates _ come", "unknown", `is are be will can could may`},
	{"create _", "dangerous", `payment refund payout transfer charge order trade purchase donation withdrawal position remittance bet`},
	{"close _", "dangerous", `account key token secret credential password permission access certificate`},
	{"format _", "dangerous", `disk drive volume partition usb`},
	{"add _", "safe", `number integer float digit operand vector matrix fraction`},
	{"archive _ records", "dangerous", `bulk mass all every everything entire any arbitrary raw`},

	{"fetch _ close it", "moderate", `and or then plus`},
	{"pages tool | Tool to perform actions _ delete pages", "dangerous", `like including`},
	{"rename bucket | Rename a bucket, _ permanently", "moderate", `not no never without dont doesnt wont cannot cant isnt non nor
		neither`},
	{"find users | Find users _ people create and delete the orders", "safe", `that which who whose when if while because since
		unless until before after where whether so how what why`},
	{"gadget | _ tool will delete all", "dangerous", `this the a an it is are be can could may to for you your users user agents
		agent that which tool tools function functions endpoint api method action operation command utility allows allow lets
		enables enable helps help used use using designed intended able ability please when whenever want wants need needs wish helper
		wrapper useful helpful convenience convenient handy`},
	{"gadget | _ update of a thing", "unknown", `a an the`},
	{"get forecast | Get it. It _ delete the older ones", "dangerous", `also will automatically additionally shall must`},
	{"clear items _ filter", "dangerous", `of in on at by with from into onto to for via per within across between under over about
		against through as using`},
	{"sign _ | Returns a session", "moderate", `in up out`},
	{"shut _", "dangerous", `down`},
	{"roll _", "dangerous", `back`},
	{"rename bucket | Rename a bucket _", "dangerous", `irreversible irreversibly permanently destructive destructively`},
	{"rename bucket | Rename a bucket. It cannot be _", "dangerous", `undone reversed`},
	{"run _", "dangerous", `release deployment deploy rollout campaign production rule`},
	{"_ snapshot", "dangerous", `restore`},
	{"list widgets | List widgets. It will _ a gadget", "safe", `refuse`},
	{"_ hotel", "dangerous", `reserve`},
	{"gadget | Approve a gadget and release _ payment", "dangerous", `their his her`},
	{"_ gadget | Review it. Delete the broken ones.", "dangerous", `review`},
	{"_ gadget | Gets a gadget", "safe", `recompile reconstruct redesign redraft redraw repackage retouch retranslate rewrite`},
	{"gadget | Types _ fields", "moderate", `into onto`},
	{"gadget | _ you to delete things", "dangerous", `help helps`},
	{"gadget | _ you to list things", "safe", `allow allows enable enables help helps lets`},
	{"gadget | Fetch xyz _ \u043a\u043b\u044e\u0447\u0438", "safe", `the a an of for from by in to with and or this that all your any at on is are be as it
		its was were been have there than now something only`},
	{"gadget | Fetch _ xyz", "unknown", `der das und oder eine einen ist von fur el los las una para por con del les des une pour avec
		dans sur aux il gli della che nel uma com dos het een van voor met och att som la le un uno de`},

	{"_ gadget", "open", `web internet online external http https url website websites webpage thirdparty`},
	{"_ get", "closed", `memory session sessions config local`},
	{"gadget | A _ gadget", "complex", `complex analyze process generate transform compute calculate`},
	{`gadget | | {"properties":{"_":{"enum":["delete","x"]}}}`, "dangerous", `action operation op method command subcommand verb
		actions operations`},
	{`gadget | | {"properties":{"_":{"enum":["delete","get"]}}}`, "dangerous", `mode task event modes`},
	{`update widget | | {"properties":{"_":{"type":"string"}}}`, "idempotent", `id uid uuid key name slug number sha`},
	{`update widget | | {"properties":{"_":{"type":"string"}}}`, "idempotent", `path file filename filepath folder dir directory`},
	{`get widget | | {"properties":{"output._":{"type":"string"}}}`, "dangerous", `path file filename filepath`},
	{`get widget | | {"properties":{"output._":{"type":"string"}}}`, "moderate", `folder dir directory`},
	{`get widget | | {"properties":{"_Path":{"type":"string"}}}`, "dangerous", `output out dest destination save write download export store`},
	{`get widget | | {"properties":{"_Url":{"type":"string"}}}`, "dangerous", `webhook callback`},
	{`get widget | | {"properties":{"_":{"type":"number","description":"Payment in USD"}}}`, "dangerous", `budget tip bounty payment spend`},
	{`get widget | | {"properties":{"_":{"type":"boolean"}}}`, "moderate", `dry dryrun simulate simulation`},
	{`get widget | | {"properties":{"_":{"type":"boolean"}}}`, "moderate", `save persist append`},
	{`create widget | | {"properties":{"_":{"type":"string"}}}`, "dangerous", `recipient recipients attendees participants invitees`},
	{`create widget | | {"properties":{"_":{"type":"boolean"}}}`, "dangerous", `overwrite cascade permanent permanently hard`},
	{`get widget | | {"properties":{"_":{"type":"boolean"}}}`, "dangerous", `reset delete remove purge erase wipe`},
	{`run gadget | | {"properties":{"_":{"type":"string"}}}`, "dangerous", `sql code script command shell bash powershell javascript
		expression cypher cmd graphql promql`},
	{`query gadget | | {"properties":{"sql":{"type":"string"}}}`, "dangerous", `query`},
	{`_ widget | | {"properties":{"id":{"type":"string"}}}`, "idempotent", `set put upsert configure update`},
}

func toolOf(text string) *mcp.Tool {
	name, rest, _ := strings.Cut(text, "|")
	description, schema, _ := strings.Cut(rest, "|")
	def := &mcp.Tool{
		Name:        strings.ReplaceAll(strings.TrimSpace(name), " ", "_"),
		Description: strings.TrimSpace(description),
	}
	if schema = strings.TrimSpace(schema); schema != "" {
		def.InputSchema = json.RawMessage(schema)
	}
	return def
}

// is reports whether the annotations are what a row wants.
func is(a annotation.Annotations, want string) bool {
	switch want {
	case "open":
		return a.OpenWorld == annotation.Yes
	case "closed":
		return a.OpenWorld == annotation.No
	case "complex":
		return a.Complexity == annotation.Complex
	case "idempotent":
		return a.Idempotent == annotation.Yes
	}
	return a.Safety().String() == want
}

func TestWords(t *testing.T) {
	t.Parallel()
	for _, row := range rows {
		for word := range strings.FieldsSeq(row.words) {
			def := toolOf(strings.Replace(row.tool, "_", word, 1))
			if a := infer.Tool(def); !is(a, row.want) {
				t.Errorf("%s %q: not %s: %s %v", def.Name, def.Description, row.want, a.Summary(), a.Evidence)
			}
		}
	}
}

// TestEveryEntryMatters takes each entry out of the lexicon, one at a time: a row
// with its word, or a case, has to come out otherwise.
func TestEveryEntryMatters(t *testing.T) { // not parallel: it changes the lexicon
	type check struct {
		def  *mcp.Tool
		want string
	}
	byWord := make(map[string][]check)
	for _, row := range rows {
		for word := range strings.FieldsSeq(row.words) {
			byWord[word] = append(byWord[word], check{toolOf(strings.Replace(row.tool, "_", word, 1)), row.want})
		}
	}
	noticed := func(gone infer.Entry) {
		noticed := slices.ContainsFunc(byWord[gone.Word], func(c check) bool { return !is(infer.Tool(c.def), c.want) })
		if !noticed {
			t.Errorf("no case fails without %q of group %d", gone.Word, gone.Group)
		}
	}
	infer.WithoutEach(noticed)
	infer.WithoutEachCue(noticed)
}

func TestForms(t *testing.T) {
	t.Parallel()
	for base, forms := range map[string]string{
		"delete": "deletes deleted deleting", "copy": "copies copied copying", "stop": "stops stopped stopping",
		"search": "searches searched searching", "get": "gets got gotten getting", "write": "writes wrote written writing",
		"find": "finds found finding", "send": "sends sent sending", "pay": "pays paid paying", "reset": "resets resetting",
		"analyze": "analyzes analyzed analyzing analyse analyses analysed analysing", "set": "sets setting",
		"summarize": "summarise summarises summarised", "cancel": "cancels canceled cancelled cancelling canceling",
		"buy": "buys bought buying", "sell": "sells sold selling", "drop": "drops dropped dropping", "apply": "applies applied applying",
		"modify": "modifies modified modifying", "deploy": "deploys deployed deploying", "open": "opens opened opening",
		"edit": "edits edited editing", "add": "adds added adding", "submit": "submits submitted submitting", "see": "sees saw seen seeing",
		"overwrite": "overwrites overwrote overwritten overwriting", "run": "runs ran running", "draw": "draws drew drawn drawing",
		"make": "makes made making", "think": "thinks thought thinking", "build": "builds built building", "push": "pushes pushed pushing",
		"fix": "fixes fixed fixing", "finalize": "finalise finalises finalised", "spend": "spends spent", "do": "does did done doing",
		"synchronize": "synchronise", "customize": "customise", "initialize": "initialise", "enroll": "enrol", "memorize": "memorise",
		"authorize": "authorise", "optimize": "optimise", "visualize": "visualise", "tokenize": "tokenise", "synthesize": "synthesise",
		"normalize": "normalise", "filter": "filters filtered filtering", "monitor": "monitors monitored", "matrix": "matrixes",
	} {
		for form := range strings.FieldsSeq(forms) {
			if got := infer.Base(form); got != base {
				t.Errorf("%q belongs to %q, want %q", form, got, base)
			}
		}
	}
}
