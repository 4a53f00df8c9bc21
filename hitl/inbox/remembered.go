package inbox

import (
	"context"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	"github.com/fairlead-go/fairlead/hitl/approvals"
)

func (in *Inbox) forget(w http.ResponseWriter, r *http.Request, s *session) {
	form, err := readForm(w, r, "id")
	if err == nil {
		err = in.takeBack(r.Context(), form.Get("id"), s)
	}
	if err != nil {
		in.refused(w, r, err)
		return
	}
	http.Redirect(w, r, in.o.Path+"?done="+url.QueryEscape(form.Get("id")), http.StatusSeeOther)
}

// takeBack ends a remembered approval of any scope, and notes who did it.
func (in *Inbox) takeBack(ctx context.Context, id string, s *session) error {
	if in.o.Store == nil {
		return errForgot
	}
	all, err := in.o.Store.List(ctx)
	i := slices.IndexFunc(all, func(kept approvals.Standing) bool { return kept.ID == id })
	if err == nil && i < 0 {
		return errForgot
	}
	if err == nil {
		err = in.o.Store.Forget(ctx, all[i].Scope, id)
	}
	if err != nil {
		in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: an approval could not be taken back", slog.String("id", id), slog.Any("err", err))
		return errForget
	}
	in.o.Logger.LogAttrs(ctx, slog.LevelInfo, "inbox: taken back", slog.String("id", id), slog.String("what", all[i].String()), slog.String("by", s.by))
	in.mu.Lock()
	defer in.mu.Unlock()
	in.keep(record{past: past{ID: id, Tool: all[i].String(), What: "taken back", By: s.by}})
	return nil
}

// remembered draws the remembered approvals, or those for the tool and the scope of a question; nil without a store.
func (in *Inbox) remembered(ctx context.Context, q *question) *memory {
	if in.o.Store == nil {
		return nil
	}
	all, err := in.o.Store.List(ctx)
	if err != nil {
		in.o.Logger.LogAttrs(ctx, slog.LevelError, "inbox: what is remembered cannot be read", slog.Any("err", err))
	}
	all = slices.DeleteFunc(all, func(s approvals.Standing) bool {
		return q != nil && (s.Scope != q.request.Scope || s.Server != q.request.Tool.Server || s.Tool != q.request.Tool.Name())
	})
	slices.SortFunc(all, func(x, y approvals.Standing) int { return y.Since.Compare(x.Since) })
	shown := min(len(all), maxKept)
	return &memory{Path: in.o.Path, All: all[:shown], More: len(all) - shown, Unread: err != nil}
}
