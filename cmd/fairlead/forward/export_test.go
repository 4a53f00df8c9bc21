package forward

// Copied returns a record as it is sent.
var Copied = copied

// Broken is closed once the other side has ended the connection of a syslog server.
func Broken(p Place) <-chan struct{} { return p.(*syslog).broken } //nolint:forcetypeassert // of a test
