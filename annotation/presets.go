package annotation

// Presets for people who write tools. Open-world is left unset on purpose:
// whether a tool reaches outside is not a matter of reading and writing.

// ReadOnly is for a tool that lists, searches, fetches or computes.
func ReadOnly() Annotations {
	return Annotations{ReadOnly: Yes, Destructive: No, Idempotent: Yes}
}

// Write is for a tool that adds: create, append, upload. A create repeated is
// two, so it is not idempotent.
func Write() Annotations {
	return Annotations{ReadOnly: No, Destructive: No, Idempotent: No}
}

// Update is for a tool that sets something to a value; calling it twice with
// the same arguments is as good as once.
func Update() Annotations {
	return Annotations{ReadOnly: No, Destructive: No, Idempotent: Yes}
}

// Destructive is for a tool that deletes, overwrites or cannot be undone.
func Destructive() Annotations {
	return Annotations{ReadOnly: No, Destructive: Yes, Idempotent: No}
}
