package lifecycle

// The table of transitions. Nothing else in the library changes what has become of a question: package hitl asks for an
// event ([Question.Do]), and the row decides whether it may happen, what is stored, and what the log, the model and the
// person read.

import "slices"

// A State is how far a question has come, as the process that asks it has it. The store has less: see [Row.Before].
type State string

// The states.
const (
	New        State = "new"        // nothing is stored, and no person was asked
	Asked      State = "asked"      // the store has it
	Shown      State = "shown"      // a person is asked, and its call waits
	Waiting    State = "waiting"    // a person is asked, and no call waits
	Returned   State = "returned"   // an identical call, or a second leg, has taken it up, and waits
	Approved   State = "approved"   // as it was shown
	Edited     State = "edited"     // approved with other arguments
	Remembered State = "remembered" // approved because of an earlier approval that the person wanted remembered
	Kept       State = "kept"       // approved while no call waited, for the identical call
	Refused    State = "refused"    // denied while no call waited, for the identical call
	Taken      State = "taken"      // the one use of the approval is recorded, and the call may be made
	Done       State = "done"       // the call has returned
	Denied     State = "denied"
	Expired    State = "expired"
	Void       State = "void"    // there was no answer, or the approval was not used
	Revoked    State = "revoked" // taken back
)

// Final reports whether nothing more comes of a question, save answers without effect.
func (s State) Final() bool {
	switch s {
	case Done, Denied, Expired, Void, Revoked:
		return true
	}
	return false
}

// An Event is what a transition is caused by.
type Event string

// The events.
const (
	Ask         Event = "ask"  // the question is recorded
	Show        Event = "show" // it is given to the confirmer
	Approve     Event = "approve"
	Edit        Event = "approve with an edit"    // that made the call no stricter
	AskAgain    Event = "edit to a stricter call" // which is another question
	Deny        Event = "deny"
	ApproveLeft Event = "approve, with no call" // that waits
	DenyLeft    Event = "deny, with no call"
	Fail        Event = "fail"                      // an error, a panic, and a call that has changed meanwhile
	Silence     Event = "run out of time"           // with a call that waits
	GiveUp      Event = "give up"                   // the caller has gone
	Leave       Event = "end before the answer"     // its patience is over
	Postpone    Event = "ask through the caller"    // the answer comes with a second leg
	Return      Event = "return"                    // an identical call, or a second leg
	Supersede   Event = "return for other reasons"  // an identical call that is asked about for other reasons
	Expire      Event = "expire"                    // with no call that waits
	Take        Event = "take the decision"         // an identical call
	Answer      Event = "take a remembered one"     // a call that a remembered approval covers
	Use         Event = "hand over"                 // the call, to its executor
	Repeat      Event = "hand over again"           // after an attempt that was not sent
	End         Event = "have returned"             // the call
	Revoke      Event = "take back"                 // on the page or by the command
	Late        Event = "answer when it is settled" // second answers too
)

// An Actor is who causes an event.
type Actor string

// The actors.
const (
	Caller    Actor = "the call"
	Person    Actor = "a person"
	Confirmer Actor = "the confirmer"
	Clock     Actor = "the clock"
	Guard     Actor = "the guard"
)

// A Write is one change of the store, or a check of it.
type Write string

// The writes.
const (
	AddQuestion   Write = "the question, as pending"
	AddAnswered   Write = "the question, as approved by the remembered approval, if that is there"
	StoreApproved Write = "approved, if it is pending and in time"
	RememberRule  Write = "what is to be remembered, if the person chose so"
	DropRule      Write = "what was to be remembered is removed"
	StoreDenied   Write = "denied, if it is pending"
	StoreVoid     Write = "void"
	StoreSpent    Write = "spent, if it is approved and in time"
	StoreDone     Write = "done"
	StoreLate     Write = "the answer, without effect"
	Keep          Write = "the decision, for one identical call"
	Drop          Write = "the decision is removed"
	DropOthers    Write = "earlier decisions on identical calls are removed"
	CheckRule     Write = "the remembered approval is still there"
)

// A Reading is what a model reads as the outcome of its call. The error types are those of package hitl.
type Reading string

// Texts that a model reads.
const (
	ReadsNothing     Reading = "" // its call waits or is being made
	ReadsResult      Reading = "the result"
	ReadsDenied      Reading = "the user said no, and why (`DeniedError`)"
	ReadsNotApproved Reading = "it was not approved, and no question about it is open (`DeniedError`)"
	ReadsRevoked     Reading = "the approval was taken back or has ended (`DeniedError`)"
	ReadsWaiting     Reading = "it waits for the user, and the same call takes the answer (`WaitingError`)"
	ReadsPending     Reading = "it waits for the user, who is asked by the client (`PendingError`)"
	ReadsGivenUp     Reading = "nothing, since its caller has gone"
)

// A Notice is what the person who is asked can read from it.
type Notice string

// Texts that a person reads.
const (
	SeesNothing  Notice = ""
	SeesRequest  Notice = "the question"
	SeesApproved Notice = "the approval counts, for one call"
	SeesDenied   Notice = "the denial counts"
	SeesOver     Notice = "the question is over"
	SeesNoEffect Notice = "the answer has no effect"
	SeesRevoked  Notice = "it is taken back"
)

// A Row is a transition.
type Row struct {
	From []State
	On   Event
	By   Actor // alone may cause it
	To   State
	// Before is stored in this order before the transition counts. If one of the writes fails, Undo is
	// written as far as the store can, and the question is in the state Else.
	Before []Write
	Else   State
	Undo   []Write
	// After is recorded once the transition counts, as far as the store can.
	After []Write
	// Log is the outcome in the log, "" for no line, and ElseLog that after a failure.
	Log, ElseLog string
	// Model and Person read this. The model reads ElseModel if the store does not allow one of the writes of Before.
	Model, ElseModel Reading
	Person           Notice
}

// A Table has at most one row for a state and an event.
type Table []Row

// Life is the table of package hitl. The store has a table of its own, approvals.State, which allows no other
// steps whatever a process does.
var Life = Table{
	// A question is stored before a person sees it, so that no answer is without its question.
	{From: []State{New}, On: Ask, By: Caller, To: Asked, Before: []Write{AddQuestion}, Else: Void, ElseModel: ReadsNotApproved},
	{From: []State{Asked}, On: Show, By: Caller, To: Shown, Person: SeesRequest},

	// A person answers while a call waits. An approval is stored before the call may be made. A denial counts even
	// if the store fails, and ends what was approved earlier for identical calls and was not taken.
	{
		From: []State{Shown}, On: Approve, By: Person, To: Approved, Before: []Write{StoreApproved, RememberRule}, Else: Void, Undo: []Write{DropRule, StoreVoid},
		Log: "approved", ElseLog: "denied", ElseModel: ReadsNotApproved, Person: SeesApproved,
	},
	{
		From: []State{Shown}, On: Edit, By: Person, To: Edited, Before: []Write{StoreApproved, RememberRule}, Else: Void, Undo: []Write{DropRule, StoreVoid},
		Log: "approved", ElseLog: "denied", ElseModel: ReadsNotApproved, Person: SeesApproved,
	},
	{From: []State{Shown}, On: AskAgain, By: Person, To: Void, After: []Write{StoreVoid}, Log: "asked again", Person: SeesRequest},
	{From: []State{Shown, Returned}, On: Deny, By: Person, To: Denied, After: []Write{DropOthers, StoreDenied}, Log: "denied", Model: ReadsDenied, Person: SeesDenied},

	// There is no answer.
	{From: []State{Shown}, On: Silence, By: Clock, To: Expired, After: []Write{StoreVoid}, Log: "denied", Model: ReadsNotApproved, Person: SeesOver},
	{From: []State{Shown}, On: Fail, By: Confirmer, To: Void, After: []Write{StoreVoid}, Log: "denied", Model: ReadsNotApproved, Person: SeesOver},
	{From: []State{Shown}, On: GiveUp, By: Caller, To: Void, After: []Write{StoreVoid}, Log: "given up", Model: ReadsGivenUp, Person: SeesOver},

	// The same after the question was open without a call: another replica may have got an approval, or a process that
	// keeps one may not know whether the store has it. Denied takes back no approval, since only a pending question
	// can become it.
	{
		From: []State{Returned}, On: Approve, By: Person, To: Approved, Before: []Write{StoreApproved, RememberRule}, Else: Void, Undo: []Write{DropRule, StoreDenied},
		Log: "approved", ElseLog: "denied", ElseModel: ReadsNotApproved, Person: SeesApproved,
	},
	{
		From: []State{Returned}, On: Edit, By: Person, To: Edited, Before: []Write{StoreApproved, RememberRule}, Else: Void, Undo: []Write{DropRule, StoreDenied},
		Log: "approved", ElseLog: "denied", ElseModel: ReadsNotApproved, Person: SeesApproved,
	},
	{From: []State{Returned}, On: AskAgain, By: Person, To: Void, After: []Write{StoreDenied}, Log: "asked again", Person: SeesRequest},
	{From: []State{Returned}, On: Silence, By: Clock, To: Expired, After: []Write{StoreDenied}, Log: "denied", Model: ReadsNotApproved, Person: SeesOver},
	{From: []State{Returned}, On: Fail, By: Confirmer, To: Void, After: []Write{StoreDenied}, Log: "denied", Model: ReadsNotApproved, Person: SeesOver},
	{From: []State{Returned}, On: GiveUp, By: Caller, To: Void, After: []Write{StoreDenied}, Log: "given up", Model: ReadsGivenUp, Person: SeesOver},

	// The call ends first, and an identical one, or a second leg, takes the question up.
	{From: []State{Shown, Returned}, On: Leave, By: Caller, To: Waiting, Log: "pending", Model: ReadsWaiting, Person: SeesRequest},
	{From: []State{Shown, Returned}, On: Postpone, By: Confirmer, To: Waiting, Log: "pending", Model: ReadsPending, Person: SeesRequest},
	{From: []State{Waiting}, On: Return, By: Caller, To: Returned, Person: SeesRequest},
	{From: []State{Waiting}, On: Supersede, By: Caller, To: Void, After: []Write{StoreDenied}, Person: SeesOver},
	// Denied, which a pending question alone can become: another replica may have got an approval.
	{From: []State{Waiting}, On: Expire, By: Clock, To: Expired, After: []Write{StoreDenied}, Person: SeesOver},

	// A person answers while no call waits. The decision is kept before the question is closed, so that a process that
	// ends in between has lost none. If the store fails, the next identical call gets the answer in this process.
	{
		From: []State{Waiting}, On: ApproveLeft, By: Person, To: Kept, Before: []Write{Keep, RememberRule, StoreApproved}, Else: Waiting, Undo: []Write{DropRule, Drop},
		Log: "approved", Person: SeesApproved,
	},
	{
		From: []State{Waiting}, On: DenyLeft, By: Person, To: Refused, Before: []Write{DropOthers, Keep, StoreDenied}, Else: Waiting, Undo: []Write{Drop},
		Log: "denied", Person: SeesDenied,
	},
	// Spent comes first: of several processes one gets through.
	{From: []State{Kept}, On: Take, By: Caller, To: Taken, Before: []Write{StoreSpent}, Else: Void, After: []Write{Drop}, Log: "taken", ElseModel: ReadsNotApproved},
	{From: []State{Refused}, On: Take, By: Caller, To: Denied, After: []Write{Drop}, Log: "taken", Model: ReadsDenied},
	{From: []State{Kept}, On: Revoke, By: Person, To: Revoked, Before: []Write{Drop}, Else: Kept, Person: SeesRevoked},
	{From: []State{Refused}, On: Revoke, By: Person, To: Revoked, Before: []Write{Drop}, Else: Refused, Person: SeesRevoked},

	// A remembered approval answers.
	{From: []State{New}, On: Answer, By: Caller, To: Remembered, Before: []Write{AddAnswered}, Else: Void, Log: "remembered", ElseModel: ReadsNotApproved},

	// The approval is used: spent is stored before the call is handed over.
	{From: []State{Approved, Edited}, On: Use, By: Guard, To: Taken, Before: []Write{StoreSpent}, Else: Void, Undo: []Write{StoreVoid}, ElseModel: ReadsNotApproved},
	{From: []State{Remembered}, On: Use, By: Guard, To: Taken, Before: []Write{StoreSpent}, Else: Void, Undo: []Write{StoreVoid}, ElseModel: ReadsRevoked},
	{From: []State{Taken}, On: Repeat, By: Guard, To: Taken, Before: []Write{CheckRule}, Else: Taken, ElseModel: ReadsRevoked},
	{From: []State{Taken}, On: End, By: Caller, To: Done, After: []Write{StoreDone}, Model: ReadsResult},
	{From: []State{Approved, Edited, Remembered}, On: End, By: Caller, To: Void, After: []Write{StoreVoid}},

	// An answer that comes when all is settled, such as a second one, is recorded and changes nothing.
	{From: []State{Void}, On: Late, By: Person, To: Void, After: []Write{StoreLate}, Person: SeesNoEffect},
	{From: []State{Denied}, On: Late, By: Person, To: Denied, After: []Write{StoreLate}, Person: SeesNoEffect},
	{From: []State{Expired}, On: Late, By: Person, To: Expired, After: []Write{StoreLate}, Person: SeesNoEffect},
}

// Find returns the row for a state and an event, nil if there is none.
func (t Table) Find(from State, on Event) *Row {
	for i := range t {
		if t[i].On == on && slices.Contains(t[i].From, from) {
			return &t[i]
		}
	}
	return nil
}
