package nut

import (
	"errors"
	"fmt"
	"strings"
)

// Error is an ERR answer of a server. The connection is well after it.
type Error struct {
	Code  string // as sent: "ACCESS-DENIED"; codes that are not listed here are kept too
	Extra string // whatever followed the code
}

func (e *Error) Error() string {
	text := strings.TrimRight("the server says ERR "+e.Code, " ")
	if e.Extra != "" {
		text += " " + e.Extra
	}
	if hint := hints[e.Code]; hint != "" {
		text += " (" + hint + ")"
	}
	return text
}

// Is makes errors.Is(err, ErrUnknownUPS) compare codes.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code && (other.Extra == "" || other.Extra == e.Extra)
}

// The ERR codes of the NUT protocol (NUT developer guide, "Network protocol information").
var (
	ErrAccessDenied         = &Error{Code: "ACCESS-DENIED"}
	ErrUnknownUPS           = &Error{Code: "UNKNOWN-UPS"}
	ErrVarNotSupported      = &Error{Code: "VAR-NOT-SUPPORTED"}
	ErrCmdNotSupported      = &Error{Code: "CMD-NOT-SUPPORTED"}
	ErrInvalidArgument      = &Error{Code: "INVALID-ARGUMENT"}
	ErrInstCmdFailed        = &Error{Code: "INSTCMD-FAILED"}
	ErrSetFailed            = &Error{Code: "SET-FAILED"}
	ErrReadOnly             = &Error{Code: "READONLY"}
	ErrTooLong              = &Error{Code: "TOO-LONG"}
	ErrFeatureNotSupported  = &Error{Code: "FEATURE-NOT-SUPPORTED"}
	ErrFeatureNotConfigured = &Error{Code: "FEATURE-NOT-CONFIGURED"}
	ErrAlreadySSLMode       = &Error{Code: "ALREADY-SSL-MODE"}
	ErrDriverNotConnected   = &Error{Code: "DRIVER-NOT-CONNECTED"}
	ErrDataStale            = &Error{Code: "DATA-STALE"}
	ErrAlreadyLoggedIn      = &Error{Code: "ALREADY-LOGGED-IN"}
	ErrInvalidPassword      = &Error{Code: "INVALID-PASSWORD"}
	ErrAlreadySetPassword   = &Error{Code: "ALREADY-SET-PASSWORD"}
	ErrInvalidUsername      = &Error{Code: "INVALID-USERNAME"}
	ErrAlreadySetUsername   = &Error{Code: "ALREADY-SET-USERNAME"}
	ErrUsernameRequired     = &Error{Code: "USERNAME-REQUIRED"}
	ErrPasswordRequired     = &Error{Code: "PASSWORD-REQUIRED"}
	ErrUnknownCommand       = &Error{Code: "UNKNOWN-COMMAND"}
	ErrInvalidValue         = &Error{Code: "INVALID-VALUE"}
	ErrFailed               = &Error{Code: "FAILED"}  // a tracked SET or INSTCMD failed in the driver
	ErrUnknown              = &Error{Code: "UNKNOWN"} // the driver does not know the command or variable, or the tracking id is not known
)

// hints say what to do next, where that is clear.
var hints = map[string]string{
	ErrAccessDenied.Code:         "wrong user or password, or the user lacks this right in upsd.users",
	ErrUnknownUPS.Code:           "`upsc -l` on the server lists its names",
	ErrCmdNotSupported.Code:      "`upscmd -l` lists what the UPS can do",
	ErrDriverNotConnected.Code:   "the UPS's driver is not running",
	ErrDataStale.Code:            "the driver has lost the UPS",
	ErrUsernameRequired.Code:     "give a user name",
	ErrPasswordRequired.Code:     "give a password",
	ErrFeatureNotConfigured.Code: "the feature is not set up; for STARTTLS, give upsd a certificate",
}

// ErrProtocol says that an answer was not one that the protocol allows. The connection is closed: what came after it
// could belong to any question.
var ErrProtocol = errors.New("the answer breaks the NUT protocol")

func protocolError(line, want string) error {
	const most = 80
	if len(line) > most {
		line = line[:most] + "…"
	}
	return fmt.Errorf("%w: got %q instead of %s", ErrProtocol, line, want)
}

// parseError reads an ERR line; nil if it is none.
func parseError(line string) *Error {
	word, rest, _ := strings.Cut(line, " ")
	if word != "ERR" {
		return nil
	}
	code, extra, _ := strings.Cut(strings.TrimSpace(rest), " ")
	return &Error{Code: code, Extra: extra}
}
