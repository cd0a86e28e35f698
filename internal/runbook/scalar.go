package runbook

import (
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"ebbtide/internal/schema"
)

// duration reads a length of time such as 90s, 10m or 1h30m.
func (d *decoder) duration(v *value) (time.Duration, bool) {
	if !d.want(v, scalar, "a duration such as 90s or 10m") {
		return 0, false
	}
	dur, err := time.ParseDuration(v.text)
	switch {
	case err != nil || bareNumber.MatchString(v.text):
		d.fail(v, durationHint(v.text, durationForm), "expected a duration such as 90s or 10m, found %s", v.what())
		return 0, false
	case dur < 0:
		d.fail(v, "", "a duration can't be negative, found %s", v.what())
		return 0, false
	}
	return dur, true
}

var (
	bareNumber   = regexp.MustCompile(`^[0-9.]+$`)
	wordDuration = regexp.MustCompile(`(?i)^\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zµ]+)\.?\s*$`)
)

const durationForm = "write it like 90s, 10m or 1h30m"

// durationHint guesses what was meant by what is not a duration; otherwise is the hint where nothing can be guessed.
func durationHint(text, otherwise string) string {
	if bareNumber.MatchString(text) {
		return "a duration needs a unit: write " + text + "s for seconds or " + text + "m for minutes"
	}
	part := wordDuration.FindStringSubmatch(text)
	if part == nil {
		return otherwise
	}
	switch unit := strings.ToLower(part[2]); {
	case unit == "m", unit == "mins", len(unit) >= 3 && strings.HasPrefix("minutes", unit):
		return "write " + part[1] + "m"
	case unit == "ms", strings.HasPrefix(unit, "milli"):
		return "write " + part[1] + "ms"
	case unit == "secs", strings.HasPrefix("seconds", unit):
		return "write " + part[1] + "s"
	case unit == "hr", unit == "hrs", strings.HasPrefix("hours", unit):
		return "write " + part[1] + "h"
	case strings.HasPrefix("days", unit):
		if days, err := strconv.Atoi(part[1]); err == nil && days < 10_000 {
			return "write " + strconv.Itoa(24*days) + "h"
		}
	}
	return otherwise
}

// percent reads 30% or 30, from 0 to most.
func (d *decoder) percent(v *value, most float64) (float64, bool) {
	if !d.want(v, scalar, "a percentage such as 30%") {
		return 0, false
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(v.text), "%")), 64)
	switch {
	case err != nil || math.IsNaN(n):
		d.fail(v, "write it like 30%", "expected a percentage such as 30%%, found %s", v.what())
		return 0, false
	case n < 0 || n > most:
		d.fail(v, "", "a percentage is from 0%% to %v%% here, found %s", most, v.what())
		return 0, false
	case 0 < n && n < 1 && !strings.Contains(v.text, "%"):
		d.fail(v, fmt.Sprintf("write %v%%", math.Round(100*n)), "a percentage is written like 30%%, found a fraction, %s", v.what())
		return 0, false
	}
	return n, true
}

// number reads a decimal number; unit, if any, is what people write after it by mistake.
func (d *decoder) number(v *value, unit string) (float64, bool) {
	if !d.want(v, scalar, "a number") {
		return 0, false
	}
	n, err := strconv.ParseFloat(v.text, 64)
	if err == nil && !v.quoted && !math.IsNaN(n) && !math.IsInf(n, 0) {
		return n, true
	}
	hint := ""
	bare := strings.TrimRight(v.text, " %°CcFs"+unit)
	if _, err := strconv.ParseFloat(bare, 64); err == nil {
		hint = "write " + bare
	}
	d.fail(v, hint, "expected a number, found %s", v.what())
	return 0, false
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// secret reads a reference to a secret. Whatever else stands there may be the secret itself: no message repeats it,
// and no source line shows it.
func (d *decoder) secret(v *value, dst reflect.Value) {
	const hint = "write {credential: NAME}, {file: /absolute/path} or {env: NAME}, and change the secret: it was stored in a file"
	if v.kind != mapping {
		d.maskAll(v)
		if v.kind == nothing {
			d.fail(v, "write {credential: NAME}, {file: /absolute/path} or {env: NAME}", "%s has no value", d.path[len(d.path)-1])
			return
		}
		d.fail(v, hint, "%s must be a reference to a secret, not the secret itself", d.path[len(d.path)-1])
		return
	}
	var ref schema.SecretRef
	given, unknown := 0, false
	for _, p := range v.pairs {
		var to *string
		switch p.key.text {
		case "credential":
			to = &ref.Credential
		case "file":
			to = &ref.File
		case "env":
			to = &ref.Env
		default:
			unknown = true
			d.maskAll(p.val)
			d.fail(p.key, "a reference to a secret has one of the keys credential, file, env",
				"unknown key %q in a reference to a secret", p.key.text)
			continue
		}
		given++
		switch {
		case p.val.kind != scalar || p.val.text == "":
			d.maskAll(p.val)
			d.fail(p.val, "", "%s must be a name, found %s", p.key.text, p.val.kindName())
			continue
		case p.key.text == "file" && !filepath.IsAbs(p.val.text):
			d.maskAll(p.val)
			d.fail(p.val, "write the whole path, from /", "the file of a secret must be an absolute path")
		case p.key.text == "env" && !envName.MatchString(p.val.text):
			d.maskAll(p.val)
			d.fail(p.val, "write the variable's name, without $", "this is not the name of an environment variable")
		case p.key.text == "credential" && strings.ContainsAny(p.val.text, "/\\"):
			d.maskAll(p.val)
			d.fail(p.val, "write {file: /absolute/path} for a file", "the name of a credential has no / in it")
		}
		*to = p.val.text
	}
	if given != 1 && !unknown {
		d.fail(v, "give one of credential, file, env", "a reference to a secret has exactly one key")
	}
	dst.Set(reflect.ValueOf(ref))
}

// maskAll hides every text of a value in the source lines of problems.
func (d *decoder) maskAll(v *value) {
	if d.steps++; d.steps > maxSteps {
		return
	}
	if v.kind == scalar {
		d.masks = append(d.masks, span{line: v.line, col: v.col, width: v.width, last: max(v.line, v.last)})
	}
	for _, item := range v.items {
		d.maskAll(item)
	}
	for _, p := range v.pairs {
		d.maskAll(p.val)
	}
}
