// Package sim plays seeded scenarios in virtual time over the real chain of the real packages, and
// checks after each what the chain promises.
//
// A scenario is drawn from its seed: tenants; a trusted server, an untrusted one with the same definitions, and
// a lying one; some dozens of calls with deadlines, cancellations and bursts. The person is late, silent, wrong
// or panics. Executors fail before, during and after an execution, definitions and policies change, and
// middlewares of the host misbehave after the approval. Slots are filled at random: rules on arguments,
// replicas, budgets, records on a failing disk, output, views, locks, entities, remembered approvals, and turns
// of a model. A recorder in the fake servers has the calls that were really sent, and computes what must hold
// without the chain.
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
// All chance is drawn from the seed and the identity of its event, and each event has its own instant.
// Events that are meant for one instant may happen in either order.
package sim

// An Invariant is one promise of the chain.
type Invariant struct {
	Name string
	Says string
}

// Invariants lists the promises that the simulation checks.
var Invariants = []Invariant{
	{Name: "I1", Says: "a call that needs an approval is executed with one for exactly it, unexpired, and while it is in flight"},
	{Name: "I2", Says: "a call that may have happened is not sent again, and its error states the doubt"},
	{Name: "I3", Says: "a cached result is of the same call of the same tenant, and fresh"},
	{Name: "I4", Says: "no read is older than a write that went out before it began"},
	{Name: "I5", Says: "a declaration of an untrusted server never lowers a class"},
	{Name: "I5 resolved", Says: "nor does its resolver, and a class that the arguments raise stays raised"},
	{Name: "I6", Says: "a write that succeeds was executed exactly once"},
	{Name: "I7", Says: "no call is executed under a definition other than the accepted one"},
	{Name: "I7 pins", Says: "nor, with a lock, under one that the server has changed without a review"},
	{Name: "I8", Says: "a call never gets another's cancellation or deadline"},
	{Name: "I9", Says: "a call returns when its time is over, and is not sent after that"},
	{Name: "I10", Says: "a call does not wait for its deadline in vain"},
	{Name: "I11", Says: "the rate is kept, and no token is idle while a call waits"},
	{Name: "I12", Says: "late, odd and second answers of the approver have no effect"},
	{Name: "I13", Says: "only a clear approval approves"},
	{Name: "I13 audit", Says: "a call that must be recorded, or needs an approval and has a trail, is not made unrecorded"},
	{Name: "I14", Says: "identical concurrent reads are one execution"},
	{Name: "I15", Says: "a caller's writes to its arguments and results are invisible to others"},
	{Name: "I16", Says: "every call has one correct record of its end, and every hand-over of a write has one before it"},
	{Name: "I19", Says: "everything comes to rest, and later calls work as the first did"},
	{Name: "I20", Says: "a call that the policy refuses is not sent"},
	{Name: "I22", Says: "a hidden tool is not called, answered from the cache or asked about"},
	{Name: "I23", Says: "no error comes out before the caller's time is over, no result is too long, and cached results are whole"},
	{Name: "I24", Says: "dangerous calls go to primaries alone, and no call to a replica with another definition"},
	{Name: "I25", Says: "a session makes exactly as many calls as its budget allows"},
	{Name: "I26", Says: "of the calls of one turn to one server, none runs beside an earlier one unless both read, and each has its own outcome"},
	{Name: "I27", Says: "a call that is sent is the same call for every reader"},
	{Name: "I28", Says: "shared data is used for its lifetime alone, and volatile data and secrets are read anew"},
	{Name: "I29", Says: "a call that may have happened is not repeated by another, unless a person was told of the doubt"},
	{Name: "I30", Says: "a call is held once if the same one may have happened, and no other is held"},
	{Name: "I31", Says: "a list that is annotated is never milder than the class"},
	{Name: "I32", Says: "what is observed is sent once, as it came"},
}
