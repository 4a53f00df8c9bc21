package proxy

import "context"

// A link is a connection with a server. It passes on messages with the ID of the request that each
// belongs to, "" if the transport does not show it.
type link interface {
	// send returns once the message is on its way. An error with NotSent means that it did not arrive.
	send(ctx context.Context, m *message) error
	// close ends the connection, and returns when it has ended.
	close()
}

// A sink receives what a link reads. Its functions are called one after the other by the goroutine that reads, or,
// over HTTP, by several at once.
type sink struct {
	message func(m *message, about string)
	// failed returns the error of a request that was sent and gets no answer.
	failed func(id string, err error)
	// ended is called once, when the server has ended the link.
	ended func(err error)
	// expired is called once instead, when the server no longer has the session: the link takes no more messages, and
	// the answers to earlier ones still come.
	expired func(err error)
	// room is what the messages take before they are read, for the user; nil bounds nothing.
	room *room
	user string
}

// hold returns what takes room for one message, nil for what nothing bounds.
func (s sink) hold(ctx context.Context) *held {
	if s.room == nil {
		return nil
	}
	return s.room.hold(ctx, s.user)
}
