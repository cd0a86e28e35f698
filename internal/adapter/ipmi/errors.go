package ipmi

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/bougou/go-ipmi/pkg/types"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/printable"
)

// logins are what a failed login says, and what it means. The library gives the text alone of what went wrong with each
// cipher suite that it tried.
var logins = []struct {
	status types.RmcpStatusCode
	locks  bool // the name or the password is wrong
	is     error
	hint   string
}{
	{types.RmcpStatusCodeNoResToCreateSess, false, adapter.ErrBusy, "it has no session left: close those of others"},
	{types.RmcpStatusCodeNoResToCreateSessAtRole, false, adapter.ErrBusy, "it has no session left: close those of others"},
	{types.RmcpStatusCodeUnauthorizedName, true, adapter.ErrRefused, "it knows no such user, or not for IPMI over LAN"},
	{types.RmcpStatusCodeInvalidIntegrityCheckValue, true, adapter.ErrRefused, "the password is wrong"},
	{
		types.RmcpStatusCodeUnauthorizedRoleOfPriLevel, false, adapter.ErrRefused,
		"the account lacks the privilege level OPERATOR on the LAN channel",
	},
	{types.RmcpStatusCodeInvalidRole, false, adapter.ErrRefused, "the account lacks the privilege level OPERATOR on the LAN channel"},
	{types.RmcpStatusCodeInvalidAuthAlg, false, adapter.ErrRefused, "it does not accept the cipher suite: try cipher_suite: 3"},
	{types.RmcpStatusCodeInvalidIntegrityAlg, false, adapter.ErrRefused, "it does not accept the cipher suite: try cipher_suite: 3"},
	{types.RmcpStatusCodeInvalidConfidentAlg, false, adapter.ErrRefused, "it does not accept the cipher suite: try cipher_suite: 3"},
	{types.RmcpStatusCodeNoCipherSuiteMatch, false, adapter.ErrRefused, "it does not accept the cipher suite: try cipher_suite: 3"},
}

// login says what a failed login means. The last cipher suite that was tried decides.
func (c *conn) login(ctx context.Context, err error) error {
	text := printable.Text(err.Error(), 400)
	if strings.Contains(text, "RAKP authentication failed") {
		return c.lockout.Refused(fmt.Errorf("%w: %q may not log in: the password is wrong", adapter.ErrRefused, c.spec.Username))
	}
	last, found := -1, -1
	for i, l := range logins {
		if at := strings.LastIndex(text, types.NewRmcpStatusError(l.status).Error()); at > last {
			last, found = at, i
		}
	}
	switch {
	case found >= 0 && logins[found].locks:
		return c.lockout.Refused(fmt.Errorf("%w: %q may not log in: %s", adapter.ErrRefused, c.spec.Username, logins[found].hint))
	case found >= 0:
		return fmt.Errorf("%w: %s (%s)", logins[found].is, logins[found].hint, text)
	}
	if refused := c.refusal(err); refused != nil {
		return refused
	}
	if strings.Contains(text, types.ErrUnpackedDataTooShort.Error()) { // a refusal without the fields of a success
		return fmt.Errorf("%w: it refuses the login: try cipher_suite: 3 (%s)", adapter.ErrRefused, text)
	}
	return c.unanswered(ctx, errors.New(text))
}

// refusal says what it means that a controller does not do what it was told; nil: it did not answer.
func (c *conn) refusal(err error) error {
	no, ok := types.IsResponseError(err)
	if !ok {
		return nil
	}
	switch no.CompletionCode() {
	case types.CodeNodeBusy, types.CodeOutOfSpace, types.CodeCannotProvideResponse, types.CodeCannotProvideResponseBMCInitialize,
		types.CodeCannotProvideResponseFirmwareUpdate, types.CodeProcessTimeout:
		return fmt.Errorf("%w: %v", adapter.ErrBusy, no) //nolint:errorlint // only the sentinel is for others
	case types.CodeInsufficientPrivilege:
		return fmt.Errorf("%w: the account lacks the privilege level OPERATOR on the LAN channel (%v)", adapter.ErrRefused,
			no) //nolint:errorlint // as above
	default:
		return fmt.Errorf("%w: %v", adapter.ErrRefused, no) //nolint:errorlint // as above
	}
}
