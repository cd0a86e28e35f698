package libvirt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/certificate"

	"github.com/digitalocean/go-libvirt"
)

// hints say what libvirt's errors mean and what to do about them.
var hints = map[libvirt.ErrorNumber]struct {
	sentinel error
	text     string
}{
	libvirt.ErrNoDomain:        {adapter.ErrGone, ""},
	libvirt.ErrAuthFailed:      {adapter.ErrRefused, notLetIn},
	libvirt.ErrAuthCancelled:   {adapter.ErrRefused, notLetIn},
	libvirt.ErrAuthUnavailable: {adapter.ErrRefused, notLetIn},
	libvirt.ErrAccessDenied: {
		adapter.ErrRefused,
		"the access driver of libvirt denies it: grant domain.start, domain.stop and domain.init-control",
	},
	libvirt.ErrOperationDenied:   {adapter.ErrRefused, "the connection is read-only: use libvirt-sock, not libvirt-sock-ro"},
	libvirt.ErrOperationTimeout:  {adapter.ErrBusy, "another job holds the domain, such as a backup, a snapshot or a migration"},
	libvirt.ErrAgentUnresponsive: {adapter.ErrBusy, "its guest agent does not answer"},
	libvirt.ErrOperationInvalid:  {adapter.ErrBusy, "its state does not allow it now"},
	libvirt.ErrNoConnect:         {adapter.ErrRefused, "the daemon has no such driver: check uri"},
}

const notLetIn = "libvirt denies access: add the user that Ebbtide runs or logs in as to the group libvirt"

// unkilled is what libvirt says of a process that its TERM and its KILL have not ended in time (virProcessKillPainfullyDelay): it waits in
// the kernel, and goes when it may.
const unkilled = "Failed to terminate process"

// code is the number of an error that the daemon gave.
func code(err error) (libvirt.ErrorNumber, bool) {
	var e libvirt.Error
	ok := errors.As(err, &e)
	return libvirt.ErrorNumber(e.Code), ok
}

// explain turns an error of a call into one of the port, or into one that says that nobody knows what became of it.
func explain(err error) error {
	if err == nil {
		return nil
	}
	number, said := code(err)
	switch {
	case said:
		h, ok := hints[number]
		switch {
		case !ok && strings.Contains(err.Error(), unkilled):
			return fmt.Errorf("%w: its qemu is not gone yet, as where its storage does not answer (%s)", adapter.ErrBusy, oneLine(err))
		case !ok:
			return fmt.Errorf("%w: libvirt says: %s", adapter.ErrRefused, oneLine(err))
		case h.text == "":
			return fmt.Errorf("%w: libvirt says: %s", h.sentinel, oneLine(err))
		}
		return fmt.Errorf("%w: %s (%s)", h.sentinel, h.text, oneLine(err))
	case errors.Is(err, syscall.EINVAL): // the library's word for a connection that is gone before the call is sent
		return fmt.Errorf("%w: the connection to libvirt is gone", adapter.ErrUnreachable)
	default:
		return fmt.Errorf("the connection to libvirt was lost, so it is unknown whether it was done: %w", err)
	}
}

// explainRead is explain for questions: where nothing can have been done, no answer means unreachable.
func explainRead(err error) error {
	switch {
	case err == nil, errors.Is(err, adapter.ErrUnreachable), errors.Is(err, adapter.ErrRefused), errors.Is(err, adapter.ErrBusy),
		errors.Is(err, adapter.ErrGone), errors.Is(err, context.Canceled):
		return err
	}
	if _, said := code(err); said {
		return explain(err)
	}
	return fmt.Errorf("%w: %s", adapter.ErrUnreachable, oneLine(err))
}

// explainDial says why a daemon could not be reached.
func explainDial(err error) error {
	switch {
	case errors.Is(err, adapter.ErrRefused), errors.Is(err, adapter.ErrUnreachable), errors.Is(err, adapter.ErrBusy),
		errors.Is(err, context.Canceled):
		return err
	case certificate.Refused(err):
		return fmt.Errorf("%w: the daemon's certificate is not signed by an authority in ca_file, or not for this name or address (%s)",
			adapter.ErrRefused, oneLine(err))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s (%s)", adapter.ErrRefused, notLetIn, oneLine(err))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w: there is no such socket: check that libvirtd is running; with its modular daemons give socket "+
			"/run/libvirt/virtqemud-sock", adapter.ErrUnreachable)
	}
	return fmt.Errorf("%w: %s", adapter.ErrUnreachable, oneLine(err))
}

// oneLine makes an error's text fit for a detail.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
