package english

import (
	"fmt"
	"strings"
	"time"
)

// Span writes how long something took, as exactly as people want it: "12ms", "2.5s", "21s", "6m 2s", "2h 23m".
func Span(d time.Duration) string {
	if d < 0 {
		return "-" + Span(-d)
	}
	if 0 < d && d < 95*time.Millisecond {
		return fmt.Sprintf("%dms", max(1, d.Milliseconds()))
	}
	if d = d.Round(100 * time.Millisecond); d < 10*time.Second {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", d.Seconds()), ".0") + "s"
	}
	d = d.Round(time.Second)
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	var parts []string
	for _, unit := range []struct {
		of   time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / unit.of; n > 0 {
			parts = append(parts, fmt.Sprintf("%d%s", n, unit.name))
			d %= unit.of
		}
	}
	return strings.Join(parts, " ")
}
