// Package refusal holds what the errors about refused calls have in common.
package refusal

// Final is for an error to embed if the call was not sent and the same call would only be
// refused again. A package embeds it under a name of its own, so that no field of the error is
// exported:
//
//	type refused = refusal.Final
type Final struct{}

// NotSent reports that the call did not leave.
func (Final) NotSent() bool { return true }

// Permanent reports that the same call would only fail again.
func (Final) Permanent() bool { return true }
