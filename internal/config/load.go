package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Load reads the settings: from the file at path ("" for none), from the environment, and from flags, by flag name as
// Setting.Flag gives it, where a person set them. All mistakes come in one error, a line each.
//
// A relative path in the file is relative to the file, one from elsewhere to the working directory.
func Load(path string, flags map[string]string) (Config, error) {
	l := loader{path: path, flags: flags}
	if path != "" {
		abs, err := filepath.Abs(path)
		if err != nil {
			return Config{}, fmt.Errorf("cannot find settings %q: %w", path, err)
		}
		l.config.File = abs
		if err := l.read(); err != nil {
			return Config{}, err
		}
	}
	l.apply()
	l.together()
	if len(l.mistakes) > 0 {
		return Config{}, errors.Join(l.mistakes...)
	}
	return l.config, nil
}

type loader struct {
	path     string
	flags    map[string]string
	file     map[string]any // what the file says, without what no setting has
	config   Config
	mistakes []error
}

func (l *loader) mistake(where string, err error) {
	l.mistakes = append(l.mistakes, fmt.Errorf("%s: %w", where, err))
}

// apply lays file, environment and flags over each other and reads every setting.
func (l *loader) apply() {
	rest := maps.Clone(l.flags)
	for _, s := range Settings() {
		delete(rest, s.Flag())
		if v, where := l.given(s); v.raw != nil {
			if err := s.set(&l.config, v); err != nil {
				l.mistake(where, err)
			}
		}
	}
	if raw := find(l.file, commandKey); raw != nil {
		if err := command().set(&l.config, value{raw: raw}); err != nil {
			l.mistake(l.path+": "+commandKey, err)
		}
	}
	for name := range rest {
		l.mistake("--"+name, errors.New("no setting has this flag"))
	}
}

// given gives a setting's value and says where it comes from. Its raw is nil if it has none.
func (l *loader) given(s Setting) (v value, where string) {
	if text, ok := l.flags[s.Flag()]; ok {
		return value{raw: text}, "--" + s.Flag()
	}
	if text := os.Getenv(s.Env()); text != "" {
		return value{raw: text}, s.Env()
	}
	v, where = value{raw: find(l.file, s.Key), dir: filepath.Dir(l.config.File)}, l.path+": "+s.Key
	if v.raw == nil && s.Default != "" {
		v.raw = s.Default
	}
	return v, where
}

// find gives what stands at a dotted key, with one level below the other or dotted as it is; nil if nothing does.
func find(m map[string]any, key string) any {
	if v := m[key]; v != nil {
		return v
	}
	for i := len(key) - 1; i > 0; i-- {
		if key[i] != '.' {
			continue
		}
		if inner, ok := m[key[:i]].(map[string]any); ok {
			if v := find(inner, key[i+1:]); v != nil {
				return v
			}
		}
	}
	return nil
}

// together checks and completes what no single setting can.
func (l *loader) together() {
	c := &l.config
	if c.Runbook == "" && len(l.mistakes) == 0 {
		l.mistakes = append(l.mistakes, errors.New("no runbook is set: give runbook in the settings file, EBBTIDE_RUNBOOK or --runbook"))
	}
	if c.Poll > 0 && c.PollOnBattery > c.Poll {
		l.mistake("poll_on_battery", fmt.Errorf("%s is slower than poll, %s", c.PollOnBattery, c.Poll))
	}
	if c.Credentials == "" {
		c.Credentials = os.Getenv("CREDENTIALS_DIRECTORY") // systemd's
	}
	for _, r := range references() {
		l.named(r)
	}
	if c.Listen.TLS && (c.TLS.Certificate == "" || c.TLS.Key.IsZero()) {
		l.mistake("listen", fmt.Errorf("%s needs tls.certificate and tls.key", c.Listen))
	}
	if c.Listen.Network != "" && !c.Listen.Loopback() && c.Token.IsZero() && c.ReadToken.IsZero() {
		l.mistake("listen", fmt.Errorf("%s is open to other machines: set read_token, and token for commands", c.Listen))
	}
}

// named checks that a secret is named once, and is not the value of a variable that looks like a setting.
func (l *loader) named(r reference) {
	ref, parts := *r.of(&l.config), 0
	for _, s := range []string{ref.Credential, ref.File, ref.Env} {
		if s != "" {
			parts++
		}
	}
	if parts > 1 {
		l.mistake(r.key, errors.New("name one of credential, file and env, not more"))
	}
	inline := Setting{Key: r.key}.Env()
	if ref.Env != inline && os.Getenv(inline) != "" {
		l.mistake(inline, fmt.Errorf("it is not a setting: to use it as the secret, set %s_ENV=%s", inline, inline))
	}
}

// read reads the file, and reports what no setting has.
func (l *loader) read() error {
	text, err := os.ReadFile(l.config.File)
	if err != nil {
		return fmt.Errorf("cannot read settings %q: %w", l.path, err)
	}
	if err := yaml.Unmarshal(text, &l.file); err != nil {
		return fmt.Errorf("cannot read settings %q: %s", l.path, withoutQuotes(err))
	}
	known := []string{commandKey}
	for _, s := range Settings() {
		known = append(known, s.Key)
	}
	l.unknown("", l.file, known)
	return nil
}

// unknown reports the keys below prefix that no setting has. No value is repeated: it may be a secret.
func (l *loader) unknown(prefix string, m map[string]any, known []string) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		full := prefix + k
		isGroup := slices.ContainsFunc(known, func(s string) bool { return strings.HasPrefix(s, full+".") })
		inner, isMap := m[k].(map[string]any)
		var err error
		switch {
		case isGroup && isMap:
			l.unknown(full+".", inner, known)
			continue
		case isGroup && m[k] == nil, slices.Contains(known, full):
			continue
		case slices.ContainsFunc(references(), func(r reference) bool { return r.key == full }):
			err = errors.New("a secret never stands in the settings: say where it is, {credential: NAME}, {file: /PATH} or {env: NAME}")
		case isGroup:
			err = fmt.Errorf("it is a group: write its settings below it, like %s", example(known, full))
		default:
			err = errors.New("unknown setting" + suggestion(full, known))
		}
		delete(m, k) // said once is enough
		l.mistake(l.path+": "+full, err)
	}
}

func example(known []string, group string) string {
	i := slices.IndexFunc(known, func(s string) bool { return strings.HasPrefix(s, group+".") })
	return known[i]
}

var quoted = regexp.MustCompile("`[^`]*`|'[^']*'|\"[^\"]*\"")

// withoutQuotes removes from a parser's message what it quotes from the file: a secret may stand there by mistake.
func withoutQuotes(err error) string { return quoted.ReplaceAllString(err.Error(), "(…)") }

// LoadListen reads where a daemon listens, by the same rules as Load, for a client that needs no more than that. With
// settings at path certificate is the one that the daemon shows there, "" if it speaks no TLS.
func LoadListen(path string, flags map[string]string) (l Listen, certificate string, err error) {
	if path == "" {
		// Only listen is asked for: the settings that a daemon must have may be missing.
		all := Settings()
		s := all[slices.IndexFunc(all, func(s Setting) bool { return s.Key == "listen" })]
		var c Config
		v, _ := (&loader{flags: flags}).given(s)
		err = s.set(&c, v)
		return c.Listen, "", err
	}
	c, err := Load(path, flags)
	return c.Listen, c.TLS.Certificate, err
}
