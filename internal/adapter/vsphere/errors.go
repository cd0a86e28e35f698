package vsphere

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// errLogin marks failures of the session itself, so that a fallback is tried although the server refused.
var errLogin = errors.New("no session")

// errUnanswered says that a request was sent and its answer never came. It reads as a context error, since that is how
// the port says that nobody knows whether it was done.
var errUnanswered = fmt.Errorf("no answer, so it is unknown whether it was done: %w", context.DeadlineExceeded)

// explain turns an error of the API into one of the port, with a hint where there is one. What it replaces is kept as
// text only: a deadline inside it would read as if nobody knew what was done.
func explain(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, adapter.ErrUnreachable), errors.Is(err, adapter.ErrRefused), errors.Is(err, adapter.ErrBusy),
		errors.Is(err, adapter.ErrGone):
		return err
	case isFault(err):
		return explainFault(err)
	case certificate.Refused(err):
		return fmt.Errorf("%w: %s; if it was renewed, check it and put its SHA-256 into thumbprint", adapter.ErrRefused, oneLine(err))
	case errors.Is(err, context.Canceled):
		return err
	default:
		return fmt.Errorf("%w (%s)", errUnanswered, oneLine(err))
	}
}

// explainRead is explain for questions: where nothing can have been done, no answer means unreachable.
func explainRead(err error) error {
	if (errors.Is(err, errBeyond) || errors.Is(err, errNonsense)) && !errors.Is(err, adapter.ErrUnreachable) {
		return fmt.Errorf("%w: %w", adapter.ErrUnreachable, err)
	}
	err = explain(err)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %s", adapter.ErrUnreachable, oneLine(err))
	}
	return err
}

func isFault(err error) bool {
	for ; err != nil; err = errors.Unwrap(err) {
		if soap.IsSoapFault(err) || soap.IsVimFault(err) {
			return true
		}
	}
	return false
}

// hint says what a fault means and what to do about it.
type hint struct {
	fault    types.BaseMethodFault
	sentinel error
	text     string
}

// hints are looked through in order; a fault also stands for those derived from it.
var hints = []hint{
	{&types.ManagedObjectNotFound{}, adapter.ErrGone, ""},
	{
		&types.ToolsUnavailable{}, adapter.ErrRefused,
		"VMware Tools are not running in the guest: start or install them, or let down.force power it off",
	},
	{&types.TaskInProgress{}, adapter.ErrBusy, "another task is running on it, such as a snapshot or a backup"},
	{&types.MethodDisabled{}, adapter.ErrBusy, "something has disabled this for now, such as a backup"},
	{&types.HostCommunication{}, adapter.ErrUnreachable, "its host does not answer vCenter"},
	{&types.InsufficientResourcesFault{}, adapter.ErrBusy, "not enough hosts or resources yet, or HA admission control holds them back"},
	{&types.InvalidPowerState{}, adapter.ErrBusy, "its power state has just changed"},
	{&types.InvalidState{}, adapter.ErrBusy, "its state does not allow it now: a question may wait for an answer, or its host may be in " +
		"maintenance mode"},
	{&types.RestrictedVersion{}, adapter.ErrRefused, "the host's licence makes its API read-only: use vCenter or another licence"},
}

func explainFault(err error) error {
	if expired(err) { // which is a kind of NoPermission
		return fmt.Errorf("%w: its session has ended (%s)", adapter.ErrUnreachable, oneLine(err))
	}
	var denied *types.NoPermission
	if _, ok := fault.As(err, &denied); ok {
		return fmt.Errorf("%w: the account lacks the privilege %s: add it to the account's role", adapter.ErrRefused, denied.PrivilegeId)
	}
	for _, h := range hints {
		if !isKind(err, h.fault) {
			continue
		}
		if h.text == "" {
			return fmt.Errorf("%w: %s", h.sentinel, oneLine(err))
		}
		return fmt.Errorf("%w: %s (%s)", h.sentinel, h.text, oneLine(err))
	}
	return fmt.Errorf("%w: %s", adapter.ErrRefused, oneLine(err))
}

// isKind reports whether err carries a fault of kind's type or of one that embeds it.
func isKind(err error, kind types.BaseMethodFault) bool {
	found := false
	fault.In(err, func(f types.BaseMethodFault, _ string, _ []types.LocalizableMessage) bool {
		found = found || embeds(reflect.TypeOf(f), reflect.TypeOf(kind).Elem())
		return found
	})
	return found
}

func embeds(t, kind reflect.Type) bool {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == kind {
		return true
	}
	return t.Kind() == reflect.Struct && t.NumField() > 0 && t.Field(0).Anonymous && embeds(t.Field(0).Type, kind)
}

// oneLine makes an error's text fit for a detail.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
