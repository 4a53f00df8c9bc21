package inbox

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/fairlead-go/fairlead/hitl/safetext"
)

// A refusal is the error of a request that the page does not act on, with the status and the text that it answers.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(status int, format string, args ...any) *refusal {
	return &refusal{status, fmt.Sprintf(format, args...)}
}

var (
	errHost     = refuse(http.StatusMisdirectedRequest, "This name does not lead to an inbox. Open the page by the link that the program printed.")
	errOrigin   = refuse(http.StatusForbidden, "This came from another page than the inbox itself. Decide on its own page.")
	errNobody   = refuse(http.StatusUnauthorized, "You have not come in by a link. Open the one that the program printed, or ask it for another.")
	errStranger = refuse(http.StatusForbidden, "You are not one of those who may decide here. Ask the operator, who can add your name.")
	errLink     = refuse(http.StatusUnauthorized, "This link was used already, is too old, or is not valid. Ask the program for another.")
	errHurry    = refuse(http.StatusTooManyRequests, "Too many attempts. Wait a minute.")
	errMethod   = refuse(http.StatusMethodNotAllowed, "Looking decides nothing, and only the page's own forms do. Nothing was decided.")
	errForm     = refuse(http.StatusUnsupportedMediaType, "Only the page's own forms are read (application/x-www-form-urlencoded).")
	errLarge    = refuse(http.StatusRequestEntityTooLarge, "That is more than %d MiB. Nothing was decided.", maxBody>>20)
	errSlow     = refuse(http.StatusRequestTimeout, "The request did not arrive in time. Nothing was decided; try again.")
	errUnknown  = refuse(http.StatusNotFound, "There is no such question. It was decided long ago, or never asked.")
	errOther    = refuse(http.StatusConflict, "What you were shown is not what waits. Nothing was decided; look at it again.")
	errLate     = refuse(http.StatusGone, "Its time is over, the caller gave up, or it was answered elsewhere. Nothing was decided here.")
	errPart     = refuse(http.StatusForbidden, "Not all of it was shown there. Open the question and read all of it to approve it.")
	errNoUndo   = refuse(http.StatusGone, "There is no such call in the history of this page, or nothing that takes it back. Nothing was called.")
	errUndone   = refuse(http.StatusConflict, "It is taken back already, or that is being asked about.")
	errForgot   = refuse(http.StatusGone, "There is no such remembered approval. It was taken back already, or has ended.")
	errForget   = refuse(http.StatusServiceUnavailable, "The store does not answer, so the approval may still be remembered. Try again.")
	errOwn      = refuse(http.StatusForbidden, "This is a call of your own; somebody else has to approve it. You may deny it.")
)

func status(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	return http.StatusInternalServerError
}

func (in *Inbox) refused(w http.ResponseWriter, r *http.Request, err error) {
	in.logRefused(r, err)
	in.render(w, status(err), "message", message{Status: status(err), Title: http.StatusText(status(err)), Text: err.Error()})
}

func (in *Inbox) logRefused(r *http.Request, err error) {
	in.o.Logger.LogAttrs(r.Context(), slog.LevelWarn, "inbox: refused", slog.Int("status", status(err)), slog.String("why", err.Error()),
		slog.String("method", r.Method), slog.String("path", safetext.Cut(safetext.Line(r.URL.Path), 120)), slog.String("from", r.RemoteAddr))
}
