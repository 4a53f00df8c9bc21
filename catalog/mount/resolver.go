package mount

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/internal/fault"
	"github.com/fairlead-go/fairlead/internal/resolution"
	"github.com/fairlead-go/fairlead/internal/sdkerr"
	"github.com/fairlead-go/fairlead/middleware"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ResolverOptions prepares the options of a client whose sessions a [Resolver] will ask, before the client is
// made: it announces the extension io.modelcontextprotocol/tool-resolution. The options given are not changed;
// nil means no resolver.
func ResolverOptions(own *mcp.ClientOptions) *mcp.ClientOptions {
	o := *cmp.Or(own, &mcp.ClientOptions{})
	caps := mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}} //nolint:staticcheck // what the SDK announces by itself
	if o.Capabilities != nil {
		caps = *o.Capabilities
		caps.Extensions = maps.Clone(caps.Extensions)
	}
	caps.AddExtension(resolution.Extension, nil)
	o.Capabilities = &caps
	return &o
}

// A ToolResolver asks servers what a call with exactly these arguments would do. It is a preflight.Resolver, and safe for
// concurrent use. Make one with [Resolver].
type ToolResolver struct {
	session func(server string) *mcp.ClientSession
}

// Resolver returns a resolver for the sessions of the clients. session returns that of a server by its id, nil
// for none.
//
// A server is asked only if it announced that it answers and marked the tool: by the extension
// io.modelcontextprotocol/tool-resolution, or, with [Transport], by tools/annotations. Resolver panics on a nil
// func, without a client and on a nil one.
func Resolver(session func(server string) *mcp.ClientSession, clients ...*mcp.Client) *ToolResolver {
	if session == nil {
		panic("mount: Resolver was given no func to find a session")
	}
	if len(clients) == 0 || slices.Contains(clients, nil) {
		panic("mount: Resolver needs the clients of its sessions, and none of them nil")
	}
	for _, client := range clients {
		for _, method := range []string{resolution.MethodResolve, resolution.MethodAnnotations} {
			if err := mcp.AddSendingCustomMethod[*resolution.Params, *resolution.Answer](client, method); err != nil {
				panic(fmt.Sprintf("mount: the SDK does not send %s: %v", method, err))
			}
		}
	}
	return &ToolResolver{session}
}

// Resolve asks the server of the call's tool; ok is false if it did not offer to answer, and then nothing was
// sent. An answer that is malformed, too long, or about another tool is an error.
func (r *ToolResolver) Resolve(ctx context.Context, call middleware.Call) (answer annotation.Annotations, ok bool, err error) {
	cs := r.session(call.Tool.Server)
	if cs == nil {
		return answer, false, nil
	}
	form := resolution.Offered(cs, call.Tool.Definition)
	if form == resolution.None {
		return answer, false, nil
	}
	p := &resolution.Params{Name: call.Tool.Name(), Arguments: call.Arguments}
	if len(bytes.TrimSpace(p.Arguments)) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	watched, wire := sdkerr.Watch(ctx)
	res, err := mcp.CallCustomMethod[*resolution.Params, *resolution.Answer](watched, cs, form.Method(), p)
	if err != nil {
		err = sdkerr.Sort(ctx, wire, call.Tool.Server, call.Tool.Name(), err)
		err = fmt.Errorf("mount: what the call would do was asked in vain: %w", err)
		if reply, ok := errors.AsType[*jsonrpc.Error](err); ok && reply.Code == jsonrpc.CodeInvalidParams {
			err = &invalidArgumentsError{err}
		}
		return answer, true, err
	}
	if answer, err = res.Read(form, call.Tool.Name()); err != nil {
		return annotation.Annotations{}, true, fault.Told(fmt.Errorf("mount: %s answered %s with what cannot be read: %w", call.Tool.Server, form.Method(), err), true, "")
	}
	return answer, true, nil
}

// An invalidArgumentsError is a server's word that the arguments are invalid.
type invalidArgumentsError struct{ error }

func (e *invalidArgumentsError) Unwrap() error        { return e.error }
func (*invalidArgumentsError) InvalidArguments() bool { return true }
