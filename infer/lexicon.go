package infer

// Version names the lexicon and the rules together. It changes whenever a tool
// may get another class.
const Version = "4"

// A sense is what a word can mean. It is a set: "report" is a verb and a noun.
type sense uint64

// Verbs, by what they do.
const (
	read    sense = 1 << iota // looks, and changes nothing
	compute                   // works something out and hands it back
	produce                   // makes something: a chart that is handed back, or a thing that stays
	run                       // carries something out: a search, a workflow, a script
	add                       // adds
	change                    // changes what can be set back
	take                      // takes away, or overwrites
	out                       // goes to others, or cannot be taken back
	power                     // does whatever it is told
	manage                    // several of these, and the name does not say which
)

// Verbs, by how far they can be relied on.
const (
	weak    sense = 1 << (iota + 10) // says little: the main verb of the description is asked first
	either                           // may be a noun; where it leads the name it is a verb
	noun                             // more often a noun; any plainer verb of the name goes before it
	settled                          // may be repeated
	retire                           // a change that is as good as a loss once it is done to many
	sweep                            // a loss, unless it is a view that is cleared
	agent                            // a noun that tells what the tool is, at the end of its name: a reader
	fills                            // replaces what was in a file
	seals                            // of money or a message, it is for good
)

// Nouns, by what they turn a verb into.
const (
	view      sense = 1 << (iota + 19) // clearing it loses nothing: a filter, a selection
	code                               // running it can do anything: a command, a script
	artefact                           // making it changes nothing: a chart, a summary
	report                             // heads a phrase that only tells: details, status
	message                            // making it sends it
	money                              // making it moves money
	access                             // closing or making one is no small thing: an account, a key
	storage                            // formatting it loses what is on it
	tentative                          // a message or payment that is only prepared
	wire                               // with the outside in it, it can do what its method says: an HTTP request
	number                             // adding it is arithmetic
	many                               // done to all at once
)

// Small words.
const (
	and      sense = 1 << (iota + 31) // what follows does as what went before
	not                               // turns it round
	subord                            // what follows is about something else
	lead                              // may stand before the main verb: "this tool will"
	aux                               // what follows is stated of the tool: "also", "will"
	prep                              // ends the object
	particle                          // belongs to the verb before it: "check out"
	warning                           // says that there is no way back
	unmade                            // says so after a negation: "cannot be undone"
	harmless                          // says that nothing is changed
	english                           // a small word of English
	foreign                           // a small word of another language
	outside                           // the world outside
	inside                            // the server's own state
	involved                          // one of the seven stems of a complex tool
	chooser                           // a parameter that chooses what is done
	namer                             // a parameter that names what is acted on
	force                             // a parameter that overrides a protection
	switcher                          // a parameter of this name, switched on, takes something away
	strict                            // a parameter of this name is run
	modal                             // what stands before it is a subject: "updates will"
	article                           // what follows is a noun
	says                              // what a tool does where a description says so; at the head of a name it says little
	supposes                          // what comes after it is only supposed
	bends                             // what is left behind hangs on the object: a snapshot of a page, or of a volume
	kept                              // an object of which something is left behind, and which is overwritten when written: a volume, a file
	revision                          // a line of work: to check out a branch only goes there
	picture                           // what a picture is taken of, and handed back
	trial                             // a parameter that only a tool which changes something has: a dry run, a file to save to
	question                          // a sentence that begins with it says what is told
	body                              // a parameter that holds what is to be written
	pact                              // what one is bound by: an offer, a contract
	tells                             // begins a phrase that only tells: "current prices"
)

const (
	verbs = read | compute | produce | run | add | change | take | out | power | manage
	// An outlet begins and a location ends the name of a parameter that says where
	// the outcome is to stay: output_path, save_to_file.
	outlet   = trial | force
	location = namer | force

	nouns = view | code | artefact | report | message | money | access | storage | tentative | wire | number | many | kept | revision | picture
)

// A group lists words of one sense. A word may stand in several groups and has
// then all their senses. The regular forms of a word (deletes, deleted,
// deleting) are made by inflect; those that no rule makes follow a slash.
type group struct {
	sense sense
	words string
}

// lexicon is everything that is known of words. There are no names of tools, of
// servers or of products in it.
var lexicon = []group{
	// Verbs that read.
	{read, `get/got/gotten fetch read retrieve describe inspect browse examine obtain lookup enumerate discover
		identify recommend suggest recall diagnose investigate ping probe crawl scrape grep stat detect compare 
		validate analyze/analyse/analyses/analysed/analysing assess classify peek measure geocode
		lint introspect triage tail cat ls find/found
		reveal consult demonstrate visualize/visualise echo wait learn understand
		interpret determine troubleshoot traceroute whois explain whoami locate show
		correlate aggregate autocomplete listen blame recognize/recognise appraise assert autodetect characterize/characterise
		critique crosscheck deduce disambiguate gauge glob interrogate itemize/itemise judge outline paginate
		pinpoint prefetch quantify scout skim sniff spot study tabulate tally vet
		inquire discern collate contrast recap recheck rediscover reread uncover weigh overhear spellcheck
		scour glance foresee ascertain`},
	{read | bends | weak, `extract dump`},
	{read, `ask`},
	{read | says, `return see/saw/seen contain receive answer present depict denote indicate represent exhibit illustrate`},
	{read | seals, `collect`},
	{add | seals | either | bends, `capture grab`},
	{read | either, `query search list scan display view look count audit filter diff screenshot research`},
	{add | either | bends, `snapshot`},
	{read | either | supposes, `preview check`},
	{read | supposes, `dry verify`},
	{read | noun, `test info status overview tree top peer head map poll match monitor trace profile rank chat guess help
		survey sample benchmark stream surface`},
	{read | weak, `access screen provide explore observe gather traverse summarize/summarise/summarises/summarised debug`},
	{read | weak | either, `review`},

	{read | agent, `reader viewer finder explorer`},

	// Verbs that work something out and hand it back.
	{compute | weak | bends, `encrypt decrypt`},
	{compute | supposes, `calculate estimate`},
	{compute | supposes | bends, `simulate`},
	{compute, `compute parse encode decode hash predict forecast tokenize/tokenise
		transcribe solve interpolate multiply divide subtract factorize paraphrase proofread beautify prettify minify transpile
		intersect extrapolate geolocate snap backtest rerank concatenate sanitize/sanitise infer/inferred/inferring derive canonicalize/canonicalise condense decompile deserialize/deserialise
		disassemble escape unescape lemmatize/lemmatise marshal unmarshal quantize/quantise rasterize/rasterise resample serialize/serialise
		slugify stringify transliterate rephrase humanize/humanise vectorize/vectorise triangulate
		approximate binarize/binarise detokenize/detokenise digitize/digitise lowercase uppercase hypothesize/hypothesise speculate ponder reckon
		subsample conjugate rescore retokenize/retokenise verbalize/verbalise`},
	{compute | either, `sum average round`},
	{compute | run | weak, `evaluate`},
	{compute | weak, `impute permute render score plot think/thought reason brainstorm reflect roll flip shuffle enrich normalize/normalise categorize/categorise fit regress reroll imagine`},

	// Verbs that make something, and verbs that carry something out.
	{produce, `produce generate draw/drew/drawn compose synthesize/synthesise fabricate devise autogenerate`},
	{produce | seals, `make/made`},
	{produce | weak, `format convert transform translate optimize/optimise resolve crop split slice trim upscale compile compress decompress rewrite improve animate
		augment blur combine construct denoise develop distort downscale downsample dub enhance enlarge formulate implement
		pad personalize/personalise pivot polish prepare preprocess postprocess reconstruct recompile redesign redraft redraw/redrew/redrawn reencode refine
		repackage retouch retranslate rework separate sharpen shorten splice standardize/standardise structure stylize/stylise
		tailor transcode unify upsample wrap assemble narrate
		fuse precompute smooth collapse`},
	{produce | noun, `build/built draft design sketch prototype mix package segment bundle`},
	{produce | noun | supposes, `plan`},
	{run, `run/ran/running execute perform invoke trigger rerun retry initiate commence retrigger kickstart orchestrate`},
	{run | weak | noun, `call`},
	{run | weak, `process handle do/does/did/done conduct proceed retest`},
	{run | change, `apply`},
	{power, `exec eval sudo`},
	{power | noun, `shell bash powershell terminal`},

	// Verbs that add.
	{add, `reissue revolve create add insert append prepend upload register install import provision clone fork initialize/initialise
		init onboard subscribe follow bookmark save store ingest assign reserve allocate instantiate
		bootstrap scaffold upsert push mount spawn enqueue replicate populate seed launch contribute cherrypick remember memorize/memorise
		persist attach introduce embed print inject propose acquire mirror nest establish inscribe integrate jot nominate preload readd
		recreate reinstall reprint reprocess resubmit upvote downvote whitelist allowlist blacklist denylist blocklist zip unzip
		unpack untar handoff handover spinup
		accrue accumulate allot apportion author automate backfill backport declare engrave extrude favorite/favourite incorporate lodge
		materialize/materialise plant prescribe recruit reimport repopulate reupload supplement impose`},
	{add | seals, `submit enroll/enrol`},
	{add | weak, `export download`},
	{add | either, `duplicate schedule`},
	{add | noun, `invoice checkpoint stamp watermark pack like new comment note label tag issue post file book record copy/copies/copied/copying commit event backup
		request vote react star queue log branch annotation link forward index stage pair journal stitch setup`},
	{add | noun | seals, `place`},
	{add | noun | says, `report`},
	{add | weak | says, `give/gave/given tell/told supply`},

	// Verbs that change.
	{change, `update set/setting edit modify rename move enable toggle activate adjust alter patch configure mark unmark
		unlink connect bind detach unassign resize rotate click press tap fill select hover drag scroll swipe focus
		navigate reload refresh start stop pause resume restart reboot login logout mute unmute restore undelete unarchive
		recover reopen unlock reorder tune scale upgrade migrate sync synchronize/synchronise refactor annotate grant
		authorize/authorise allow acknowledge snooze dismiss unpublish unpause unfollow unstar unlike unpin pin
		turn switch put unset change customize/customise rebase transition decline
		unsubscribe disconnect reconnect emulate signin signup signout checkin downgrade
		teleport arm disarm impersonate leave/left join reindex reconcile rsvp escalate silence boot protect unprotect
		 undo redo amend stash delegate reassign relabel reschedule postpone increment decrement increase decrease quit exit
		minimize/minimise maximize/maximise unmount rebuild/rebuilt unblock unban unhide unfreeze reactivate reinstate
		quarantine isolate repair mutate redact dedupe vacuum highlight loop wake unshare begin adapt advance align anonymize/anonymise
		autofix autofill boost calibrate colorize/colorise continue cut/cutting deescalate defer defragment demote deselect dim
		dislike elevate engage flatten halt hibernate interrupt invert jump lower maintain nudge obfuscate
		override/overrode/overridden pan park prioritize/prioritise raise rearrange rebalance recalculate recategorize/recategorise reclassify recolor recompute reconfigure
		redirect redistribute reduce refill reformat regenerate relocate remap remediate renumber reorganize/reorganise reparent reposition
		requeue reroute rescan retag retarget retitle retrain revise revive rewind/rewound reword seek/sought shift shrink/shrank/shrunk simplify
		squash steer stretch strip suppress teach/taught throttle touch transpose uncheck unflag ungroup unlabel unload unmask unpair
		unschedule unselect unstage untag unvote unwatch withhold/withheld ack nack consolidate dispense relink craft admit correct unwrap clockin clockout checkoff signoff kickoff
		accelerate adopt amplify appoint arrange associate autoscale bake bypass centralize/centralise choose/chose/chosen/choosing clamp conclude
		consume cool curate dampen darken brighten decouple define deflate deform deprecate derank desaturate designate
		disassociate dissociate disapprove disengage displace earmark emboss employ empower enact endorse enforce equalize/equalise equip expedite
		expose unfold fortify graduate harden heal hoist hydrate rehydrate inactivate indent inflate inhibit inline intercept lengthen
		lessen loosen tighten mend modernize/modernise modulate morph obsolete organize/organise orient paste penalize/penalise pick prefill preserve
		 prewarm prolong propagate qualify disqualify randomize/randomise ratify readjust realign reallocate reassemble
		 rebrand recalibrate recertify reclaim reconsider rectify redefine reenable regroup
		reinforce rejoin rekey relate unrelate relaunch relist remount remodel reorient repaint replenish reprice repurpose rescue reseed reshape
		reshuffle respawn restock restructure resurrect resync retain retune rewire scramble segregate shelve unshelve  
		stabilize/stabilise straighten strengthen subdivide substitute supersede sustain tether untether thaw tidy
		    unbind/unbound unbookmark unclaim undock unfavorite/unfavourite unlist unmatch unmerge unplug 
		unquarantine unreact unreserve unsave unsnooze unsuppress unsuspend untrack veto vibrate warm widen wield
		 sideload`},
	{change | weak, `authenticate distribute interact serve treat`},
	{change | seals, `extend`},
	{change | seals | says, `accept`},
	{change | says, `refuse prevent skip ignore reject deny`},
	{change, `bump cap certify coerce dedicate deduct deduplicate degrade divert elect exempt grow/grew/grown inherit instruct manipulate mediate mimic mitigate
		offload prohibit reprogram restrict retrofit safeguard secure shield shut soften specify squeeze transplant unbundle unseal
		utilize/utilise visit`},
	{change | noun, `cast center/centre cycle instrument license limit mask pass permit route transport trust group dock fold heat jam spin/spun/spinning tilt tint tweak twist plug warp weld throw/threw/thrown walk delay compact standby prime fade slow
		feed/fed grade power moderate signal stack target clip color/colour paint shape`},
	{change | noun | seals, `claim`},
	{change | noun, `end position replay style exchange flag step train hold input type state control play share contact assignment`},
	{change | weak, `speak say pull open track watch fix go back sort finish keep/kept repeat lift load expand exclude`},
	{change | weak | seals, `reverse complete confirm`},
	{change | seals, `approve`},
	{change | retire, `archive close deactivate disable suspend hide expire freeze`},
	{change | retire | either, `block lock`},
	{change | fills, `write/wrote/written`},
	{manage, `manage administer crud`},
	{manage | noun, `ops management manager admin`},

	// Verbs that take away.
	{take, `delete remove drop destroy purge erase wipe truncate overwrite/overwrote/overwritten replace kill terminate revoke
		cancel/cancelled/cancelling uninstall prune evict expunge empty nuke shred unregister deregister decommission
		deprovision teardown shutdown abort invalidate rollback revert rm del ban expel kick drain pop dequeue
		undeploy withdraw retract unsend unenroll obliterate demolish void
		forget/forgot/forgotten/forgetting disband discontinue dismantle dispose eject eliminate forfeit offboard raze relinquish renounce resign retire rescind
		scrap scrub surrender unbook unfriend yank zap nullify dissolve
		abandon abolish annihilate annul clobber confiscate cull deauthorize/deauthorise deplete deport depose detonate eradicate evacuate exterminate
		extinguish factoryreset incinerate jettison oust overthrow quash reap reflash reimage reinitialize/reinitialise repartition repeal repossess
		ruin sabotage sack seize sever slay smash uproot vacate vaporize/vaporise wreck writeoff zeroize/zeroise hangup`},
	{take | sweep, `clear reset flush discard clean cleanup`},
	{take | noun, `flash sacrifice burn trash deletion removal cancellation termination revocation destruction erasure purging`},

	// Verbs whose effect cannot be taken back, though nothing is deleted.
	{out, `forgive/forgave/forgiven negotiate outbid shout topup unwind send/sent pay/paid publish merge finalize/finalise refund purchase buy/bought sell/sold donate mint redeem
		tweet retweet notify announce reply respond dial disburse remit settle liquidate resend promote
		hire fire transact invest stake unstake swap wager fax remind failover redeploy republish lend borrow repay renew
		deliver disclose disseminate crosspost loan repost resell summon transmit fulfill/fulfil airdrop
		advertise apologize/apologise bequeath bribe bruteforce communicate compensate outsource phish 
		prepay proclaim publicize/publicise rebill recoup redial refinance reimburse reinvest remunerate reshare reship retaliate solicit
		 spoof sue telephone testify thank underwrite upsell waive warn`},
	{out | noun | weak, `sign`},
	{out | noun, `award dispute poke debit discharge gift hijack pledge recharge sponsor subpoena syndicate whisper auction escrow lease mortgage rent relay`},
	{out | either, `deploy dispatch invite`},
	{out | noun, `rollout broadcast spend/spent email mail message charge transfer trade order deposit sms tip wire release ship bridge`},
	{out | bends, `checkout`},
	{out | noun, `exercise`},

	// Nouns.
	{view, `filter selection pagination highlight breakpoint zoom viewport cursor clipboard scroll override
		emulation overlay focus sort layout console input field search timer cache`},
	{code, `sql code script command shell bash powershell javascript js python expression cypher terminal console ddl dml macro
		applescript lua jxa binary program query migration playbook statement notebook cell manifest exploit attack`},
	{artefact, `chart diagram graph plot preview summary report text description caption documentation doc type typescript code
		snippet query sql schema template breakdown statistic comparison
		currency unit timezone temperature coordinate timestamp thumbnail qr barcode hash uuid guid name title idea suggestion insight analysis mock
		sample example url deeplink markdown html css json yaml spreadsheet wireframe palette heatmap histogram treemap visualization map
		mindmap embedding forecast prediction estimate checksum digest changelog transcript outline prompt answer response
		story recipe itinerary id
		content regex formula checklist roadmap headline slogan poem joke quiz flashcard essay dictionary`},
	{report, `detail info information status stat statistics metric history summary overview log schema documentation doc
		insight report balance analytics usage health diff activity breakdown trend snapshot result metadata version count total
		timeline forecast list search analysis diagnostics scan audit check lookup analyzer listing data
		guide help guideline reference healthcheck rate rating price ranking quote term state
		capability topology catalog dashboard context property outlook journey inventory feed directory news availability
		agenda leaderboard spec specification weather portfolio holding definition location duration`},
	{message, `message email mail sms dm notification invitation broadcast newsletter`},
	{money, `payment payout transfer charge order trade donation withdrawal position remittance payroll bet bid booking flight reward reservation`},
	{pact, `offer claim contract agreement proposal quote deal lease mortgage settlement consent call sequence cadence`},
	{access, `account key token secret credential password permission access certificate`},
	{storage, `disk drive volume partition usb`},
	{tentative, `draft template`},
	{wire, `request api endpoint`},
	{number, `number integer float digit operand vector matrix fraction`},
	{kept, `input file archive zip tar tarball database db volume disk vm instance cluster`},
	{picture, `screenshot screen snapshot image photo picture page frame viewport window element dom video packet traffic region ui`},
	{revision, `branch commit ref revision worktree`},
	{many, `bulk mass all every everything entire any arbitrary raw`},

	// Small words.
	{and, `and or then plus like including`},
	{not, `not no never without dont doesnt wont cannot cant isnt non nor neither`},
	{subord, `that which who whose when if while because since unless until before after where whether so how what why`},
	{article, `a an the`},
	{question, `whether who whose what which how why where`},
	{modal, `is are be will can could may`},
	{lead, `this the a an it its them is are be can could may to for you your users user agents agent that which
		tool tools function functions endpoint api method action operation command utility allows allow lets enables enable helps help
		used use using designed intended able ability please when whenever want wants need needs wish helper wrapper useful helpful convenience convenient handy`},
	{aux, `also will automatically additionally shall must`},
	{prep, `of in on at by with from into onto to for via per within across between under over about against through as using`},
	{particle, `in out up down back off`},
	{warning, `irreversible irreversibly permanently destructive destructively irrecoverable irrecoverably irretrievably
		irrevocable irrevocably`},
	{unmade, `undone reversed recovered restored`},
	{harmless, `readonly nondestructive`},
	{english, `the a an of for from by in to into onto with and or this that all your any at on is are be as it its them`},
	{foreign, `der das und oder eine einen ist von fur el los las una para por con del les des une pour avec dans sur aux il gli
		della che nel uma com dos het een van voor met och att som`},
	{outside, `web internet online external http https url website websites webpage thirdparty`},
	{inside, `memory session sessions config local`},
	{tells, `current recent latest live available existing historical historic upcoming past full comprehensive detailed quick
		per single multiple public basic general overall daily weekly monthly hourly cross realtime remaining active pending`},
	{involved, `complex analyze/analyse/analyses/analysed/analysing process generate transform compute calculate`},
	{chooser, `actions operations modes action operation op method command subcommand verb mode task event`},
	{namer, `id uid uuid key name slug number sha`},
	{location, `path file filename filepath folder dir directory`},
	{force, `overwrite cascade permanent permanently hard`},
	{body, `body payload patch`},
	{trial, `dry confirm commit persist append`},
	{outlet, `output out dest destination save`},
	{switcher, `reset delete remove purge erase wipe`},
	{strict, `sql code script command shell bash powershell javascript expression cypher cmd`},
	{settled, `set/setting put upsert configure update`},
}
