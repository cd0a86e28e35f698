package selector

import (
	"encoding/hex"
	"slices"
	"strings"
)

// SameFirmware reports whether two texts are the UUID that one machine's firmware has. Systems and their guests write its first
// three fields in either order of bytes: what a vCenter calls 421f245c-7fa8-60fa-… is 5c241f42-a87f-fa60-… in the guest.
func SameFirmware(a, b string) bool {
	x, y := firmware(a), firmware(b)
	if len(x) != 16 || len(y) != 16 {
		return false
	}
	turned := slices.Clone(x)
	slices.Reverse(turned[:4])
	slices.Reverse(turned[4:6])
	slices.Reverse(turned[6:8])
	return slices.Equal(x, y) || slices.Equal(turned, y)
}

// firmware reads a UUID. One that is not set, all zeros or all ones, is none.
func firmware(text string) []byte {
	raw, err := hex.DecodeString(strings.ReplaceAll(strings.Trim(strings.TrimSpace(text), "{}"), "-", ""))
	if err != nil || len(raw) == 0 || !slices.ContainsFunc(raw, func(b byte) bool { return b != 0 && b != 0xff }) {
		return nil
	}
	return raw
}
