// Package sim plays seeded scenarios in virtual time over the real chain of the real packages, and
// checks after each what the chain promises.
//
// A scenario is drawn from its seed: tenants; a trusted server, an untrusted one with the same
// definitions, and one that lies; some dozens of calls with deadlines, cancellations and bursts; a
// person who is late, silent, wrong or panics; executors that fail before, during and after an
// execution; definitions and policies that change; middlewares of the host that go wrong after the
// approval. Slots are filled at random: rules on arguments, replicas, budgets, records on a disk
// that fails, output, views, locks, entities, standing approvals, and turns of a model. A recorder
// in the fake servers has what was really sent, and works out what must hold without the chain.
//
// Every fourth scenario is at the edges of the chain: two clients and one or two servers around the proxy, over
// lines and over HTTP with and without sessions, or around one of the mounts. Both sides read and write bytes.
// Clients leave out the id, repeat members and change their case; servers read them in different ways, redefine
// and remove tools, die, fall silent and redirect. The person is asked by the host, a form of the client or the
// page of the inbox. Records and stores fail and block, and the file of the policy breaks. Four ways of reading
// what a server received must find one call, which was classified, shown, approved and recorded.
//
// [RunSpread] plays two replicas of a host over one engine that is slow, loses requests and answers,
// and is away for a while.
//
//	go -C verify test -v ./sim -seeds 20000
//	go -C verify test -v ./sim -seed=4711     # one scenario, again
//	go -C verify run ./mutants                # is the simulation any good?
//
// All chance is drawn from the seed and the identity of what it is for, and events lie at instants
// of their own. What is meant to happen at one instant may happen in either order.
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
	{Name: "I29", Says: "what may have happened is not executed again by another call, unless a person was told that it may have"},
	{Name: "I30", Says: "a call is held, once, if the same one may have happened, and no other is"},
	{Name: "I31", Says: "a list that is annotated is never milder than the class"},
	{Name: "I32", Says: "what is observed is sent once, as it came"},
}
