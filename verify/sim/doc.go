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
// and remove tools, also between two pages of a list, die, fall silent and redirect, turn calls away by a status of
// HTTP, break connections of HTTP/1 and HTTP/2, end sessions, and name the requests of others. The person is asked by the host, a form of the client or the
// page of the inbox. Records and stores fail and block, and the file of the policy breaks. Four ways of reading
// what a server received must find one call, which was classified, shown, approved and recorded.
//
// [RunAlike] plays a scenario with and without an audit trail, a telemetry and middlewares of the host that read the
// record, and compares what each call comes back with, each question and each execution.
//
// [RunSpread] plays two replicas of a host over one engine that is slow, loses requests and answers,
// and is away for a while.
//
//	go -C verify test -v ./sim -seeds 20000
//	go -C verify test -v ./sim -seed=4711     # one scenario, again
//	go -C verify run ./mutants                # is the simulation any good?
//
// The invariants have the names of docs/reference/guarantees.md and verify/mutants/README.md.
//
// All chance is drawn from the seed and the identity of its event, and each event has its own instant.
// Events that are meant for one instant may happen in either order.
package sim
