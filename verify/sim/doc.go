// Package sim plays seeded scenarios in virtual time over the real chain of the
// real packages, and checks after each what the chain promises.
//
// A scenario is drawn from its seed: tenants, a trusted server, one whose
// definitions are the same and one that lies, some dozens of calls with their
// deadlines, cancellations and bursts, a person who is late, silent, wrong or
// panics, executors that fail before, after and in the middle of an execution,
// definitions that change with and without being accepted, a host that changes
// its policy while it runs, and middlewares of the host that go wrong after the
// yes. In some of them the arguments decide the class, a server has replicas, a
// session has a budget, calls are recorded where the disk fails now and then,
// answers are cut, callers see a part of the tools, definitions must be accepted,
// arguments name what they are about, a yes is remembered, or calls come by turns
// as a model asks for them. A recorder inside the fake servers knows what was really handed over, and
// works out what must hold without asking the chain.
//
// Every fourth scenario is at the edges of the chain: two clients and one or two servers
// around the proxy, over lines and over HTTP with and without sessions, or around one of
// the mounts. Clients and servers read and write bytes. Clients leave out the id, repeat
// members and write them in another case; servers take the first or the last of those,
// execute what has no id, redefine and remove tools, die, fall silent and redirect. Some
// proxies have a lock. The person is asked by the host, by a form of the client or on the
// page of the inbox, approves, denies, closes the form, leaves with the client or answers
// too late. The record and the stores fail and block, and the policy changes, in a file
// that may break or become a pipe first. What a server received is judged: four ways of
// reading it must find one call, which was classified, shown, approved and recorded.
//
// [RunSpread] plays two replicas of a host over one engine that is slow, loses
// requests and answers, and is away for a while.
//
//	go -C verify test -v ./sim -seeds 20000
//	go -C verify test -v ./sim -seed=4711     # one scenario, again
//	go -C verify run ./mutants                # is the simulation any good?
//
// All chance is drawn from the seed and the identity of what it is for, and
// events lie at instants of their own, so that a replay nearly always takes the
// same way. It is no single-stepping scheduler: what is meant to happen at one
// instant may happen in either order.
package sim

// An Invariant is one promise of the chain.
type Invariant struct {
	Name string
	Says string
}

// Invariants lists the promises that the simulation checks.
var Invariants = []Invariant{
	{Name: "I1", Says: "what needs a yes is executed with one to exactly this, unexpired, and while its call is under way"},
	{Name: "I2", Says: "what may have happened is not sent again, and its error says so"},
	{Name: "I3", Says: "a remembered answer is one to the same question of the same tenant, and young"},
	{Name: "I4", Says: "no read is older than a write that went out before it began"},
	{Name: "I5", Says: "what an untrusted server declares never lowers a class"},
	{Name: "I5 resolved", Says: "nor does what it resolves, and what the arguments make worse stays so"},
	{Name: "I6", Says: "a write that succeeds was executed once, by itself"},
	{Name: "I7", Says: "no call is executed under a definition other than the accepted one"},
	{Name: "I7 pins", Says: "nor, with a lock, under one that the server has changed and nobody has looked at"},
	{Name: "I8", Says: "nobody gets another's cancellation or deadline"},
	{Name: "I9", Says: "a call is back when its time is over, and nothing is sent then"},
	{Name: "I10", Says: "nobody waits for a time that will not come"},
	{Name: "I11", Says: "the rate is kept, and no token lies idle while somebody waits"},
	{Name: "I12", Says: "late, odd and second answers of the approver have no effect"},
	{Name: "I13", Says: "what is not a clear yes is a no"},
	{Name: "I13 audit", Says: "what must be recorded, or needs a yes and has a trail, is not done where it cannot be recorded"},
	{Name: "I14", Says: "identical reads at one time are one execution"},
	{Name: "I15", Says: "nobody sees what another writes to his own arguments and answers"},
	{Name: "I16", Says: "every call has one record of its end, which is true, every hand-over of a write one before it"},
	{Name: "I19", Says: "all comes to rest, and what came after it is as good as the first"},
	{Name: "I20", Says: "what the policy refuses is not sent"},
	{Name: "I22", Says: "nobody is served, answered from memory or asked about what the caller may not see"},
	{Name: "I23", Says: "no error comes out before the caller's time is over, nothing too long is shown, and what is remembered is whole"},
	{Name: "I24", Says: "what is dangerous goes to primaries alone, and nothing to a replica with another definition"},
	{Name: "I25", Says: "a session makes no more calls than it may, and as many"},
	{Name: "I26", Says: "of the calls of one turn to one server, none goes on beside one before it unless both read, and each has its own outcome"},
	{Name: "I27", Says: "what leaves is one call for every way of reading it"},
	{Name: "I28", Says: "what others change is used for its time alone, and what tells the present moment or a secret is read anew"},
}
