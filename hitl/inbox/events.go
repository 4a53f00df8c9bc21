package inbox

import (
	"fmt"
	"net/http"
	"time"
)

const (
	heartbeat  = 20 * time.Second
	slowReader = 10 * time.Second
	leastPause = 200 * time.Millisecond // between two events
)

// events tells a page that something has changed, as server-sent events: the
// number of the change, and nothing else. The page then asks for what is new.
func (in *Inbox) events(w http.ResponseWriter, r *http.Request, s *session) {
	select {
	case in.streams <- struct{}{}:
		defer func() { <-in.streams }()
	default:
		in.refused(w, r, errStreams)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{})
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	end := time.NewTimer(time.Until(s.until))
	defer end.Stop()
	looks := make(<-chan time.Time)
	if in.shared {
		look := time.NewTicker(lookEvery)
		defer look.Stop()
		looks = look.C
	}
	sent := -1
	for {
		in.mu.Lock()
		version, changed := in.version, in.changed
		in.mu.Unlock()
		text := ":\n\n" // a heartbeat
		if version != sent {
			text, sent = fmt.Sprintf("event: change\ndata: %d\n\n", version), version
		}
		_ = out.SetWriteDeadline(time.Now().Add(slowReader)) // where the server cannot, a slow reader is its affair
		if _, err := w.Write([]byte(text)); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-changed:
		case <-beat.C:
			continue
		case <-looks:
			in.look(r.Context())
			continue
		case <-end.C:
			return
		case <-r.Context().Done():
			return
		}
		select {
		case <-time.After(leastPause):
		case <-r.Context().Done():
			return
		}
	}
}
