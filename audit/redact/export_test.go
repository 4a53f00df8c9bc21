package redact

// MaxBytes is how much of one text or value is looked at.
const MaxBytes = maxBytes
